"""A minute of random programs with fixed seeds, and tests of what draws, compares and shrinks them."""

from __future__ import annotations

import inspect
import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.evaluate import kernel_cache_of
from clarray._engine.runtime import current_device
from clarray._engine.tuning.rows import ROWS

from ..device.conftest import policy_in_force
from . import known
from .cases import MEANT, OPEN
from .compare import SPREADS, Difference, Found, Undetermined, compare, compare_hosts, left_open
from .execute import Oracle, confirmed, in_reach, well_defined
from .grammar import skeleton, started
from .operations import GROUPS, NOT_CALLED, NOT_CALLED_METHODS, SUMMING
from .printing import printed
from .program import Datum, Program, Statement
from .row import Operation
from .run import ROOT, plan_as, raising, run_one, write_finding
from .shrink import shrunk
from .sides import Side
from .slots import NoFit, Scope

TEMPLATES = "\n".join(row.template for _, table in GROUPS.values() for row in table)

SEEDS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 14, 15, 16)


@pytest.fixture(autouse=True)
def _on_a_device_with_float64() -> None:
    if not current_device().capabilities.fp64:
        pytest.skip("the device has no float64, NumPy's default")


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(seed: int) -> None:
    found = run_one(seed, length=14)
    assert not found, f"NumPy does otherwise:\n{found}"


# The table ------------------------------------------------------------------------------------------------


def called() -> set[str]:
    """The functions that the table's rows call."""
    return set(re.findall(r"xp\.(\w+)\b", TEMPLATES))


def test_every_function_is_called_or_has_a_reason() -> None:
    reasons = {name for names in NOT_CALLED.values() for name in names.split()}
    public = {
        name
        for name in clarray.__all__
        if not name.startswith("_")
        and callable(getattr(clarray, name))
        and not inspect.isclass(getattr(clarray, name))
        and not inspect.ismodule(getattr(clarray, name))
    }
    assert public - called() - reasons == set()
    assert reasons - set(dir(clarray)) == set(), "reasons for what is not there"
    assert reasons & called() == set(), "reasons for what is called"
    assert called() >= SUMMING


def test_every_method_is_called_or_has_a_reason() -> None:
    reasons = {name for names in NOT_CALLED_METHODS.values() for name in names.split()}
    public = {name for name in dir(clarray.DeviceArray) if not name.startswith("_")}
    used = set(re.findall(r"\}\)?\.(\w+)", TEMPLATES))
    assert public - used - reasons == set()
    assert reasons - public == set(), "reasons for what is not there"


def test_every_row_can_be_filled() -> None:
    values = {name: v for seed in range(6) for name, v in variables(seed)}
    for operation in (row for _, table in GROUPS.values() for row in table):
        assert any(fills(operation, Scope(Random(k), values, (2, 3), ("int8", "float32"))) for k in range(60)), (
            operation
        )


def variables(seed: int) -> list[tuple[str, Any]]:
    """NumPy's variables after a program, under names that other programs have not."""
    found = started(skeleton(Random(seed), True, 20)).plain.variables()
    return [(f"{name[0]}{1000 * seed + int(name[1:])}", value) for name, value in found.items()]


def fills(operation: Operation, scope: Scope) -> bool:
    try:
        scope.fill(operation.template, operation.guard, "v0")
    except NoFit:
        return False
    return True


def test_every_known_difference_has_a_reason() -> None:
    assert all(len(row.reason) > 20 for row in known.KNOWN)
    assert all(row.statement or row.kinds for row in known.KNOWN), "a row that fits everything"


# What finds, shrinks and prints -----------------------------------------------------------------------------


def planted() -> Program:
    """A program in which only one statement matters, if `flip` turned nothing."""
    data = (Datum("h0", 3, (4, 5), "int32"), Datum("h1", 4, (5,), "float32"))
    lines = (
        "v0 = xp.array(h0)",
        "v1 = xp.array(h1)",
        "v2 = v0 + v1",
        "v3 = xp.flip(v2, 1)",
        "v3[0] = 5",
        "v4 = v3 * 2",
    )
    return Program(data, tuple(Statement(line) for line in lines), "lazy")


def test_a_program_without_differences() -> None:
    assert confirmed(planted()) is None
    assert confirmed(replace(planted(), order="evaluated")) is None


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> tuple[Program, Difference]:
    monkeypatch.setattr(clarray, "flip", lambda m, axis=None: m[...])
    difference = confirmed(planted())
    assert difference is not None
    return shrunk(planted(), difference, 60.0)


def test_a_planted_defect_is_found_and_made_small(found: tuple[Program, Difference]) -> None:
    program, difference = found
    assert difference.kind == "value"
    texts = [statement.text for statement in program.statements]
    assert len(texts) == 2, texts
    assert "flip" in texts[1]
    assert sum(datum.drawn().size for datum in program.data) <= 4


