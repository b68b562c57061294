"""Rendered sources of reductions: plain text, no device."""

from __future__ import annotations

import dataclasses
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from clarray._engine.codegen.render import Source, render
from clarray._engine.expr import build
from clarray._engine.expr.epilogues import find_epilogue
from clarray._engine.expr.node import Node, constant, leaf
from clarray._engine.expr.view import contiguous
from clarray._engine.fused.reduce.prepare import prepare_reduction
from clarray._engine.ops.monoids import Monoid, fold_monoid, reduction_op, statistic_monoid
from clarray._engine.ops.ufuncs import find_loop
from clarray._engine.runtime import Capabilities
from clarray._engine.tuning.rows import ROWS

CAPABILITIES = Capabilities(
    kind="cpu",
    name="n",
    vendor="v",
    platform="p",
    platform_version="1",
    driver="d",
    compute_units=3,
    max_work_group=256,
    local_bytes=1 << 15,
    global_bytes=1 << 30,
    max_alloc_bytes=1 << 30,
    fp64=True,
    fp16=False,
    host_memory=True,
    clang_builtins=True,
    function_attribute="",
    little_endian=True,
)
F4, F8, F2, I4, C8, BOOL = map(np.dtype, ("f4", "f8", "f2", "i4", "c8", "?"))


def array(shape: tuple[int, ...], dtype: np.dtype = F4, strides: Any = None, offset: int = 0) -> Node:
    memory: Any = SimpleNamespace(cost=1, shared=False, readers=[], buffer=None)
    return leaf(memory, shape, strides or contiguous(shape), offset, dtype)


def reduction(monoid: Monoid, axes: tuple[int, ...], *args: Node) -> Node:
    shape = tuple(n for a, n in enumerate(args[0].shape) if a not in axes)
    op = reduction_op(monoid, axes, len(args[0].shape), len(args) > 1)
    return build.reduction(op, args, shape)


def sources(root: Node, policy: str = "cpu", **capabilities: Any) -> list[Source]:
    """What evaluating a reduction would compile."""
    found: list[Source] = []
    state: Any = SimpleNamespace(
        policies=ROWS[policy],
        units=3,
        capabilities=dataclasses.replace(CAPABILITIES, **capabilities),
        kernel_for=lambda key, make, *args: found.append(make(*args)),
    )
    epilogue = find_epilogue(root)
    assert epilogue is not None
    prepare_reduction(state, epilogue, contiguous(root.shape))
    return found


def parameters(source: Source) -> list[str]:
    """Declarations of the kernel's parameters."""
    head = re.search(rf"void {source.name}\((.*?)\) \{{", source.text, re.S)
    assert head is not None
    return head[1].split(", ")


MONOIDS = {
    "sum": fold_monoid(np.add, F4),
    "sum of halves": fold_monoid(np.add, F2),
    "sum of ints": fold_monoid(np.add, I4),
    "complex sum": fold_monoid(np.add, C8),
    "maximum": fold_monoid(np.maximum, F4),
    "all": fold_monoid(np.logical_and, BOOL),
    "ordered": fold_monoid(np.subtract, F4),
    "mean": statistic_monoid("mean", F4),
    "moments": statistic_monoid("moments", F4),
    "complex moments": statistic_monoid("moments", C8),
    "variance": statistic_monoid("variance", F8),
    "argmax": statistic_monoid("argmax", F4),
}
FORMS = {
    "all": ((40, 50), (0, 1)),
    "rows": ((40, 50), (1,)),
    "columns": ((40, 50), (0,)),
    "middle": ((4, 50, 60), (1,)),
    "one": ((1,), (0,)),
    "short": ((500, 2), (1,)),
}
# What is not associative goes along one axis at a time.
FORMS_OF = [(name, form) for name in MONOIDS for form in FORMS if MONOIDS[name].associative or len(FORMS[form][1]) == 1]
POLICIES = ["cpu", "gpu", "tiny-cpu", "tiny-gpu", "tiny-fenced"]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("name", "form"), FORMS_OF)
def test_every_form(name: str, form: str, policy: str) -> None:
    monoid, (shape, axes) = MONOIDS[name], FORMS[form]
    x = array(shape, monoid.in_dtype)
    for args in [(x,), (x, array(shape, BOOL))]:
        found = sources(reduction(monoid, axes, *args), policy)
        assert [s.name for s in found] in (["reduce"], ["reduce", "combine_parts"])
        for source in found:
            assert len(parameters(source)) == len(source.arg_types)
            assert source.text.count("{") == source.text.count("}")
            assert not re.search(r"\$\{|<%|None|Undefined|\bself\b", source.text)


def test_vectors_are_written_out_for_cpus_only() -> None:
    root = reduction(MONOIDS["sum"], (0,), array((5000,)))
    assert "float8" in sources(root, "cpu")[0].text
    assert "get_local_id" not in sources(root, "cpu")[0].text
    text = sources(root, "gpu")[0].text
    assert "float8" not in text
    assert "barrier(CLK_LOCAL_MEM_FENCE)" in text


