"""Calls that write to an ndarray: the elements, what is returned, and the errors are NumPy's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

if not current_device().capabilities.fp64:
    pytest.skip("the table's ndarrays are float64", allow_module_level=True)

# Statements of a namespace `v`: a, b, c are ndarrays of four floats, A of 4 x 4, i of integers, m of bools, z of
# complex numbers; d, k, D, T are arrays of the library `np` under test: floats, indices, 4 x 4 and 4 x 4 x 4 floats.
STATEMENTS = """
v.a += v.d
v.a -= v.d
v.a *= v.d
v.a /= v.d
v.a **= v.d
v.a[1:] += v.d[1:]
v.a[::-2] += v.d[:2]
v.A += v.d
v.i += v.k
v.i //= v.k + 1
v.m &= v.d > 1
v.a @= v.D
np.add(v.a, v.d, out=v.a)
np.add(v.a, v.a, out=v.a)
np.add(v.d, v.d, v.a)
np.add(v.a[:-1], v.d[1:], out=v.a[1:])
np.add(v.a[::-1], v.d, out=v.a)
np.add(v.a, v.d, out=v.a, where=v.d > 2)
np.add(v.i, v.k, out=v.a)
np.multiply(v.a, 2, out=v.a)
np.sqrt(v.a, v.a)
np.less(v.a, v.d, out=v.m)
np.logical_and(v.d, v.d, out=v.m)
np.divmod(v.d, 2.0, out=(v.a, v.b))
np.divmod(v.d, 2.0, v.a, v.b)
np.modf(v.d, out=(v.a, None))
np.add(np.array(1.5), 1, out=v.zero)
np.sum(v.D, axis=0, out=v.a)
np.sum(v.A, axis=0, out=v.a)
np.sum(v.D, out=v.zero)
v.D.sum(axis=0, out=v.a)
v.D.mean(0, None, v.a)
np.mean(v.D, axis=0, out=v.a)
np.max(v.D, axis=0, out=v.a)
np.amax(v.D, axis=0, out=v.a)
np.min(v.D, axis=0, out=v.a)
np.amin(v.D, axis=0, out=v.a)
np.prod(v.D, axis=0, out=v.a)
np.std(v.D, axis=0, out=v.a)
np.var(v.D, axis=0, out=v.a)
np.ptp(v.D, axis=0, out=v.a)
np.all(v.D, axis=0, out=v.m)
np.any(v.D, axis=0, out=v.m)
np.argmax(v.D, axis=0, out=v.i)
np.argmin(v.D, axis=0, out=v.i)
np.nanargmax(v.D, axis=0, out=v.i)
np.nanargmin(v.D, axis=0, out=v.i)
np.median(v.D, axis=0, out=v.a)
np.nanmedian(v.D, axis=0, out=v.a)
np.percentile(v.D, 50, axis=0, out=v.a)
np.nanpercentile(v.D, 50, axis=0, out=v.a)
np.quantile(v.D, 0.5, axis=0, out=v.a)
np.nanquantile(v.D, 0.5, axis=0, out=v.a)
np.nansum(v.D, axis=0, out=v.a)
np.nanprod(v.D, axis=0, out=v.a)
np.nanmax(v.D, axis=0, out=v.a)
np.nanmin(v.D, axis=0, out=v.a)
np.nanmean(v.D, axis=0, out=v.a)
np.nanstd(v.D, axis=0, out=v.a)
np.nanvar(v.D, axis=0, out=v.a)
np.cumsum(v.d, out=v.a)
np.cumsum(v.a, out=v.a)
np.cumprod(v.a, out=v.a)
np.nancumsum(v.d, out=v.a)
np.nancumprod(v.d, out=v.a)
np.cumulative_sum(v.d, out=v.a)
np.cumulative_prod(v.d, out=v.a)
np.trace(v.T, out=v.a)
np.dot(v.D, v.d, out=v.a)
np.dot(v.A, v.a, out=v.b)
np.matmul(v.D, v.d, out=v.a)
np.matvec(v.D, v.d, out=v.a)
np.vecmat(v.d, v.D, out=v.a)
np.vecdot(v.D, v.D, out=v.a)
np.outer(v.d, v.d, out=v.A)
np.einsum("ij,j->i", v.D, v.d, out=v.a)
np.linalg.multi_dot([v.D, v.D, v.D], out=v.A)
np.clip(v.d, 0, 1, out=v.a)
np.clip(v.a, 0, 1, out=v.a)
np.round(v.d / 3, 1, out=v.a)
np.around(v.b / 3, 1, out=v.b)
np.fix(v.d, out=v.a)
np.isposinf(v.d, out=v.m)
np.isneginf(v.d, out=v.m)
np.take(v.d, [0, 1, 2, 0], out=v.a)
np.take(v.a, [0, 1, 2, 0], out=v.b)
np.choose([0, 0, 0, 0], [v.d], out=v.a)
np.compress([1, 1, 1, 1], v.d, out=v.a)
np.concatenate([v.d[:2], v.d[:2]], out=v.a)
np.concat([v.a[:2], v.a[2:][::-1]], out=v.a)
np.stack([v.d[:2], v.d[:2]], out=v.A[:2, :2])
np.add.reduce(v.D, 0, out=v.a)
np.add.accumulate(v.d, out=v.a)
np.add.outer(v.d, v.d, out=v.A)
np.add.reduceat(v.d, [0, 1, 2, 3], out=v.a)
np.add.at(v.a, [0, 0], 1)
np.add.at(v.a, v.k, v.d)
np.nan_to_num(v.c, copy=False)
np.copyto(v.a, v.d)
np.copyto(v.a, 1.0)
np.copyto(v.a, v.d, where=v.d > 2)
np.copyto(v.a[1:], v.a[:-1])
np.fill_diagonal(v.A, v.d)
np.put(v.a, [0], 9)
np.put(v.a, v.k, v.d)
np.place(v.a, v.d > 1, [7])
np.putmask(v.a, v.d > 1, v.d)
np.put_along_axis(v.a, v.k, v.d, 0)
np.fft.fft(v.d, out=v.z)
np.fft.ifft(v.d, out=v.z)
np.fft.fftn(v.d, out=v.z)
np.fft.ifftn(v.d, out=v.z)
np.fft.fft2(v.D, out=v.Z)
np.fft.rfft(v.d, out=v.z[:3])
np.fft.rfftn(v.d, out=v.z[:3])
np.fft.rfft2(v.D, out=v.Z[:, :3])
np.fft.ihfft(v.d, out=v.z[:3])
np.fft.irfft(v.d[:3], out=v.a)
np.fft.irfftn(v.d[:3], out=v.a)
""".strip().splitlines()

# NumPy 2.4 does not write to these outputs.
UNWRITTEN = """
np.fft.ifft2(v.D, out=v.Z)
np.fft.irfft2(v.D[:, :3], out=v.A)
np.fft.hfft(v.d[:3], out=v.a)
""".strip().splitlines()

# Errors of NumPy's.
REFUSED = """
np.add(v.d, 1, out=v.readonly)
np.add(v.d, 0.5, out=v.i)
np.sum(v.D, axis=0, out=v.a[:2])
v.i += v.d
v.a[:2] += v.d
np.copyto(v.i, v.d)
""".strip().splitlines()


def values(np_: ModuleType) -> SimpleNamespace:
    """Make the operands of a statement, and a copy of each."""
    v = SimpleNamespace(a=np.array([1.0, 2, 0, 3]), c=np.array([np.nan, 1, np.inf, 2]), i=np.array([4, 5, 6, 7]))
    v.b, v.A, v.m, v.zero = v.a + 1, np.arange(16.0).reshape(4, 4), v.a > 0, np.zeros(())
    v.z, v.Z = np.zeros(4, complex), np.zeros((4, 4), complex)
    v.readonly = v.a.copy()
    v.readonly.flags.writeable = False
    v.d, v.k = np_.asarray([1.0, 2, 3, 4]), np_.asarray([0, 1, 1, 0])
    v.D, v.T = np_.asarray(np.sin(v.A) + 2), np_.asarray(np.arange(64.0).reshape(4, 4, 4))
    return v


def outcome(np_: ModuleType, statement: str) -> tuple[dict[str, np.ndarray], Any]:
    """Run a statement; return the ndarrays and which of them it returned."""
    v = values(np_)
    given = {name: array for name, array in vars(v).items() if isinstance(array, np.ndarray) and name not in "dkDT"}
    names: dict[str, Any] = {"np": np_, "v": v}
    is_expression = statement.startswith(("np.", "v.D."))
    exec(f"result = {statement}" if is_expression else statement, names)
    assert all(getattr(v, name) is array for name, array in given.items()), "an ndarray was replaced"
    result = names.get("result")
    results = result if isinstance(result, tuple) else (result,)
    return given, [next((n for n, x in given.items() if x is r), r is None) for r in results]


@pytest.mark.filterwarnings("ignore:numpy.fix:DeprecationWarning")  # since NumPy 2.5
@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_ndarray_takes_the_result(statement: str) -> None:
    theirs, returned = outcome(np, statement)
    ours, ours_returned = outcome(clarray, statement)
    for name, array in theirs.items():
        np.testing.assert_allclose(ours[name], array, rtol=1e-12, atol=1e-12, err_msg=name)
    assert any(not np.array_equal(array, vars(values(np))[name], equal_nan=True) for name, array in ours.items())
    assert ours_returned == returned


@pytest.mark.parametrize("statement", UNWRITTEN)
def test_outputs_that_numpy_leaves(statement: str) -> None:
    v = values(clarray)
    call, output = statement.removesuffix(")").split(", out=")
    made = eval(f"{call}, out={output})", {"np": clarray, "v": v})
    assert made is eval(output, {"v": v})
    np.testing.assert_allclose(made, eval(f"{call})", {"np": np, "v": values(np)}), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("statement", REFUSED)
def test_errors(statement: str) -> None:
    with pytest.raises((TypeError, ValueError)) as theirs:
        outcome(np, statement)
    with pytest.raises(theirs.type):
        outcome(clarray, statement)


@pytest.mark.parametrize("name", ["random", "standard_normal", "standard_exponential", "standard_gamma"])
def test_draws(name: str) -> None:
    shapes = (2.0,) if name == "standard_gamma" else ()
    host = np.empty(5)
    assert getattr(clarray.random.default_rng(3), name)(*shapes, out=host) is host
    np.testing.assert_array_equal(host, getattr(clarray.random.default_rng(3), name)(*shapes, size=5))


def test_orders() -> None:
    host = np.arange(9.0)
    assert clarray.random.default_rng(3).permuted(host, out=host) is host
    assert sorted(host) == list(range(9))


def _with_outputs() -> Iterator[str]:
    for path, module in (("", clarray), ("linalg.", clarray.linalg), ("fft.", clarray.fft)):
        for name in dir(module):
            function: Callable[..., Any] = getattr(module, name)
            is_ufunc = isinstance(getattr(np, name, None), np.ufunc) and not path
            if isinstance(function, type) or is_ufunc or not callable(function):
                continue
            if function.__module__.startswith("clarray") and {"out", "dst"} & {*inspect.signature(function).parameters}:
                yield path + name


def test_there_are_functions_with_outputs() -> None:
    assert len({*_with_outputs()}) > 60


@pytest.mark.parametrize("name", sorted(_with_outputs()))
def test_the_table_has_every_function_with_an_output(name: str) -> None:
    assert any(f"np.{name}(" in statement for statement in STATEMENTS + UNWRITTEN)


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "f8", "F"])
@pytest.mark.parametrize("part", [np.s_[:], np.s_[::2], np.s_[1:5]])
def test_any_layout_and_byte_order(dtype: str, part: slice) -> None:
    for order in "CF":
        theirs, ours = (np.zeros((6, 3), dtype, order) for _ in range(2))
        theirs[part] += np.arange(3, dtype=np.float32)
        ours[part] += clarray.arange(3, dtype=np.float32)
        np.testing.assert_array_equal(ours, theirs)


def test_what_was_computed_of_the_ndarray_stays() -> None:
    host = np.arange(100_000.0)
    before = clarray.asarray(host) * 2
    host += clarray.asarray(host)
    np.testing.assert_array_equal(before.get(), np.arange(100_000.0) * 2)
    np.testing.assert_array_equal(host, np.arange(100_000.0) * 2)


def test_a_device_array_on_the_same_memory() -> None:
    host = np.arange(6.0)
    np.add(clarray.asarray(host)[:-1], 1, out=host[1:])
    np.testing.assert_array_equal(host, [0, 1, 2, 3, 4, 5])
