"""The compiled core against the Python functions that it has twins of: the same nodes, values and errors."""

from __future__ import annotations

import functools
import operator
import os
import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._api.native_interface import NativeInterface
from clarray._engine import speedups
from clarray._engine.evaluate import evaluate
from clarray._engine.expr import build
from clarray._engine.expr.node import graph_lock
from clarray._engine.runtime import current_device
from clarray._engine.speedups import references

from ..conftest import policy_in_force

pytestmark = pytest.mark.usefixtures("quick_builds")

ROOT = Path(__file__).resolve().parents[3]
needs_core = pytest.mark.skipif(speedups.native is None, reason="the compiled core is not there, or not wanted")
VALUES: dict[str, tuple[Any, ...]] = {
    "float16": (1.5, 70000.0, 2048, 2049, 10**6, -0.0, float("nan"), float("inf")),
    "float32": (0.1, 1e39, -1e39, 3.4028235e38, 16777217, 10**40, float("nan")),
    "float64": (0.1, 1e308, 2**53 + 1, 10**309),
    "int8": (1, -128, 127, 128, -129, 0.5, True, 10**30),
    "uint8": (0, 255, 256, -1),
    "int64": (2**63 - 1, -(2**63), 2**63),
    "uint64": (2**64 - 1, 2**64, -1, 2**63),
    "bool": (1, 0.5, True),
    "complex64": (1, 0.5, 1j),
}


@needs_core
@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("name", ["__add__", "__rsub__", "__mul__", "__lt__", "__eq__", "__floordiv__"])
def test_operators_with_numbers_are_the_same(name: str, dtype: str) -> None:
    x = clarray.asarray(np.array([1, 0, 1], dtype))
    twin: Any = getattr(clarray.DeviceArray, name)
    for value in VALUES[dtype]:
        answers = []
        for function in (twin, twin.__wrapped__):
            try:
                found = function(x, value)
                answers.append(found if found is NotImplemented else (found.dtype, np.asarray(found).tobytes()))
            except (OverflowError, TypeError, ValueError) as error:
                answers.append((type(error), str(error)))
        assert answers[0] == answers[1], (value, answers)


@needs_core
def test_operators_are_methods() -> None:
    add = clarray.DeviceArray.__add__
    x = clarray.ones(2)
    assert x.__add__(1).tolist() == [2, 2]
    assert add(x, 1).tolist() == [2, 2]
    assert add.__name__ == "operator"
    with pytest.raises(TypeError):
        add(x)
    with pytest.raises((TypeError, AttributeError)):
        add(1, 2)
    with pytest.raises(AttributeError):
        evaluate(x)  # an array is no node
    with pytest.raises(TypeError):
        build.binary(1)


KEYS: list[Any] = [
    0,
    -1,
    2,
    3,
    -4,
    10**30,
    True,
    np.int64(1),
    slice(None),
    slice(1, None),
    slice(None, None, -1),
    slice(5, 1),
    slice(0, 9, 2),
    slice(None, None, 0),
    slice("a"),
    (),
    (1, 2),
    (1, -9),
    (0, slice(1, 3)),
    (slice(2), slice(None, None, -2)),
    (0, 1, 2),
    (..., 0),
    (None, 1),
    None,
    ...,
    1.0,
    "a",
    [0, 1],
    (0, [1, 2]),
    np.array([True, False, True]),
]


@needs_core
@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_keys_are_the_same(key: Any) -> None:
    x = clarray.asarray(np.arange(12, dtype=np.float32).reshape(3, 4).copy()).copy().evaluate()
    for array in (x, x.T, x[::2], x[:0], clarray.asarray(x.get()), clarray.broadcast_to(x[0], (3, 4))):
        found = []
        for get in (references["getitem"], clarray.DeviceArray.__getitem__):
            try:
                part = get(array, key)
                base = part.base is (array if array.base is None else array.base)
                found.append((part.shape, part.strides, part.dtype, part.tolist(), base, part.flags.writeable))
            except (IndexError, TypeError, ValueError) as error:
                found.append((type(error), str(error)))
        assert found[0] == found[1]


WRITTEN: list[Any] = [
    1.0,
    2,
    -1,
    300,
    1e39,
    float("nan"),
    True,
    1j,
    np.float32(3),
    np.int8(4),
    "a",
    None,
    [1, 2],
    10**30,
]


