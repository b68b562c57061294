"""What NumPy's own tests ask, run with clarray's functions, and clarray once answered otherwise."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from io import BytesIO
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.exceptions import ComplexWarning

import clarray

from ..outcomes import difference

pytestmark = pytest.mark.usefixtures("quick_builds")

Same = Callable[..., None]

CALLS = """
xp.logspace(1, 2, 6, base=xp.array([1, 2]))
xp.logspace(1, 2, 6, base=xp.array([1, 2]), axis=-1)
xp.logspace(1, 2, 4, base=xp.array([[1, 2], [3, 4]]), axis=1)
xp.logspace(xp.array([1, 2]), 3, 4, base=xp.array([2., 3]))
xp.einsum(xp.ones((2, 3)), range(2))
xp.einsum(xp.ones((2, 3)), range(1, -1, -1), range(2))
xp.einsum(xp.ones((2, 3)), xp.array([0, 1]), xp.array([1]))
xp.einsum(xp.ones((2, 3)), list(xp.array([0, 1])), [xp.array(1)])
xp.einsum('', 0, order='W')
xp.einsum('', 0, casting='blah')
xp.piecewise(xp.array(3), xp.array(3) > 3, [4, 0])
xp.piecewise(xp.array(4), xp.array(4).max() > 3, [4, 0])
xp.piecewise(5, [True, False], [1, 0])
(xp.poly1d([2., 4.]) / xp.array([1., 1.]).sum()).coeffs
xp.einsum('ij,jk', xp.ones((2, 3)), xp.ones((3, 4)), order='f').flags.f_contiguous
xp.einsum('ij,jk', xp.ones((2, 3)), xp.ones((3, 4)), order='C').flags.c_contiguous
xp.einsum('...ft,mf->...mt', xp.ones((2, 3, 5), order='F'), xp.ones((4, 3), order='F'), order='a').flags.f_contiguous
xp.einsum('...ft,mf->...mt', xp.ones((2, 3, 5), order='F'), xp.ones((4, 3)), order='a').flags.c_contiguous
xp.einsum('ij->ji', xp.ones((2, 3)), order='C').flags.c_contiguous
xp.reshape(xp.ones(3), (True, -1))
xp.reshape(xp.ones(3), (np.True_, -1))
xp.ones(3).reshape(True, -1)
xp.zeros(True)
xp.ones((True, 2))
xp.broadcast_to(xp.ones(2), (True, 2))
xp.arange(9).reshape(3, 3).flat[True].tolist()
xp.arange(9).reshape(3, 3).flat[False]
xp.unravel_index(1, (2**32 - 1, 2**31 + 1))
xp.unravel_index(1, (2**31, 2**31))
xp.percentile(xp.arange(5.), 5, None, xp.zeros((1,)))
xp.quantile(xp.arange(10.).reshape(5, 2), .5, axis=0, out=xp.zeros((3, 2)))
xp.quantile(xp.arange(5.), [.2, .5], out=xp.zeros(2))
xp.quantile(xp.arange(5.), [.2, .5], out=xp.zeros(3))
xp.nanpercentile(xp.arange(5.), 50, out=xp.zeros((2, 1)))
xp.median(xp.ones(5), out=xp.zeros(1))
xp.delete(xp.arange(5), True)
xp.delete(xp.arange(5), False)
xp.delete(xp.arange(5), np.True_)
xp.vecdot(xp.arange(3).reshape(1, 3), xp.arange(3).reshape(1, 3), out=xp.empty((5, 4, 3)))
xp.vecdot(xp.ones((2, 3)), xp.ones((2, 3)), out=xp.empty(3))
xp.vecdot(xp.ones((3, 2)), xp.ones(2), xp.empty(()))
xp.matmul(xp.ones((1, 2, 3)), xp.ones((3, 4)), out=xp.empty((5, 2, 4)))
xp.matmul(xp.ones((1, 2, 3)), xp.ones((3, 1)), out=xp.empty((5, 2, 4)))
xp.vecdot(xp.arange(27).reshape(3, 3, 3), xp.arange(27).reshape(3, 3, 3), axes=[0, 2], keepdims=True)
xp.vecdot(xp.arange(27).reshape(3, 3, 3), xp.arange(27).reshape(3, 3, 3), axes=[0, 0, 0], keepdims=True)
xp.empty((3037000500, 3037000500), dtype='i1')
xp.zeros((2**40, 2**40))
xp.ones((2**62,))
xp.arange(2**62 - 1)
xp.array(5)[(None,) * 65]
xp.ones((1,) * 60)[(None,) * 5]
xp.ones((1,) * 60)[(None,) * 4].ndim
xp.argmax(xp.array([[1, 2], [3, 0]]), 0, out=xp.empty(2, 'i2'))
xp.argmin(xp.array([[1, 2], [3, 0]]), 0, out=xp.empty(2, bool))
xp.argmax(xp.array([[1, 2], [3, 0]]), 0, out=xp.empty(2, 'f8'))
xp.argmax(xp.array([[1, 2], [3, 0]]), 0, out=xp.empty(2, 'u8'))
xp.array([0, 2, 1]).choose(1, 2, 3)
xp.array([0, 1, 1]).choose(xp.array([1, 2, 3]), xp.array([4, 5, 6]))
xp.array([0, 1, 1]).choose([xp.array([1, 2, 3]), xp.array([4, 5, 6])])
xp.array([0, 3]).choose([1, 2], mode='wrap')
xp.array([1], copy='always')
xp.array(xp.ones(2), copy='never')
"""


@pytest.mark.parametrize("code", CALLS.strip().split("\n"))
def test_calls(code: str) -> None:
    found = difference(code)
    assert found is None, f"{code}: {found}"


@pytest.mark.parametrize("value", [1, 1.5, 2 + 3j, True, np.float32(2), np.complex64(1 + 2j), np.int8(3), np.False_])
def test_parts_of_numbers_are_numbers(value: Any) -> None:
    for part in ("real", "imag"):
        found, wanted = getattr(clarray, part)(value), getattr(np, part)(value)
        assert type(found) is type(wanted)
        assert found == wanted


@pytest.mark.parametrize("filt", [[0, 1, 0, 2, 0], (0, 0, 3), [0, 0], (), [1.5]])
def test_sequences_are_trimmed_to_sequences(filt: Any) -> None:
    for trim in ("fb", "f", "b"):
        found = clarray.trim_zeros(filt, trim)
        assert type(found) is type(filt)
        assert found == np.trim_zeros(filt, trim)


def test_elements_by_bools_of_a_flat_iterator(same: Same) -> None:
    def assigned(key: Any) -> Callable[[ModuleType], Any]:
        def body(xp: ModuleType) -> Any:
            a = xp.arange(9).reshape(3, 3)
            a.flat[key] = 70
            return a

        return body

    with pytest.warns(DeprecationWarning, match="0-dimensional boolean index"):
        same(assigned(True))
    with pytest.warns(DeprecationWarning, match="0-dimensional boolean index"):
        same(assigned(False))
    same(assigned(()))
    same(assigned(...))


@pytest.mark.parametrize("values", [[1j], [1j, 2]])
def test_imaginary_parts_that_a_mask_loses_are_told(values: list[complex]) -> None:
    mask = np.array([[0, 1], [0, 0], [0, len(values) - 1]], bool)
    expected = np.zeros((3, 2))
    with pytest.warns(ComplexWarning):
        expected[mask] = np.array(values)
    x = clarray.zeros((3, 2), np.float32)
    with pytest.warns(ComplexWarning):
        x[clarray.array(mask)] = clarray.array(np.array(values, np.complex64))
    np.testing.assert_array_equal(x.get(), expected)


class _ArrayLike:
    """Of somebody who has changed ``import numpy as np`` in all files."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return clarray.array([1, 2, 3])


