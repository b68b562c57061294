"""Every captured function gives NumPy's results when its program runs, for values that the capture has not seen."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._core.host_fallback import without_host_fallback
from clarray._engine.expr.build import TREE_LIMIT
from clarray._engine.runtime import current_device
from clarray._engine.speedups import _kinds, native

from ..conftest import policy_changed, policy_in_force
from ..python_calls import PythonCalls

pytestmark = [
    pytest.mark.usefixtures("quick_builds"),
    pytest.mark.kernels_alone,  # NumPy computes small calls until they are frequent: test_host_steps.py
    pytest.mark.skipif(native is None, reason="nothing is captured without the native implementation"),
]

CALLS = 8  # of one signature. The second one is captured
NONFINITE, EMPTY = 5, 6  # the calls with NaN, infinities and -0.0, and with masks that select nothing
PROGRAMS = 3  # calls that run a program, at least: of the third, fourth, fifth and eighth call
MODULES = ("", "linalg", "fft", "emath")

# Statements by the name of the function: `x`, `y` float32, `w` float64, `z` complex, `n`, `i`, `j` integers, `m` a
# mask, `b` bytes, `s` sorted, `A`, `B` matrices, `S` symmetric, `v` short. `x`, `z` get NaN, infinities and -0.0.
REARRANGED = {
    "append": "xp.append(x, y)",
    "argpartition": "xp.take(w, xp.argpartition(w, 3))[3]",
    "argsort": "xp.argsort(w)",
    "ascontiguousarray": "xp.ascontiguousarray(A.T)",
    "asfortranarray": "xp.asfortranarray(A)",
    "block": "xp.block([[x, y], [y, x]])",
    "choose": "xp.choose(n % 2, (x, y))",
    "column_stack": "xp.column_stack((x, y))",
    "concat": "xp.concat((x, n))",
    "concatenate": "xp.concatenate((x, n))",
    "delete": "xp.delete(x, [1, 4])",
    "diagflat": "xp.diagflat(v)",
    "dstack": "xp.dstack((x, y))",
    "hstack": "xp.hstack((x, y))",
    "insert": "xp.insert(x, [3, 5], [1.0, 2.0])",
    "ix_": "xp.ix_(i, n)",
    "lexsort": "xp.lexsort((w, n))",
    "meshgrid": "xp.meshgrid(x, n)",
    "packbits": "xp.packbits(m)",
    "pad": "xp.pad(A, 1, mode='reflect')",
    "partition": "xp.partition(w, 3)[3]",
    "repeat": "xp.repeat(x, 2)",
    "resize": "xp.resize(x, (5, 7))",
    "roll": "xp.roll(x, 3)",
    "sort": "xp.sort(w)",
    "sort_complex": "xp.sort_complex(w)",
    "stack": "xp.stack((x, y), axis=-1)",
    "take": "xp.take(x, i)",
    "take_along_axis": "xp.take_along_axis(x, i, 0)",
    "tile": "xp.tile(x, 2)",
    "tril": "xp.tril(A)",
    "triu": "xp.triu(A)",
    "unpackbits": "xp.unpackbits(b)",
    "vstack": "xp.vstack((x, y))",
}
SEARCHES = {
    "argmax": "xp.argmax(x)",
    "argmin": "xp.argmin(x)",
    "argwhere": "xp.argwhere(m)",
    "array_equal": "xp.array_equal(x, x * 1, equal_nan=True)",
    "array_equiv": "xp.array_equiv(y, y * 1)",
    "allclose": "xp.allclose(x, x * 1, equal_nan=True)",
    "bincount": "xp.bincount(j, w[:12])",
    "count_nonzero": "xp.count_nonzero(n)",
    "digitize": "xp.digitize(x, s)",
    "flatnonzero": "xp.flatnonzero(m)",
    "histogram": "xp.histogram(x, 5, (-9, 9))",
    "histogram2d": "xp.histogram2d(y, w, [-9, 0, 9])",
    "intersect1d": "xp.intersect1d(w, w[::-1])",
    "isclose": "xp.isclose(x, y, atol=2)",
    "isin": "xp.isin(n, i)",
    "nanargmax": "xp.nanargmax(x)",
    "nanargmin": "xp.nanargmin(x)",
    "nonzero": "xp.nonzero(m)",
    "ravel_multi_index": "xp.ravel_multi_index((i, j), (30, 30))",
    "searchsorted": "xp.searchsorted(s, x)",
    "setdiff1d": "xp.setdiff1d(j, [3, 7])",
    "setxor1d": "xp.setxor1d(w, w + 1000)",
    "union1d": "xp.union1d(j, j)",
    "unique": "xp.unique(j, return_counts=True)",
    "unique_all": "xp.unique_all(w)",
    "unique_counts": "xp.unique_counts(w)",
    "unique_inverse": "xp.unique_inverse(w)",
    "unique_values": "xp.unique_values(w)",
    "unravel_index": "xp.unravel_index(i, (6, 5))",
}
COMPUTED = {
    "angle": "xp.angle(z)",
    "around": "xp.around(x, 1)",
    "average": "xp.average(y, weights=abs(y) + 1)",
    "clip": "xp.clip(x, -2, 5)",
    "convolve": "xp.convolve(y, x[:5])",
    "corrcoef": "xp.corrcoef(A)",
    "correlate": "xp.correlate(y, x[:5], 'same')",
    "cov": "xp.cov(A)",
    "cross": "xp.cross(A[:, :3], A[:, 1:4])",
    "cumprod": "xp.cumprod(v)",
    "cumsum": "xp.cumsum(w)",
    "cumulative_prod": "xp.cumulative_prod(v)",
    "cumulative_sum": "xp.cumulative_sum(w, include_initial=True)",
    "diff": "xp.diff(x)",
    "ediff1d": "xp.ediff1d(x)",
    "full_like": "xp.full_like(x, 2)",
    "gradient": "xp.gradient(x, s)",
    "i0": "xp.i0(x)",
    "interp": "xp.interp(x, s, w)",
    "mean": "xp.mean(x)",
    "median": "xp.median(x)",
    "nan_to_num": "xp.nan_to_num(x)",
    "nancumprod": "xp.nancumprod(v)",
    "nancumsum": "xp.nancumsum(x)",
    "nanmax": "xp.nanmax(x)",
    "nanmean": "xp.nanmean(x)",
    "nanmedian": "xp.nanmedian(x)",
    "nanmin": "xp.nanmin(x)",
    "nanpercentile": "xp.nanpercentile(x, 30)",
    "nanprod": "xp.nanprod(v)",
    "nanquantile": "xp.nanquantile(x, [0.1, 0.7])",
    "nanstd": "xp.nanstd(x)",
    "nansum": "xp.nansum(x)",
    "nanvar": "xp.nanvar(x)",
    "percentile": "xp.percentile(x, 30)",
    "ptp": "xp.ptp(x)",
    "quantile": "xp.quantile(x, [0.1, 0.7])",
    "real_if_close": "xp.real_if_close(z)",
    "round": "xp.round(x, 1)",
    "select": "xp.select([m, x > 1], [x, y])",
    "where": "xp.where(m, x, y)",
    "sinc": "xp.sinc(x)",
    "std": "xp.std(x)",
    "trace": "xp.trace(A)",
    "trapezoid": "xp.trapezoid(x, s)",
    "unwrap": "xp.unwrap(x)",
    "vander": "xp.vander(v)",
    "var": "xp.var(x)",
}
PRODUCTS = {
    "einsum": "xp.einsum('ij,jk->ki', A, B)",
    "kron": "xp.kron(A, v)",
    "tensordot": "xp.tensordot(A, B, 1)",
    "vdot": "xp.vdot(w, w)",
    "linalg.matrix_power": "xp.linalg.matrix_power(A, 3)",
    "linalg.multi_dot": "xp.linalg.multi_dot([A, B, A])",
    "isneginf": "xp.isneginf(x)",
    "isposinf": "xp.isposinf(x)",
    "linalg.trace": "xp.linalg.trace(A)",
    "linalg.vecdot": "xp.linalg.vecdot(A, B)",
}
POLYNOMIALS = {
    "poly": "xp.poly(v)",
    "polyadd": "xp.polyadd(v, w)",
    "polyder": "xp.polyder(v)",
    "polyfit": "xp.polyfit(s, w, 2)",
    "polyint": "xp.polyint(v)",
    "polymul": "xp.polymul(v, v)",
    "polysub": "xp.polysub(v, w)",
    "polyval": "xp.polyval(v, x)",
    "roots": "xp.sort(xp.roots(v).real)",
}
FACTORS = {
    "linalg.cholesky": "xp.linalg.cholesky(S)",
    "linalg.cond": "xp.linalg.cond(S)",
    "linalg.det": "xp.linalg.det(S)",
    "linalg.eig": "[abs(part) for part in xp.linalg.eig(S)]",
    "linalg.eigh": "[abs(part) for part in xp.linalg.eigh(S)]",
    "linalg.eigvals": "xp.linalg.eigvals(S).real",
    "linalg.eigvalsh": "xp.linalg.eigvalsh(S)",
    "linalg.inv": "xp.linalg.inv(S)",
    "linalg.lstsq": "xp.linalg.lstsq(S, v, rcond=None)[0]",
    "linalg.matrix_norm": "xp.linalg.matrix_norm(A)",
    "linalg.matrix_rank": "xp.linalg.matrix_rank(S)",
    "linalg.norm": "xp.linalg.norm(x)",
    "linalg.pinv": "xp.linalg.pinv(S)",
    "linalg.qr": "[abs(part) for part in xp.linalg.qr(S)]",
    "linalg.slogdet": "xp.linalg.slogdet(S)",
    "linalg.solve": "xp.linalg.solve(S, v)",
    "linalg.svd": "[abs(part) for part in xp.linalg.svd(S)]",
    "linalg.svdvals": "xp.linalg.svdvals(S)",
    "linalg.tensorinv": "xp.linalg.tensorinv(S, 1)",
    "linalg.tensorsolve": "xp.linalg.tensorsolve(S, v)",
    "linalg.vector_norm": "xp.linalg.vector_norm(x)",
}
TRANSFORMS = {f"fft.{name}": f"xp.fft.{name}(w)" for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")}
TRANSFORMS |= {
    f"fft.{name}": f"xp.fft.{name}(A)"
    for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
}
COMPLEX = {
    "emath.arccos": "xp.emath.arccos(x)",
    "emath.arcsin": "xp.emath.arcsin(x)",
    "emath.arctanh": "xp.emath.arctanh(x)",
    "emath.log": "xp.emath.log(x)",
    "emath.log10": "xp.emath.log10(x)",
    "emath.log2": "xp.emath.log2(x)",
    "emath.logn": "xp.emath.logn(3.0, x)",
    "emath.power": "xp.emath.power(x, 2)",
    "emath.sqrt": "xp.emath.sqrt(x)",
}
WRITES = {  # to `t`
    "copyto": "xp.copyto(t, x)",
    "fill_diagonal": "xp.fill_diagonal(T, 3.0)",
    "place": "xp.place(t, m, [1.0, 2.0])",
    "put": "xp.put(t, i, y)",
    "put_along_axis": "xp.put_along_axis(t, i, y[:12], 0)",
    "putmask": "xp.putmask(t, m, y)",
}
READS = REARRANGED | SEARCHES | COMPUTED | PRODUCTS | POLYNOMIALS | FACTORS | TRANSFORMS | COMPLEX
STATEMENTS = READS | WRITES


def operands(call: int) -> dict[str, Any]:
    """Return ndarrays of the same structure for each call. The guards of a program fail in two of the calls."""
    rng = np.random.default_rng(call)
    x, y = (rng.permutation(np.arange(-15, 15, dtype=np.float32)) / 4 for _ in range(2))
    mask = rng.permutation(np.arange(30) % 3 == 0)
    z = rng.random(30) + 1j * (rng.random(30) + 1)
    if call == NONFINITE:
        x[[3, 5, 20, 21]] = z[[3, 5, 20, 21]] = np.nan, np.inf, -np.inf, -0.0
    if call == EMPTY:
        mask[:] = False
    A, B = rng.random((2, 5, 5))
    vectors = {"x": x, "y": y, "z": z, "m": mask, "w": rng.permutation(np.arange(30.0)) * (call + 1)}
    integers = {"n": rng.integers(-9, 9, 30), "i": rng.permutation(12), "b": rng.integers(0, 256, 6, np.uint8)}
    integers["j"] = rng.permutation(12) // (1 + (call == EMPTY))
    others = {"s": np.sort(rng.random(30)), "v": rng.random(5) + 1, "t": y.copy(), "T": A.copy()}
    return vectors | integers | others | {"A": A, "B": B, "S": A @ A.T + 4 * np.eye(5)}


def pending(array: Any, call: int) -> Any:
    """Return an expression with the values of an array. Each of four calls has another structure: 3 has many inputs."""
    if call % 4 == 3:
        for _ in range(TREE_LIMIT + 1):
            array = clarray.maximum(array, array.copy("K"))
    for _ in range(call % 4):
        array = clarray.maximum(clarray.positive(array), array)
    return clarray.positive(array)


def uploaded(values: dict[str, Any], form: str, call: int) -> dict[str, Any]:
    """Return device arrays: in memory, views, or pending: of one structure, of another each time, or of many inputs."""
    arrays = {name: clarray.array(value) for name, value in values.items()}
    if form == "pending":
        arrays |= {name: np.negative(-arrays[name]) for name in "xyzwnijsvABS"}
    if form == "expressions":
        arrays |= {name: pending(arrays[name], call) for name in "xyzwnijsvABS"}
    if form == "large":
        arrays |= {name: of_many_inputs(arrays[name]) for name in "xyzwnijsvABS"}
    if form == "view":
        arrays |= {name: clarray.repeat(arrays[name], 2, axis=-1)[..., ::2] for name in "xyzwnijmbsvABS"}
    return arrays | {"xp": clarray}


def of_many_inputs(array: Any) -> Any:
    """Return the array's values as an expression that is too large for its structure to be in a key."""
    for _ in range(TREE_LIMIT.bit_length()):
        array = clarray.where(clarray.array(np.array(True)), array, array)
    return array