@needs_core
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint64", "int32", "bool", "complex64"])
def test_what_is_written_is_the_same(dtype: str) -> None:
    for value in WRITTEN:
        for key in (1, (2, 0), slice(1, None), (0, slice(None, None, -1))):
            found = []
            for put in (references["setitem"], clarray.DeviceArray.__setitem__):
                x = clarray.array(np.zeros((3, 2), dtype)).evaluate()
                clarray.synchronize()
                try:
                    with np.errstate(all="ignore"), warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        put(x, key, value)
                    found.append(x.get().tobytes())
                except (TypeError, ValueError, OverflowError) as error:
                    found.append((type(error), str(error)))
            assert found[0] == found[1], (value, key)


def test_python_and_the_core_list_the_same_fields() -> None:
    header = (Path(speedups.__file__).parent / "python.hpp").read_text()
    assert sorted(re.findall(r"\bX\((\w+)\)", header)) == sorted(NativeInterface._fields)


@needs_core
def test_a_structure_with_other_fields_is_refused() -> None:
    for other in (("not", "named"), (), NativeInterface()[:-1]):
        with pytest.raises((TypeError, AttributeError)):
            speedups.native.bind(other)
    with pytest.raises(TypeError):
        speedups.native.bind(NativeInterface(cost_limit=None))  # type: ignore[arg-type]
    assert (clarray.ones(3) + 1).tolist() == [2, 2, 2]


@pytest.mark.kernels_alone
@needs_core
def test_the_common_statements_are_the_cores() -> None:
    """Nothing of these is handed to Python, once their kernels are known."""
    if current_device().inline is None:
        pytest.skip("elements are read and written at once where nothing is queued")
    x, y = (clarray.array(np.arange(1.0, 101, dtype=np.float32)).evaluate() for _ in range(2))
    u, v = (clarray.array(np.ones((40, 40))).evaluate() for _ in range(2))
    interface = NativeInterface()
    names = (
        *("captured_getitem", "captured_setitem", "setitem", "evaluate", "binary", "nary", "plain_reduction", "scalar"),
        *("computed_number", "refresh_metadata", "write", "plan_elementwise", "plan_reduction", "capture_call"),
    )
    functions = {name: references.get(name) or getattr(interface, name) for name in names}

    def statements() -> None:
        nonlocal x
        clarray.synchronize()
        (x + y).evaluate()
        x[1:-1] = (y[1:-1] + y[2:] + y[:-2]) * 0.3
        x[1:-1] = y[2:]
        x[3] = 1.0
        x[4] = x[3] * 0.5 + y[7] / x[3]
        x += 1
        x[2:] *= y[2:]
        float(x[3])
        u[1:-1, 1:-1] = (v[1:-1, 1:-1] + v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:]) * 0.25
        y[:] = 1.5 - y[::-1]
        x[1:] = x[:-1]
        x[1:-1] += 0.25 * (x[2:] - 2 * x[1:-1] + x[:-2])
        u[2:-1:2, 1:-1] = 0.25 * (u[1:-2:2, 1:-1] + u[3::2, 1:-1])
        shared = x - y
        (shared * shared + shared * 2).evaluate()
        (clarray.where(shared > 0, shared, y) - x.max()).evaluate()
        float(x.sum())
        u.sum(axis=0).evaluate()
        (x - x.mean()).evaluate()
        float(x @ y)

    seen: list[str] = []
    for turn in range(6):
        if turn == 5:
            noting = {name: lambda *given, name=name: seen.append(name) or functions[name](*given) for name in names}
            speedups.native.bind(interface._replace(**noting))
        try:
            statements()
        finally:
            speedups.native.bind(interface)
    assert seen == []