@pytest.mark.parametrize("dtype", [F4, F2])
def test_floats_are_added_in_float64_on_cpus_that_have_it(dtype: np.dtype) -> None:
    root = reduction(fold_monoid(np.add, dtype), (0,), array((5000,), dtype))
    assert "double8 v;" in sources(root, "cpu")[0].text
    assert "double" not in sources(root, "cpu", fp64=False)[0].text
    assert "double" not in sources(root, "gpu")[0].text


def test_complex_numbers_are_scalars() -> None:
    text = sources(reduction(MONOIDS["complex sum"], (0,), array((5000,), C8)), "cpu")[0].text
    assert not re.search(r"float(4|8|16)\b", text)


@pytest.mark.parametrize("name", ["sum", "moments", "mean", "argmax", "sum of halves"])
def test_no_double_where_none_is_asked_for(name: str) -> None:
    for policy in POLICIES:
        root = reduction(MONOIDS[name], (1,), array((40, 50), MONOIDS[name].in_dtype))
        for source in sources(root, policy, fp64=False):
            assert "double" not in source.text
            assert not re.search(r"\b\d+\.\d*(e-?\d+)?(?![\dfex.p])", source.text)


# What may change without a new kernel ---------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)], ids=str)
def test_sizes_strides_and_offsets_are_arguments(policy: str, axes: tuple[int, ...]) -> None:
    """Primes, so that they show wherever they might have been written."""
    first = array((1009, 7919), strides=(9173, 1), offset=3571)
    second = array((1013, 7927), strides=(9181, 1), offset=2311)
    texts = [sources(reduction(MONOIDS["sum"], axes, x), policy) for x in (first, second)]
    assert texts[0] == texts[1]
    for source in texts[0]:
        assert not re.search(r"\b(1009|7919|9173|3571)\b", source.text)


@pytest.mark.parametrize("policy", ["cpu", "gpu"])
def test_steps_are_arguments(policy: str) -> None:
    texts = [sources(reduction(MONOIDS["sum"], (0,), array((5003,), strides=(s,))), policy) for s in (3, 17)]
    assert texts[0] == texts[1]
    assert not re.search(r"\b(17|5003)\b", texts[0][0].text)


def scaled(value: float, after: bool) -> Node:
    times = find_loop(np.multiply, (F4, F4), (F4,))
    x, c = array((40, 50)), constant(value, F4)
    if after:
        return build.binary(times, reduction(MONOIDS["sum"], (1,), x), c)
    return reduction(MONOIDS["sum"], (1,), build.binary(times, x, c))


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_scalars_are_arguments(after: bool) -> None:
    first, second = sources(scaled(0.7853, after)), sources(scaled(31.0, after))
    assert first == second
    assert "7853" not in first[0].text


def test_what_follows_a_sum_is_part_of_its_last_launch() -> None:
    for policy in POLICIES:
        found = sources(scaled(2.0, after=True), policy)
        assert "epilogue(" in found[-1].text
        assert all("epilogue(" not in s.text for s in found[:-1])


def test_equal_expressions_are_computed_once() -> None:
    x = array((5000,))
    minus, times = (find_loop(u, (F4, F4), (F4,)) for u in (np.subtract, np.multiply))
    once = build.binary(minus, x, x)
    again = build.binary(minus, x, x)
    root = reduction(MONOIDS["sum"], (0,), build.binary(times, once, again))
    text = sources(root)[0].text
    body = text[text.index(" value(") : text.index("}", text.index(" value("))]
    assert body.count(" - ") == 1
    assert len([p for p in parameters(sources(root)[0]) if "*x" in p]) == 1


def test_positions_take_the_narrowest_integer() -> None:
    small = sources(reduction(MONOIDS["argmax"], (0,), array((5000,))), "gpu")[0]
    large = sources(reduction(MONOIDS["argmax"], (0,), array((2**31 + 1,))), "gpu")[0]
    assert "typedef struct { float v; int i; }" in small.text
    assert "typedef struct { float v; long i; }" in large.text


# Strictness -----------------------------------------------------------------------------------------


def test_a_missing_name_is_an_error_that_shows_what_was_given() -> None:
    with pytest.raises(RuntimeError) as caught:
        render("reduce/reduce", V=1, form="rows")
    message = str(caught.value)
    assert "template 'reduce/reduce' failed" in message
    assert "['V', 'form']" in message
    assert "policy" in message or "not defined" in message


def test_an_unknown_reduction_is_an_error() -> None:
    with pytest.raises(ValueError, match="median"):
        statistic_monoid("median", F4)
    with pytest.raises(TypeError):
        fold_monoid(np.bitwise_and, F4)