def outcome(code: Any, names: dict[str, Any]) -> Any:
    """Return the result of a statement, the arrays that it writes, or the type of its error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = eval(code, names)
        except Exception as error:
            return type(error)
    return (names["t"], names["T"]) if result is None else result


def check(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, tuple | list):
        assert type(ours).__name__ == type(theirs).__name__
        assert len(ours) == len(theirs)
        for part, expected in zip(ours, theirs, strict=True):
            check(part, expected)
    elif isinstance(theirs, type | bool):
        assert ours == theirs
    else:
        host = np.asarray(clarray.asnumpy(ours))
        assert (host.shape, host.dtype) == (np.shape(theirs), np.asarray(theirs).dtype)
        np.testing.assert_allclose(host, theirs, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("form", ["memory", "pending", "expressions", "large", "view"])
@pytest.mark.parametrize("name", STATEMENTS)
def test_programs_give_numpys_results(name: str, form: str) -> None:
    if not current_device().capabilities.fp64:
        pytest.skip("operands are of float64")
    code = compile(STATEMENTS[name], "statement", "eval")
    results, programs = [], 0
    for call in range(CALLS):
        values = operands(call)
        if form == "expressions" and call % 2:
            values |= {name: np.asfortranarray(values[name]) for name in "AB"}
        names = uploaded(values, form, call)
        with PythonCalls.of_function(name) as python_calls:
            ours = outcome(code, names)
        programs += not python_calls.count
        theirs = outcome(code, values | {"xp": np})
        assert not isinstance(theirs, type) or call in (NONFINITE, EMPTY)
        check(ours, theirs)
        if form == "expressions" and isinstance(ours, clarray.ndarray):  # of an operand's order, too
            assert ours.strides == outcome(code, uploaded(values, "memory", call)).strides
        results.append((ours, theirs))
    for ours, theirs in results:  # no later call has written to memory of an earlier result
        check(ours, theirs)
    if form == "memory" or (form == "large" and grows_from_any(name)):
        assert programs >= PROGRAMS


def kind_of(function: Any) -> tuple[bool, bool, int] | None:
    """Return how a public function is captured: whether it is repeatable, whether it grows, and its operands."""
    function = without_host_fallback(function)
    while hasattr(function, "__wrapped__") and id(function) not in _kinds:
        function = function.__wrapped__
    return _kinds[id(function)][1] if id(function) in _kinds else None


def grows_from_any(name: str) -> bool:
    """Return whether a function only grows expressions, whatever its operands consist of."""
    kind = kind_of(attrgetter(name)(clarray))
    looks_below = name in ("angle", "tril", "triu") or name.startswith(("nan", "emath."))
    return kind is not None and kind[1] and not looks_below


def captured_names() -> Iterator[str]:
    """Yield the names of the public functions that are captured."""
    for prefix in MODULES:
        module = attrgetter(prefix)(clarray) if prefix else clarray
        for name in dir(module):
            if kind_of(getattr(module, name)) and not name.startswith("_"):
                yield f"{prefix}.{name}" if prefix else name


def test_every_captured_function_has_a_statement() -> None:
    assert set(captured_names()) <= set(STATEMENTS)


@pytest.mark.parametrize("function", [clarray.isclose, clarray.allclose])
def test_a_program_does_not_hide_a_warning_that_errstate_allows(function: Any) -> None:
    x = clarray.ones(3, np.float32)
    with np.errstate(invalid="ignore"):
        for _ in range(CALLS):
            function(x, x, rtol=np.nan)
    with np.errstate(invalid="warn"), pytest.warns(RuntimeWarning, match="rtol or atol"):
        function(x, x, rtol=np.nan)


@pytest.mark.parametrize("name", ["nanmax", "nanmean", "nanmedian"])
def test_a_program_leaves_warnings_to_python(name: str) -> None:
    function = getattr(clarray, name)
    for _ in range(CALLS):
        assert float(function(clarray.array(np.array([1, np.nan], np.float32)))) == 1
        with pytest.warns(RuntimeWarning):
            function(clarray.full(2, np.nan, np.float32))


def test_lines_with_and_without_nan() -> None:
    """Ten lines have more counts of NaN than a program has guards, so the program tests that no line has one."""
    for call in range(CALLS):
        host = np.random.default_rng(call).random((10, 7), np.float32)
        host[call:4, 2] = np.nan  # none from the fifth call on
        for name, args in (("nanmedian", ()), ("nanpercentile", (30,))):
            ours, theirs = (getattr(xp, name) for xp in (clarray, np))
            check(ours(clarray.array(host), *args, axis=1), theirs(host, *args, axis=1))


def test_outputs_may_overlap_the_operand() -> None:
    for call in range(CALLS):
        host = np.random.default_rng(call).random((4, 6), np.float32)
        for name in ("median", "nanmax", "nanmean"):
            array, expected = clarray.array(host), host.copy()
            out = array[:, 0]
            assert getattr(clarray, name)(array, axis=1, out=out) is out
            getattr(np, name)(expected, axis=1, out=expected[:, 0])
            check(array, expected)


def test_nan_to_num_in_place() -> None:
    for call in range(2 * CALLS):
        host = np.arange(20, dtype=np.float32)
        host[call] = np.nan
        array = clarray.array(host) * 1 if call % 2 else clarray.array(host)
        later = array + 1
        assert clarray.nan_to_num(array, copy=False, nan=7) is array
        check(array, np.nan_to_num(host, nan=7))
        check(later, host + 1)


FROM_CONSTANTS = (
    *("xp.histogram(y, [0.0, 4.0, 9.0])[1]", "xp.histogram(y, 4, (0, 9))[1]", "xp.histogram2d(y, y, [0, 5, 9])[1]"),
    *("xp.polyint(v)", "xp.insert(x, [1, 2], [5.0, 6.0])", "xp.tril_indices_from(A)[0]", "xp.full_like(x, 2)"),
)


@pytest.mark.parametrize("statement", FROM_CONSTANTS)
def test_writes_to_a_result_change_no_later_result(statement: str) -> None:
    if not current_device().capabilities.fp64:
        pytest.skip("operands are of float64")
    values = operands(0)
    expected = eval(statement, values | {"xp": np})
    for _ in range(CALLS):
        result = eval(statement, uploaded(values, "memory", 0))
        check(result, expected)
        result[...] = 99


@pytest.mark.parametrize("function", ["real_if_close", "ascontiguousarray", "round"])
def test_arrays_and_scalars_of_0_axes_have_programs_of_their_own(function: str) -> None:
    host = np.ones(3, np.float32)
    for _ in range(CALLS):
        for kind in ("array", "scalar"):
            xp_results = []
            for xp in (np, clarray):
                operand = xp.asarray(host).sum() if kind == "scalar" else xp.asarray(np.float32(3))
                result = getattr(xp, function)(operand)
                xp_results.append(isinstance(result, np.generic))
            assert xp_results[0] == xp_results[1], kind


@pytest.mark.usefixtures("kernels_stay")
@pytest.mark.parametrize("ticket", [True, False])
def test_selections_that_look_back_have_programs(ticket: bool) -> None:
    """Each run of a program has another epoch. The count is a guard."""
    host = np.random.default_rng(0).permutation(3000)
    programs = 0
    with policy_in_force("tiny-fenced"), policy_changed("compact", ticket=ticket):
        for limit in (1000,) * CALLS + (2000, 1000, 1001):
            mask = clarray.array(host > limit)
            with PythonCalls.of_function("nonzero") as python_calls:
                (positions,) = clarray.nonzero(mask)
            programs += not python_calls.count
            check(positions, np.flatnonzero(host > limit))
    assert programs >= PROGRAMS