@pytest.mark.parametrize("policy", ["own", "tiny-cpu", "tiny-gpu"])
def test_reductions_that_look_alike_are_told_apart(policy: str) -> None:
    """The same axes, kept or not, of the same elements lying otherwise."""
    host = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = clarray.array(host).evaluate()
    ways = [
        (lambda a: a),
        (lambda a: a.T),
        (lambda a: a[:, ::-1]),
        (lambda a: a[:1]),
        (lambda a: a[:, :, :1]),
        (lambda a: a[0, 0]),
    ]
    with policy_in_force(policy):
        for _ in range(3):
            for way in ways:
                for name in ("sum", "max", "mean", "any"):
                    ndim = way(host).ndim
                    for axis in (None, 0, -1, tuple(range(ndim)), (0, ndim - 1)[: min(ndim, 2)] if ndim > 1 else 0):
                        for keepdims in (False, True):
                            ours = getattr(way(x), name)(axis=axis, keepdims=keepdims).evaluate()
                            theirs = getattr(way(host), name)(axis=axis, keepdims=keepdims)
                            assert ours.shape == theirs.shape
                            assert len(ours.strides) == ours.ndim
                            np.testing.assert_array_equal(ours, theirs)


HELD: dict[str, Any] = {
    "in place": lambda x, kept: x.__iadd__(kept()),
    "part of what is added": lambda x, kept: x.__iadd__(kept() * 2),
    "assigned": lambda x, kept: x.__setitem__(slice(None), kept() * 2),
    "assigned as it is": lambda x, kept: x.__setitem__(slice(None), kept()),
    "one element": lambda x, kept: x.__setitem__(3, 9.0),
}


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("use", HELD)
def test_what_is_held_keeps_its_value(use: str, depth: int) -> None:
    """A pending value that somebody holds is computed before what it reads is overwritten, however deep that is."""
    for turn in range(6):
        x = clarray.array(np.arange(1.0, 9)).evaluate()
        kept = x
        for _ in range(depth):
            kept = kept * 3.0 + 1.0
        expected = np.arange(1.0, 9)
        for _ in range(depth):
            expected = expected * 3.0 + 1.0
        HELD[use](x, lambda kept=kept: kept)
        np.testing.assert_array_equal(kept, expected, err_msg=str(turn))


def test_a_result_of_strided_operands_lies_as_numpys() -> None:
    host = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = clarray.asarray(host.copy())
    cases = [
        (lambda a: a.T + 1),
        (lambda a: a[:, ::-1] * a),
        (lambda a: a.transpose(1, 2, 0) + a.transpose(1, 2, 0)),
        (lambda a: a[:, :1] + a),
        (lambda a: a[0, 0, 0:1] + a[..., ::2]),
    ]
    for case in cases:
        for _ in range(5):  # the later launches are the core's
            ours, theirs = case(x).evaluate(), case(host)
            np.testing.assert_array_equal(ours, theirs)
            assert ours.strides == theirs.strides


def test_threads_grow_and_evaluate_together() -> None:
    x = clarray.ones(1000, np.float32).evaluate()
    wrong: list[Any] = []

    def work(number: int) -> None:
        for turn in range(300):
            y = (x + number) * 2.0 + x[::-1]
            if turn % 3 == 0:
                y.evaluate()
            if float(y[turn]) != (1 + number) * 2 + 1:
                wrong.append((number, turn))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def counting() -> tuple[Any, np.ndarray]:
    host = np.arange(8, dtype=np.float32)
    x = clarray.array(host).evaluate()
    clarray.synchronize()
    return x, host


KEPT: dict[str, Any] = {
    "operand of what is assigned": lambda x: [p := (x + 1) * 3, operator.setitem(x, slice(None), p * 2)][:1],
    "operand of an operand": lambda x: [p := ((x + 1) * 3 - 2) * 2, operator.setitem(x, slice(2), (p * 2)[:2])][:1],
    "in place": lambda x: [p := (x + 1) * 3, operator.iadd(x, p * 2)][:1],
    "twice": lambda x: [p := x + 1, operator.setitem(x, slice(None), p * p)][:1],
    "bare": lambda x: [p := x + 1, operator.setitem(x, slice(None), p)][:1],
    "arguments": lambda x: [args := (x, slice(None), x + 1), operator.setitem(*args), operator.setitem(*args)][0][2:],
    "arguments of a part": lambda x: [args := (x, slice(1, 5), x[1:5] * 2), *(operator.setitem(*args) for _ in "ab")][
        0
    ][2:],
    "partial": lambda x: [f := functools.partial(operator.setitem, x, slice(None), x * 2 + 1), f(), f()][0].args[2:],
}