def test_what_is_printed_fails_as_it_stands(found: tuple[Program, Difference], tmp_path: Path) -> None:
    program, difference = found
    write_finding(tmp_path, program, difference, "flip")
    (path,) = tmp_path.glob("*.py")
    names: dict[str, Any] = {}
    with pytest.raises(AssertionError):
        exec(compile(path.read_text(), str(path), "exec"), names)
    assert set(names["theirs"]) == set(names["ours"])


def test_a_call_that_is_kept_wrongly_is_found_after_repeats(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    results: list[clarray.DeviceArray] = []

    def negative(x: clarray.DeviceArray) -> clarray.DeviceArray:
        """Negate, and give the first call's result again from the fourth call on."""
        results.append((0 - x).copy())
        return results[0 if len(results) > 3 else -1]

    monkeypatch.setattr(clarray, "negative", negative)
    statements = (Statement("v0 = xp.array(h0)"), Statement("v1 = xp.negative(v0)"))
    program = Program((Datum("h0", 5, (6,), "int64"),), statements)
    assert confirmed(program) is None
    results.clear()
    difference = confirmed(replace(program, repeats=5))
    assert difference is not None
    results.clear()
    write_finding(tmp_path, replace(program, repeats=5), difference, "negative")
    (path,) = tmp_path.glob("*.py")
    results.clear()
    with pytest.raises(AssertionError):
        exec(compile(path.read_text(), str(path), "exec"), {})


def test_what_agrees_is_printed_as_a_program_that_passes() -> None:
    program = replace(planted(), order="evaluated", data=(Datum("h0", 3, (8, 9), "complex64"), planted().data[1]))
    program = replace(program, statements=(*program.statements[:1], Statement("v2 = v0 + v99")))
    text = printed(program, Difference("raised", 1, "", "", ""), raising(program))
    exec(compile(text, "printed", "exec"), {})


def test_rounding_is_allowed_where_a_sum_cancels() -> None:
    data = (Datum("h0", 1, (1000,), "float32", "wide"),)
    lines = ("v0 = xp.array(h0)", "v1 = v0 - v0.mean()", "v2 = v1.sum()", "v3 = v2 > 0", "v4 = v0.sum()")
    rounds = {1: "operands", 2: "operands", 4: "operands"}
    statements = tuple(Statement(line, rounds=rounds.get(k, "")) for k, line in enumerate(lines))
    assert confirmed(Program(data, statements, "evaluated")) is None


@pytest.mark.parametrize("case", OPEN)
def test_numpy_differs_from_itself_where_it_leaves_open_what_comes_out(case: str) -> None:
    dtype, given, lines = OPEN[case]
    data = (Datum("h0", 0, (1 if dtype == "complex128" else len(given),), dtype, given=tuple(given)),)
    statements = (Statement("v0 = xp.array(h0)"), *(Statement(text, rounds=rounds) for text, rounds in lines))
    program = Program(data, statements, "evaluated")
    oracle = Oracle(program)
    assert [oracle.run(statement) for statement in statements] == [None] * len(statements)
    last = f"v{len(lines)}"
    assert any(side.names[last].tobytes() != oracle.plain.names[last].tobytes() for side in oracle.moved)
    assert confirmed(program) is None


def ran(lines: tuple[tuple[str, str], ...], runs: int) -> Oracle:
    """NumPy's runs of lines, each with where it rounds."""
    statements = tuple(Statement(text, rounds=rounds) for text, rounds in lines)
    oracle = Oracle(Program((), statements), runs)
    assert [oracle.run(statement) for statement in statements] == [None] * len(statements)
    return oracle


def test_errors_of_equal_terms_add_up_in_a_running_sum() -> None:
    oracle = ran((("v0 = xp.full(100_000, 2642245.949, 'f8')", ""), ("v1 = v0.cumsum()", "operands")), 2)
    found = oracle.plain.names["v1"]
    spread = max(abs(side.names["v1"][-1] - found[-1]) for side in oracle.moved)
    assert abs(found[-1] - math.fsum(oracle.plain.names["v0"])) < SPREADS * spread


@pytest.mark.parametrize(
    ("given", "call", "rounds"),
    [
        ("xp.arange(1., 300) ** 2", "xp.sqrt(v0)", "result"),
        ("-xp.arange(1., 300)", "xp.float_power(v0, 2)", "operands"),
        ("xp.arange(1., 300) * (1 + 1j)", "xp.negative(-v0)", "complex"),
    ],
)
def test_what_is_rounded_is_moved_to_both_sides_of_a_step(given: str, call: str, rounds: str) -> None:
    oracle = ran(((f"v0 = {given}", ""), (f"v1 = {call}", rounds), ("v2 = xp.floor(v1.real)", "")), 4)
    assert (np.min([side.names["v2"] for side in oracle.moved], 0) < oracle.plain.names["v2"]).all()
    if rounds == "complex":
        assert (np.min([np.floor(side.names["v1"].imag) for side in oracle.moved], 0) < oracle.plain.names["v2"]).all()


def test_what_moved_numbers_are_equal_to_is_seen() -> None:
    """That `x` is `x / 100 * 100` depends on its last places, which a result that is moved again never has."""
    lines = (("v0 = xp.arange(1, 200.) * (1 + 1j)", ""), ("v1 = xp.log(v0) * 1e20", "result"))
    oracle = ran((*lines, ("v2 = v1.round(-2)", "complex"), ("v3 = v1 == v2", "")), 12)
    assert any(side.names["v3"].any() for side in oracle.moved)


def test_terms_that_nearly_cancel_may_cancel() -> None:
    """With a fused multiply-add the difference of two products is zero, or is not, whatever NumPy makes of it."""
    lines = (("v0 = xp.array([0.1, -0.3, 5.0])", ""), ("v1 = xp.array([3.0, 1.0])", ""))
    oracle = ran((*lines, ("v2 = xp.correlate(v0, v1)", "operands"), ("v3 = v2 != 0", "")), 12)
    assert oracle.plain.names["v3"].all()
    assert not all(side.names["v3"][0] for side in oracle.moved)
    assert all(side.names["v3"][1] for side in oracle.moved)


def test_a_shape_that_rounding_decides_is_open_on_the_host_too() -> None:
    found = np.zeros((1, 1))
    with pytest.raises(Undetermined):
        compare_hosts(found, found, [np.zeros((2, 1))])


@pytest.mark.parametrize(("dtype", "open_"), [("complex64", True), ("float32", False)])
def test_differences_of_complex_products_are_as_exact_as_the_products(dtype: str, open_: bool) -> None:
    oracle = ran(((f"v0 = xp.array([0.3, 0.7, 0.1], {dtype!r})", ""), ("v1 = xp.cross(v0, v0)", "complex operands")), 2)
    assert any(side.names["v1"].any() for side in oracle.moved) == open_


@pytest.mark.parametrize("order", ["lazy", "evaluated"])
@pytest.mark.parametrize("case", MEANT)
def test_what_is_meant_is_passed_over_with_what_follows(case: str, order: str) -> None:
    (dtype, given, turned), lines = MEANT[case]
    text = f"h0 = np.array({given!r}, {dtype!r}){turned}".replace("nan", "np.nan").replace("inf", "np.inf")
    statements = (Statement(text), Statement("v0 = xp.array(h0)"))
    rounds = {"matmul": "operands", "unwrap": "operands", "corrcoef": "operands", "sign": "complex"}
    rounds |= {"cumprod": "operands", "mean": "operands", "acosh": "result", "log1p": "result", "xp.sqrt": "result"}
    rounds |= {"logaddexp2": "result", "logaddexp.reduce": "operands"}
    statements += tuple(Statement(line, rounds=next((rounds[n] for n in rounds if n in line), "")) for line in lines)
    assert confirmed(well_defined(Program((), statements, order))) is None


def test_beside_what_is_meant_all_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clarray, "flip", lambda m, axis=None: m[...])
    lines = ("v0 = xp.arange(6.)", "v1 = v0.mean()", "v2 = v1.ravel()", "v2[0] = 7", "v3 = xp.flip(v0)")
    found = confirmed(Program((), tuple(map(Statement, lines)), "lazy"))
    assert found is not None
    assert found.name == "v3"