def test_array_likes_that_make_device_arrays() -> None:
    like = _ArrayLike()
    assert clarray.asarray(like).tolist() == [1, 2, 3]
    assert clarray.array(like, np.float32).dtype == np.float32
    assert (clarray.ones(3, np.int64) + like).tolist() == [2, 3, 4]
    assert clarray.intersect1d(like, [2]).tolist() == [2]
    assert int(clarray.sum(like)) == 6


def test_an_ellipsis_for_an_output_asks_for_arrays() -> None:
    assert clarray.add(1, 2, out=...).tolist() == 3
    assert clarray.add.reduce(clarray.arange(3), out=...).tolist() == 3
    assert clarray.matmul(clarray.arange(3), clarray.arange(3), out=...).tolist() == 5
    assert [part.tolist() for part in clarray.frexp(clarray.array([1.5], np.float32), out=...)] == [[0.75], [1]]


@pytest.mark.parametrize("name", ["sin", "abs", "divide", "matmul"])
def test_pickles_of_ufuncs_are_the_ufuncs(name: str) -> None:
    ufunc = getattr(clarray, name)
    assert pickle.loads(pickle.dumps(ufunc)) is ufunc


def test_seeds_may_be_arrays() -> None:
    for seed in (clarray.arange(4), clarray.array(7)):
        one, two = clarray.random.default_rng(seed), clarray.random.default_rng(seed.tolist())
        assert one.integers(0, 1000, 5).tolist() == two.integers(0, 1000, 5).tolist()
        clarray.random.seed(seed)
        first = clarray.random.randint(0, 1000, 5).tolist()
        clarray.random.seed(seed.tolist())
        assert clarray.random.randint(0, 1000, 5).tolist() == first


def test_arrays_of_an_archive_are_attributes() -> None:
    file = BytesIO()
    clarray.savez(file, first=clarray.arange(2), second=clarray.arange(1))
    file.seek(0)
    found = clarray.load(file)
    assert dir(found.f) == ["first", "second"]
    assert found.f.first.tolist() == [0, 1]
    assert repr(found).startswith("NpzFile ")
    with pytest.raises(AttributeError):
        _ = found.f.third