@pytest.mark.parametrize("statement", KEPT)
def test_what_somebody_holds_is_kept(statement: str) -> None:
    """Whatever holds it: a variable, a tuple of arguments, another expression that goes on being used."""
    for _ in range(5):  # the later launches are the core's
        ours, theirs = counting()
        kept, expected = KEPT[statement](ours), KEPT[statement](theirs)
        for _ in range(2):  # and after another write
            np.testing.assert_array_equal(ours.get(), theirs)
            for one, other in zip(kept, expected, strict=True):
                np.testing.assert_array_equal(clarray.asnumpy(one), other)
            ours[1:] = ours[:-1].copy()
            theirs[1:] = theirs[:-1].copy()


def test_an_array_without_a_value_is_refused() -> None:
    """One that a class has made without calling a constructor."""
    empty: Any = object.__new__(clarray.DeviceArray)
    x = clarray.ones(2)
    for use in (
        lambda: empty + 1,
        lambda: x * empty,
        lambda: operator.isub(empty, 1),
        lambda: empty[0],
        lambda: operator.setitem(empty, 0, 1),
        lambda: operator.setitem(x, slice(None), empty),
    ):
        with pytest.raises(AttributeError, match="_node"):
            use()


def test_becoming_memory_waits_for_whoever_grows() -> None:
    """A thread that grows a node again must not do so to what is memory meanwhile."""
    x = clarray.ones(7, np.float32).evaluate()
    for _ in range(4):
        (x * 5).evaluate()
    pending = x * 5
    with graph_lock:
        thread = threading.Thread(target=pending.evaluate)
        thread.start()
        thread.join(0.2)
        assert pending._node.memory is None
    thread.join()
    assert pending.tolist() == [5] * 7


@pytest.mark.kernels_alone
@needs_core
def test_an_interrupt_leaves_no_reader_behind() -> None:
    """What was grown from a node reads the memory that it becomes, also where Ctrl-C comes just then."""
    x = clarray.ones(6, np.float32).evaluate()
    for _ in range(4):
        (x * 3).evaluate()
    y = x * 3
    z = y[x > 0]  # whose structure Python renews
    refresh_metadata = references["refresh_metadata"]
    calls: list[Any] = []

    def interrupted(*given: Any) -> Any:
        calls.append(given)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return refresh_metadata(*given)

    speedups.native.bind(NativeInterface(refresh_metadata=interrupted))
    try:
        with pytest.raises(KeyboardInterrupt):
            y.evaluate()
    finally:
        speedups.native.bind(NativeInterface())
    assert len(calls) == 2
    y[:] = 7
    x[:] = 9
    assert z.tolist() == [3] * 6


@needs_core
def test_another_copy_of_the_modules_goes_without() -> None:
    """It has classes of its own, and numbers structures anew."""
    assert speedups.native.claim() is False
    program = (
        "import sys, clarray; x = clarray.ones(3) + 1; first = clarray\n"
        "for name in [n for n in sys.modules if n.split('.')[0] == 'clarray']: del sys.modules[name]\n"
        "import clarray; from clarray._engine import speedups\n"
        "assert speedups.native is None; assert clarray is not first\n"
        "assert ((clarray.arange(3) * 2).tolist(), (x * 2).tolist()) == ([0, 2, 4], [4, 4, 4])"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def test_without_the_core_all_is_python() -> None:
    """CLARRAY_PURE switches it off."""
    program = (
        "import clarray, numpy as np; from clarray._engine import speedups; assert speedups.native is None;"
        "x = clarray.ones(3); assert ((x + 1) * x).tolist() == [2, 2, 2]"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ | {"CLARRAY_PURE": "1"}, cwd=ROOT)


def test_a_core_that_is_older_than_its_sources_is_not_used(tmp_path: Path) -> None:
    for name, written in (("core.so", 1000), ("core.cpp", 995), ("core.hpp", 1005)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (written, written))
    assert not speedups._is_stale(tmp_path / "core.so")
    os.utime(tmp_path / "core.hpp", (2000, 2000))
    assert speedups._is_stale(tmp_path / "core.so")


def test_interfaces_agree() -> None:
    text = (ROOT / "clarray/_engine/speedups/module.cpp").read_text()
    assert f"constexpr int INTERFACE = {speedups._INTERFACE};" in text
