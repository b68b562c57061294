"""`clarray.config.check_finite`: the first call that makes a NaN or an infinity is found, and named."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clarray
from clarray import linalg

pytestmark = pytest.mark.usefixtures("quick_builds")

HERE = Path(__file__).name


@pytest.fixture
def checked() -> Iterator[None]:
    with clarray.config(check_finite=True):
        yield


def array(*values: Any, dtype: Any = np.float64) -> Any:
    return clarray.array(values, dtype=dtype)


MADE: dict[str, tuple[Callable[[], Any], str]] = {
    "an operator": (lambda: 1 / array(1, 0, 2), r"divide: .* float64 of shape \(3,\), is inf at \(1,\) \(1 of 3 elem"),
    "reflected": (lambda: array(0.0) / 0.0, r"divide: .* is nan at \(0,\)"),
    "a number": (lambda: array(1e200).max() * 1e200, r"multiply: .* of shape \(\), is inf at \(\) \(its one element\)"),
    "a ufunc of ours": (lambda: clarray.log(array(1, -1)), r"log: .* is nan at \(1,\)"),
    "a ufunc of NumPy's": (lambda: np.sqrt(array(4, -4)), r"sqrt: .* is nan at \(1,\)"),
    "its method": (lambda: np.multiply.reduce(array(1e200, 1e200)), r"multiply\.reduce: .* is inf"),
    "accumulated": (
        lambda: np.multiply.accumulate(array(1, 1e200, 1e200)),
        r"multiply\.accumulate: .* is inf at \(2,\)",
    ),
    "beside a NaN": (lambda: 1 / array(np.nan, 0), r"divide: .* is inf at \(1,\) \(1 of 2 elements\)"),
    "complex": (lambda: array(1e200 + 1j, dtype=complex) ** 2, r"(power|square): .* complex128"),
    "half": (lambda: array(60000, dtype=np.float16) * 2, r"multiply: .* float16"),
    "two results": (lambda: divmod(array(1.0), 0.0), r"divmod: "),
    "in place": (lambda: array(1e300).__imul__(1e300), r"multiply: .* is inf"),
    "written": (
        lambda: array(1, 2, dtype=np.float32).__setitem__(0, array(1e300)[0]),
        r"__setitem__: .* is inf at \(0,\)",
    ),
    "out": (lambda: np.log(array(0.0), out=array(np.nan)), r"log: .* is -inf"),
    "out as well as in": (lambda: (lambda x: np.log(x, x))(array(np.nan, 0)), r"log: .* is -inf at \(1,\)"),
    "converted": (lambda: array(1e300).astype(np.float32), r"astype: .* float32"),
    "sum": (lambda: array([3e38, 3e38], [1, 2], dtype=np.float32).sum(axis=1), r"sum: .* is inf at \(0,\)"),
    "sum of other rows": (lambda: array([np.nan, 1], [1e308, 1e308]).sum(1), r"sum: .* is inf at \(1,\) \(1 of 2"),
    "sum, kept": (lambda: clarray.sum(array([1e308] * 2), axis=1, keepdims=True), r"sum: .* is inf at \(0, 0\)"),
    "mean of nothing": (lambda: clarray.mean(clarray.zeros(0)), r"mean: .* is nan"),
    "var": (lambda: array(1.0).var(ddof=1), r"var: .* is nan"),
    "matmul": (lambda: clarray.full((2, 2), 1e200) @ clarray.full((2, 2), 1e200), r"matmul: .* \(4 of 4 elements\)"),
    "a function": (lambda: clarray.cumprod(array(1e200, 1e200)), r"cumprod: .* is inf at \(1,\)"),
    "a function of NumPy's": (lambda: np.cumsum(array(1.7e308, 1.7e308)), r"cumsum: .* is inf at \(1,\)"),
    "linalg": (lambda: linalg.norm(array([1e308, 1e308]), ord=1, axis=1), r"norm: .* is inf"),
    "selected": (lambda: 1 / array(0, 1, 2)[array(1, 1, 0) > 0], r"divide: .* is inf at \(0,\)"),
    "broadcast": (lambda: array([1.0], [0.0]) / array(0.0, 1.0), r"divide: .* \(2, 2\), is inf at \(0, 0\) \(2 of 4"),
}


@pytest.mark.parametrize(("body", "message"), MADE.values(), ids=MADE)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of what NumPy computes on the host itself
def test_what_makes_it_is_named(body: Callable[[], Any], message: str, checked: None) -> None:
    with pytest.raises(FloatingPointError, match=message) as found:
        body()
    assert f"; at {HERE}:{body.__code__.co_firstlineno}" in str(found.value)


NOT_MADE: dict[str, Callable[[Any], Any]] = {
    "an operator": lambda x: x + 1,
    "two": lambda x: x * x - x,
    "in place": lambda x: x.__iadd__(1),
    "a sum": lambda x: x.sum(),
    "rows": lambda x: x.reshape(1, -1).sum(axis=1),
    "a view": lambda x: x[::2].T,
    "a product": lambda x: x @ x,
    "a write": lambda x: clarray.zeros(4).__setitem__(slice(None), x),
    "a number of the user's": lambda x: clarray.zeros(3).__setitem__(1, np.nan),
    "a number beside": lambda x: clarray.ones(2) * np.inf,
    "nothing": lambda x: clarray.zeros(3).__setitem__(slice(1, None), None),
    "a text": lambda x: clarray.zeros(3).__setitem__(1, "-inf"),
    "a list": lambda x: clarray.array([1.0, np.nan]),
    "an array of the host's": lambda x: clarray.array(np.array([np.inf])) + np.array([np.nan]),
    "a filled one": lambda x: clarray.full((2, 2), -np.inf),
    "sorted": lambda x: clarray.sort(x),
    "joined": lambda x: np.concatenate([x, clarray.ones(2)]),
    "skipped": lambda x: clarray.nanmax(x),
    "chosen": lambda x: clarray.where(clarray.asarray([True, False] * 2), x, np.nan),
    "padded": lambda x: np.pad(clarray.ones(2), 1, constant_values=np.nan),
    "uninitialised": lambda x: clarray.empty(4).shape,
    "bits": lambda x: clarray.asarray([0x7FC00000], dtype=np.int32).view(np.float32),
    "where it is not computed": lambda x: clarray.divide(
        x, array(0, 1, 1, 0), out=None, where=np.array([False, True, True, False])
    ),
    "kept by where": lambda x: np.divide(x[1:2], 1, out=array(np.nan), where=np.array([False])),
    "integers": lambda x: clarray.arange(4) // 2,
    "printed": lambda x: (repr(x), str(x)),
    "a number": lambda x: float(x[0]),
}


@pytest.mark.parametrize("body", NOT_MADE.values(), ids=NOT_MADE)
def test_what_was_not_finite_is_no_ones_fault(body: Callable[[Any], Any], checked: None) -> None:
    body(clarray.array([np.nan, 1.0, 2.0, np.inf]))


def test_values_are_those_without_it() -> None:
    host = np.random.default_rng(1).random((30, 40))

    def body(xp: Any) -> Any:
        x = xp.array(host)
        y = (x - x.mean(axis=0)) / x.std(axis=0)
        y[y > 2] = 2
        y += 1
        y[1:] -= y[:-1]
        return (xp.sort(y, axis=1) @ y.T).sum(), y

    plain = body(clarray)
    with clarray.config(check_finite=True):
        found = body(clarray)
    for one, other in zip(plain, found, strict=True):
        assert clarray.asnumpy(one).tobytes() == clarray.asnumpy(other).tobytes()


def test_overlapping_operands_are_looked_at_before_they_are_written(checked: None) -> None:
    x = array(1, 1e300, 1e300, 1)
    with pytest.raises(FloatingPointError, match=r"multiply: .* is inf at \(1,\) \(1 of 3 elements\)"):
        x[1:] *= x[:-1]


def test_what_was_begun_before_is_found_where_it_is_computed() -> None:
    x = array(0, 1, 2)
    whole, carried = (x / x) * 3 + 1, array(np.nan) + 1
    with clarray.config(check_finite=True):
        assert np.isnan(float(carried.sum()))
        with pytest.raises(FloatingPointError, match=r"add \(begun before, computed for sum\): .* is nan at \(0,\)"):
            whole.sum()


def test_what_was_begun_before_is_found_in_lists_and_where_it_is_read() -> None:
    for body in (
        lambda y: np.concatenate([y, y]),
        lambda y: clarray.stack((y,)),
        repr,
        float,
        lambda y: clarray.asnumpy(y),
    ):
        begun = 1 / array(0).sum() if body is float else 1 / array(0)
        with clarray.config(check_finite=True), pytest.raises(FloatingPointError, match=r"divide \(begun before"):
            body(begun)


def test_kernels_of_the_users(checked: None) -> None:
    inverse = clarray.ElementwiseKernel("T x", "T y", "y = 1 / x", "inverse")
    with pytest.raises(FloatingPointError, match=r"kernel 'inverse': .* is inf"):
        inverse(array(1, 0))
    total = clarray.ReductionKernel("T x", "T y", "x", "a + b", identity=0, name="total")
    with pytest.raises(FloatingPointError, match=r"kernel 'total': .* is inf"):
        total(array(1e308, 1e308))


def test_arrays_of_a_subclass(checked: None) -> None:
    class Mine(clarray.DeviceArray):
        pass

    x = array(1, 0).view(Mine)
    for body in (lambda: 1 / x, lambda: np.log(x), lambda: (x * 1e308).cumprod() * 1e308):
        with pytest.raises(FloatingPointError, match="is finite; at"):
            body()


def test_off_nothing_is_in_the_way() -> None:
    names = ("__add__", "__iadd__", "sum", "__array_ufunc__", "__getitem__", "evaluate")
    before = [vars(clarray.DeviceArray)[name] for name in names]
    functions = clarray.sum, clarray.sort, linalg.inv
    with clarray.config(check_finite=True):
        assert all(vars(clarray.DeviceArray)[n] is not b for n, b in zip(names, before, strict=True))
        with clarray.config(check_finite=True):
            np.sort(clarray.ones(3))
        assert clarray.sum is not functions[0]
        with clarray.config(check_finite=False):
            assert np.isinf(float((1 / array(0.0))[0]))
    assert all(vars(clarray.DeviceArray)[n] is b for n, b in zip(names, before, strict=True))
    assert (clarray.sum, clarray.sort, linalg.inv) == functions
    x = 1 / array(0.0)
    assert x._node.memory is None  # pending, as ever
    assert np.isinf(float(x[0]))


def test_it_may_be_set_for_good_and_a_block_is_its_threads() -> None:
    assert clarray.config.check_finite is False
    clarray.config.check_finite = True
    try:
        with pytest.raises(FloatingPointError):
            1 / array(0.0)
    finally:
        clarray.config.check_finite = False
    1 / array(0.0)
    seen: list[Any] = []

    def elsewhere() -> None:
        try:
            seen.append(float((1 / array(0.0))[0]))
        except FloatingPointError as error:
            seen.append(error)

    with clarray.config(check_finite=True):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert seen == [np.inf]
    with pytest.raises(ValueError, match="check_finite must be one of False, True"):
        clarray.config.check_finite = "yes"


def test_a_program_in_no_file_has_lines() -> None:
    program = "import clarray\nclarray.config.check_finite = True\n1 / clarray.array([0.0])"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert found.stderr.endswith("; at <string>:3 (clarray.config.check_finite)\n")


@pytest.mark.parametrize(("setting", "expected"), [("1", "FloatingPointError: divide"), ("0", ""), ("", "")])
def test_the_environment_turns_it_on(setting: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLARRAY_CHECK_FINITE", setting)
    program = "import clarray\nx = clarray.array([0.0])\ny = 1 / x\nprint(y)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert found.returncode == (1 if expected else 0), found.stderr
    assert expected in found.stderr