def test_the_order_of_results_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ("h0 = np.zeros((4, 3, 2), 'f4').T", "v0 = xp.array(h0)", "v1 = v0.max(0)", "v2 = xp.square(v1)")
    program = Program((), tuple(map(Statement, lines)), "lazy")
    assert confirmed(program) is None
    monkeypatch.setattr(clarray, "square", lambda x: (x * x).copy("C"))
    found = confirmed(program)
    assert found is not None
    assert (found.kind, found.name) == ("layout", "v2")


UNDEFINED = {
    "a sum of which a part overflows": ("float64", [1.7e308, 1.7e308, -1.7e308], "xp.cumsum(v0)", ""),
    "a product of which a part overflows": ("float32", [1e30, 1e30, 1e-30, 0.0], "xp.nanprod(v0)", ""),
    "a complex product of which a part overflows": ("complex64", [1e30 + 1e30j, 1e30, 0, 1], "xp.prod(v0)", ""),
    "a running sum in place that overflows": ("float16", [6e4, 6e4, -6e4], "xp.cumsum(v0, out=v0)", ""),
    "a product of which a part underflows": ("float32", [1e-45, 0.25, -np.inf], "xp.prod(v0)", ""),
    "which of two complex NaN a set has": ("complex64", [1, np.nan, np.nan, 1], "xp.union1d(v0, v0)", ""),
    "the order of NaN that are each their own": ("float32", [np.nan, 1, np.nan], "xp.unique_inverse(v0)", ""),
    "a sum that goes by float64": (
        "uint64",
        [2**63 + 2**62, 0],
        "xp.sum(v0, axis=0, out=xp.zeros((), 'i8'))",
        "sum_fits(v0, 'i8')",
    ),
    "edges of which some are NaN": ("float64", [1, np.nan], "xp.digitize(v0, v0)", "ascending(v0)"),
    "a sum too large for its integers": (
        "float64",
        [1, np.inf],
        "xp.sum(v0, 0, out=xp.zeros((), 'u4'))",
        "fits(xp.sum(v0, 0), 'u4')",
    ),
    "numbers that rounding made unlike": ("float64", [0.3, 0.1 + 0.2, 1], "xp.unique(v0)", ""),
    "rows of float16 with NaN": ("float16", [1, np.nan], "xp.unique(v0[:, None], axis=0)", ""),
    "an index that NumPy wraps for ever": ("int64", [1, 2**62], "v0.take(v0, mode='wrap')", "is_near(v0)"),
    "an index that NumPy wraps into nothing": (
        "int64",
        [2, 1],
        "xp.zeros((2 - v0[0], 0)).take([3], 0, mode='wrap')",
        "is_near([3], int(2 - v0[0]))",
    ),
    "a byte that is no bool": ("uint8", [0, 1, 2], "v0.view('bool')", "are_bools(v0, 'bool')"),
}


@pytest.mark.parametrize("case", UNDEFINED)
def test_what_is_undefined_is_left_out(case: str) -> None:
    dtype, given, expression, guard = UNDEFINED[case]
    if dtype == "complex64":
        given = np.array(given, dtype).view("f4").tolist() if np.iscomplexobj(given) else given
    data = Datum("h0", 0, (len(given) // (1 + (dtype == "complex64")),), dtype, given=tuple(given))
    ones = replace(data, given=(1,) * len(given))
    lines = (Statement("v0 = xp.array(h0)"), Statement(f"v1 = {expression}", guard=guard, rounds="operands"))
    assert len(well_defined(Program((data,), lines)).statements) == 1
    assert len(well_defined(Program((ones,), lines)).statements) == 2


def test_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.fuzz", "--programs", "1", "--jobs", "1", "--seconds", "20", "--seed", "5"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run([*command, "--out", str(tmp_path)], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert "statements a second" in done.stdout, done.stderr
    assert done.returncode == bool(list(tmp_path.glob("*.py")))


def test_a_policy_is_planned_as_it_is_named() -> None:
    with policy_in_force("own"):
        plan_as("tiny-gpu")
        assert kernel_cache_of(current_device()).policies is ROWS["tiny-gpu"]


@pytest.mark.parametrize("value", [[1.0, np.nan, -np.inf], [True, False], [3, -4]])
def test_a_datum_is_printed_as_it_is(value: list[Any]) -> None:
    dtype = str(np.array(value).dtype)
    names: dict[str, Any] = {"np": np}
    exec(Datum("h0", 0, (len(value),), dtype, given=tuple(value)).text, names)
    np.testing.assert_array_equal(names["h0"], np.array(value))
    assert names["h0"].dtype == dtype


def test_arrays_of_objects_are_numpys_on_both_sides() -> None:
    objects = np.broadcast_to(np.array(2**64), 0)
    compare([objects], [objects.copy()], [])
    with pytest.raises(Found):
        compare(np.zeros(2), np.zeros(2), [])


def test_what_is_large_is_not_made_though_it_is_of_nothing() -> None:
    side = Side(np, Program((), ()))
    side.names["v0"], side.names["v1"] = np.zeros((100_000, 0)), np.zeros((100, 0))
    assert not in_reach(Statement("v2 = v0 @ v0.T"), side)
    assert in_reach(Statement("v2 = v1 @ v1.T"), side)


def test_a_process_that_hangs_says_where() -> None:
    body = "from tests.fuzz import run\nimport time\nrun.HANG = 0.2\nrun.watched()\ntime.sleep(1)"
    done = subprocess.run([sys.executable, "-c", body], cwd=ROOT, capture_output=True, text=True)
    assert 'File "<string>", line 5 in <module>' in done.stderr
    assert not done.returncode


def test_nothing_is_left_open_where_dtypes_differ() -> None:
    assert not left_open(np.array([1j, np.nan]), clarray.array([1.0, np.nan]))
    assert left_open(np.array([1.0, np.inf]), clarray.array([1.0, 2.0]))
