"""Arguments that nobody means to pass, and those that NumPy has rules of its own for: the same outcome.

Each line is an expression in ``xp``, run as NumPy and as clarray: values, dtypes, shapes, layouts, exceptions and
warnings are compared. Inputs repeat, so that few kernels are compiled.
"""

from __future__ import annotations

import pytest

from ..outcomes import differences, listed

pytestmark = pytest.mark.usefixtures("quick_builds")

INPUTS = {
    "MATRIX": "xp.array([[3, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8]], 'f4')",
    "COMPLEX": "xp.array([[3 - 1j, 1, 4j, 1], [5, 9, 2, 6]], 'c8')",
    "NANS": "xp.full((2, 3), np.nan, 'f4')",
    "SOME": "xp.array([[1, np.nan, 2], [np.nan, np.nan, np.nan]], 'f4')",
    "MASK": "xp.array([True, False, True, True])",
    "TURNED": "xp.arange(24.).reshape(2, 3, 4).transpose(2, 0, 1)",
    "DISTINCT": "xp.asfortranarray(xp.array([[3, 1, 4, 2], [5, 9, 2, 6]], 'f4'))",
    "FORTRAN": "xp.asfortranarray(xp.array([[3, 1, 4, 1], [5, 9, 2, 6]], 'f4'))",
}
TABLE = """
# dtypes of statistics
MATRIX.var(dtype='c8')
MATRIX.std(0, dtype='c8')
COMPLEX.var(dtype='f4')
COMPLEX.std(1, dtype='f4')
COMPLEX.var(dtype='c8')
COMPLEX.var()
COMPLEX.std(0)
COMPLEX.mean(1, dtype='f4')
COMPLEX.var(1, dtype='f4', where=MASK)
COMPLEX.sum(dtype='f4')
COMPLEX.var(dtype=int)
MATRIX.var(0, dtype='i1')
MATRIX.std(0, dtype='i1')
MATRIX.std(dtype=int)
MATRIX.std(0, dtype=bool)
xp.nanmean(SOME, dtype=int)
# what None, NaN among edges and depths are taken for
MATRIX.mean(where=None)
MATRIX.var(0, where=None)
xp.nanstd(SOME, mean=None)
xp.where(MASK, 1.5)
xp.cov(MATRIX, bias=None)
xp.digitize(xp.arange(40000) / 1e4, xp.array([1, 1, 1, np.nan, 4, 4]))
xp.digitize(xp.arange(40000) / 1e4, xp.array([4, np.nan, 1]))
xp.digitize(xp.arange(40000) / 1e4, xp.array([1, 4, np.nan]))
xp.digitize(xp.arange(40000) / 1e4, xp.array([np.nan, 4, 1]))
xp.nanvar(SOME, 0, dtype=int)
xp.nanstd(SOME, out=xp.zeros((), int))
xp.nanvar(COMPLEX, dtype='f4')
xp.nanstd(COMPLEX, 0)
# lines of 0-d arrays
xp.compress([True], xp.array(3), axis=0)
xp.compress([False], xp.array(3), axis=-1)
xp.array(3).repeat(2, axis=0)
xp.array(3).repeat([2], axis=-1)
xp.array(3).repeat(2, axis=1)
xp.take(xp.array(3), [0, 0], axis=0)
xp.take(xp.array(3), 0, axis=1)
# warnings of what is empty
NANS[:0].mean(0)
NANS[:0].mean()
NANS[:0].var()
NANS[:0].std(1)
MATRIX[0].var(ddof=4)
MATRIX.mean(where=~MASK)
MATRIX.mean(1, where=MASK & False)
MATRIX.var(0, where=MASK & False)
MATRIX.var(1, where=MASK, ddof=3)
MATRIX.var(1, where=MASK, ddof=2)
MATRIX.std(where=MASK & False)
xp.nanmean(NANS, 0)
xp.nanmean(SOME, 1)
xp.nanmean(SOME)
xp.nanmean(NANS[:0], 0)
xp.nanvar(NANS, 0)
xp.nanvar(SOME, 1)
xp.nanstd(SOME, 1, ddof=2)
xp.nanstd(SOME)
xp.nanmax(NANS, 0)
xp.nanmin(SOME, 1)
xp.nanmax(SOME)
xp.nanmin(NANS)
xp.nanmax(NANS[:0])
xp.nanmedian(SOME, 1)
xp.nanpercentile(SOME, 50, axis=1)
xp.nanargmax(SOME, 1)
xp.nansum(NANS)
# masks
MATRIX.sum(1, where=[1, 0, 1, 1])
MATRIX.sum(where=1)
MATRIX.sum(1, where=xp.array([1, 0, 1, 1]))
# einsum
xp.einsum('ii', xp.ones((1, 5)))
xp.einsum('ii->i', xp.ones((5, 1)))
xp.einsum('iij->j', xp.ones((1, 5, 2)))
xp.einsum('ij,jk', xp.ones((3, 1)), xp.ones((5, 2)))
xp.einsum('ij,jk', xp.ones((3, 4)), xp.ones((5, 2)))
# indices
xp.unravel_index(xp.array([1]), (2, 3), order='f')
xp.unravel_index(xp.array([1]), (2, 3), order=None)
xp.unravel_index(xp.array([1]), (2, 3), order='A')
xp.unravel_index(xp.array([0]), ())
xp.unravel_index(xp.zeros(0, int), ())
xp.unravel_index(xp.array(0), ())
xp.unravel_index(xp.array(1), ())
xp.mgrid[0:5]
xp.mgrid[:5]
xp.mgrid[::2]
xp.mgrid[0:None]
xp.mgrid[0:5:None]
xp.mgrid[0:3, None]
xp.mgrid[5]
xp.ogrid[None:5]
xp.ogrid[0:5, None]
xp.ogrid[1:4:2]
xp.ogrid[0:1:3j]
xp.mgrid[0:5:0]
xp.argwhere(MATRIX > 3)
xp.argwhere(MATRIX[0] > 3)
xp.argwhere(xp.array(1))
xp.argwhere(xp.array(0))
# sets
xp.setxor1d(xp.array([3, 3, 1, 2]), xp.array([2, 5]), assume_unique=True)
xp.setxor1d(xp.array([[3, 1], [2, 9]]), xp.array([[2, 5]]), assume_unique=True)
xp.setxor1d(xp.zeros(0, int), xp.zeros(0, int), assume_unique=True)
# convolutions with what is not finite
xp.convolve(xp.array([3.0, 1.0, 4.0, 1.0], 'f4'), xp.array([2., np.nan, -1., np.nan]))
xp.convolve(xp.array([3.0, 1.0, 4.0, 1.0, 0], 'f4'), xp.array([2., np.inf, -1.], 'f4'), 'same')
xp.convolve(xp.array([3.0, 1.0, 4.0, 1.0, 0], 'f4'), xp.array([2., np.inf, -1.], 'f4'), 'valid')
xp.convolve(xp.array([3.0, 1.0, 4.0, 1j, 0], 'c8'), xp.array([2., np.inf, -1.], 'f4'), 'full')
xp.correlate(xp.array([3.0, 1.0], 'f4'), xp.array([2., np.nan, -1., np.nan], 'f4'), 'full')
xp.correlate(xp.array([3.0, 1.0, 4, 5, 6], 'f4'), xp.array([2., np.nan, -1., np.nan], 'f4'), 'same')
# polynomials of other than one axis, and of nothing
xp.poly(xp.array(3.))
xp.poly(xp.zeros(0))
xp.roots(xp.array(3.))
xp.polyder(xp.array(3.), 0)
xp.polyder(3.)
xp.polyder(xp.zeros(0))
xp.polyder(xp.array([[1., 2]]), 0)
xp.polyder(xp.array([[1., 2], [3, 4]]))
xp.polyint(xp.array(3.), 0)
xp.polyint(xp.array(3.))
xp.polyint(xp.array([[1., 2], [3, 4]]))
xp.polyadd(xp.array([[1., 2], [3, 4]]), xp.array([1., 2]))
xp.polysub(xp.array(3.), xp.array([1., 2]))
# no axes, and positions too small for a single slice
xp.fft.fftshift(xp.array(3.))
xp.roll(xp.array(3.), [], ())
xp.roll(xp.array([1, 2]), [], ())
xp.insert(xp.arange(1), [-2, 1, 0], 9)
xp.insert(xp.arange(1), xp.array([-2, 1, 0]), [7, 8, 9])
xp.insert(xp.array([[4, 5]]), [-2, 1, 0], 9, axis=0)
xp.insert(xp.arange(0), [-1, 0], 9)
# memory orders
xp.choose(FORTRAN > 3, [FORTRAN, -FORTRAN])
xp.select([FORTRAN > 3], [FORTRAN])
xp.sort(xp.broadcast_to(xp.arange(3), (2, 3)), 0)
xp.delete(FORTRAN, 0, axis=1)
xp.delete(FORTRAN, [0], axis=1)
xp.delete(TURNED, slice(1), axis=1)
# limits of clip, whose ufunc NumPy has no name for
np.arange(5.).clip(xp.array(1.), xp.array(3.))
xp.clip(COMPLEX, 1j, complex(1, np.nan))
xp.clip(xp.array([1, 2], 'u1'), 0.5, 1.5, dtype='i4')
xp.clip(xp.array([1, 2], 'u1'), -1, 300)
xp.clip(xp.array([1, 2], 'u1'), 1, 300)
xp.clip(MATRIX, 1, 2, out=xp.zeros((3, 4), 'i4'))
xp.clip(MATRIX, 1, 2, out=xp.zeros((3, 4), 'i4'), casting='unsafe')
xp.clip(xp.array([True]), False, True)
# equality of what is no number
xp.array_equal(None, None)
xp.array_equal('abc', 'abc')
xp.array_equal(['a'], ['a', 'b'])
xp.array_equal(xp.array([1]), 'a')
xp.array_equiv('a', ['a', 'a'])
xp.array_equal([[1], [1, 2]], [1])
# orders and dtypes of new arrays
xp.asarray(MATRIX, order='f')
xp.array(MATRIX, order='')
xp.array(MATRIX, order=0)
xp.copy(FORTRAN, order=None)
xp.asarray(xp.array([1j]), dtype='f4')
xp.asarray(xp.array([1j]), dtype='?')
xp.array(np.array([1j]), dtype='f4')
xp.array(MATRIX, order='k')
# modes and outputs of chosen elements
xp.take(xp.arange(5), [7, -9], mode=0)
xp.take(xp.arange(5), [7, -9], mode=1)
xp.take(xp.arange(5), [7, -9], mode=None)
xp.take(xp.arange(5), [1], mode='r')
xp.take(xp.arange(5), [1], mode=[])
xp.choose(xp.array([0, 1]), [[1, 2], [3, 4]], mode=None)
xp.choose(xp.array([0, 1]), [[1, 2.5], [3, 4]], out=xp.zeros(2, int))
xp.choose(xp.array([0, 1]), [[1, 2.5], [3, 4]], out=3)
xp.concatenate(([1], [2]), out=(xp.zeros(2), ))
xp.put(xp.arange(5), [9], 1, mode=None)
# layouts of sorted arrays
xp.argsort(FORTRAN)
xp.argsort(FORTRAN, axis=0)
xp.sort(FORTRAN, axis=0)
xp.argpartition(DISTINCT, 1, axis=0)
xp.sort(TURNED)
MATRIX.byteswap()
FORTRAN.byteswap()
TURNED.byteswap().byteswap()
COMPLEX.byteswap().byteswap()
xp.asfortranarray(COMPLEX).byteswap().byteswap()
FORTRAN.imag
FORTRAN[:1].imag
TURNED.imag
# nothing to write, and nothing to write to
xp.put(xp.zeros(0), [1], [])
xp.put(xp.zeros(0), [1], 'a')
xp.put(xp.zeros(0), [], 1)
xp.put(xp.arange(3), [1], [])
xp.zeros(0, int) ** -3
xp.power(xp.zeros((0, 1), int), xp.array([-3]))
xp.power(xp.array([2]), xp.zeros((0, 1), int) - 3)
xp.arange(3)[xp.array([False] * 3)] ** -3
xp.arange(3)[xp.array([False, True, False])] ** -3
xp.power(xp.arange(3), -3, where=xp.zeros(3, bool), out=xp.ones(3, int))
xp.power(xp.arange(3), -3, where=xp.array([False, True, False]), out=xp.ones(3, int))
xp.power(xp.arange(3), xp.array([2, -1, 3]), where=xp.array([True, False, True]), out=xp.ones(3, int))
xp.power(xp.arange(3), xp.array([2, -1, 3]), where=xp.array([False, True, True]), out=xp.ones(3, int))
xp.power(xp.arange(3), xp.array([2]), where=xp.array([[False], [True]]), out=xp.ones((2, 3), int))
xp.add.at(xp.zeros(()), xp.zeros(0, int), 1)
xp.histogramdd(xp.asarray(np.array([[-3e38], [0], [3e38]], "f4")), 3)
xp.histogramdd(xp.zeros((1, 0)), 3)
xp.histogramdd(xp.zeros((0, 0)), 3)
xp.histogramdd(xp.zeros((0, 1)), 3)
xp.histogramdd([], 3)
xp.histogramdd([], [])
xp.zeros((1, 0), 'u1').view('i8')
xp.zeros((3, 0), 'i8')[:, ::2].view('u1')
xp.zeros((0, 3), 'u1').view('i8')
xp.zeros(9, 'u1')[1:1].view('i8')
xp.insert(xp.zeros(0), xp.array([0, -1]), 1)
xp.insert(xp.zeros(0), [0, -1], 1)
xp.insert(xp.zeros(0), [0, 0], 1)
xp.insert(xp.arange(2), xp.array([-3, 2]), 9)
xp.insert(xp.arange(3), [-4, 3], 9)
xp.insert(xp.arange(2), xp.array([-4, 1]), 9)
xp.insert(xp.arange(2), [-4, 1], 9)
xp.insert(xp.arange(2), [-3, 0], 9)
# values that are converted, or not
xp.putmask(xp.arange(3), xp.ones(3, bool), np.float64(3.5))
xp.putmask(xp.arange(3), xp.ones(3, bool), xp.ones(2).sum())
xp.putmask(xp.arange(3), xp.ones(3, bool), xp.array([1.5]))
xp.putmask(xp.arange(3), xp.ones(3, bool), xp.array([1j]).sum())
xp.place(xp.arange(3), xp.ones(3, bool), xp.ones(2).sum())
xp.place(xp.arange(3), xp.ones(3, bool), xp.array([1.5]))
xp.place(xp.arange(3), xp.ones(3, bool), xp.array([1j]).sum())
xp.put_along_axis(xp.arange(3), xp.array([1]), 1j, 0)
xp.put_along_axis(xp.arange(3), xp.array([1]), 2**70, 0)
xp.put_along_axis(xp.arange(3), xp.array([1]), 2.5, 0)
xp.put_along_axis(xp.arange(3), xp.array([1]), [2.5], 0)
xp.put_along_axis(xp.arange(3), xp.array([1]), xp.array([2.5]), 0)
# flags and shapes
MATRIX.sum(keepdims=None)
MATRIX.sum(keepdims=[])
MATRIX.sum(keepdims=0)
MATRIX.argmax(0, keepdims='x')
xp.argmin(MATRIX, keepdims=None)
MATRIX.std(out=xp.zeros((), int))
xp.nanstd(MATRIX, where=1)
xp.nanmean(SOME, 1, where=[True, True, False])
xp.size(MATRIX, axis=[0])
xp.size(MATRIX, axis=())
xp.size(MATRIX, axis=(0, 1))
xp.size(MATRIX, axis=(0, 0))
xp.size(xp.array(3), axis=0)
xp.size(MATRIX, 2)
xp.ones_like(FORTRAN, order=None)
xp.zeros_like(FORTRAN, order='c')
xp.full_like(TURNED, 2, order='k')
MATRIX.ravel(order=b"C")
MATRIX.flatten(order=b"f")
MATRIX.ravel(order=b"X")
MATRIX.item(xp.array(2))
MATRIX.item(xp.array(2), np.int8(1))
xp.array([4]).item(())
MATRIX.item((0, 1))
MATRIX.item((0, 1, 2))
# numbers and extents out of range
xp.tri(-1)
xp.tri(2.5)
xp.tri(2, -1, 1)
xp.tri(2, 3, 1.5)
xp.tri(2, 3, -1.5)
xp.tri(np.int8(3), np.int8(2), np.int8(1), dtype='i4')
xp.tri('a')
xp.tri(2, 3, 'a')
xp.tri(2, 3, None)
xp.tril(MATRIX, 1.5)
xp.triu(MATRIX, 0.5)
xp.triu(MATRIX, '1')
xp.triu_indices(-2)
xp.tril_indices(2.0)
xp.triu_indices(3, np.int8(1))
xp.triu_indices(3, xp.array(1))
xp.diag(xp.array([1, 2]), 1.5)
xp.diag(xp.array([1, 2]), np.int8(1))
xp.vander([1, 2], -1)
xp.vander([1, 2], 0)
xp.hanning(-1)
xp.kaiser(0, 1)
xp.linspace(0, 1, -1)
xp.linspace(0, 1, 0)
xp.linspace(0, 1, 2.0)
xp.linspace(0, 1, 1, endpoint=False)
xp.indices((2, -1))
xp.full(-1, 2)
xp.arange(5, 0)
xp.arange(0, 5, -1)
xp.arange(0, 5, 0)
xp.diag_indices(-1)
xp.mask_indices(-1, np.triu)
xp.bartlett(1)
xp.tile(MATRIX, -1)
xp.tile(MATRIX, 0)
xp.repeat(MATRIX, -1)
xp.resize(MATRIX, -1)
xp.resize(MATRIX, (0, 2))
xp.unpackbits(xp.array([1], 'u1'), count=-1)
xp.unpackbits(xp.array([1], 'u1'), count=20)
xp.bincount(xp.array([1, 2]), minlength=-1)
xp.bincount(xp.zeros(0, int))
xp.bincount(xp.zeros(0, int), minlength=2)
xp.bincount(xp.zeros(0))
xp.histogram(MATRIX, 0)
xp.histogram(MATRIX, -1)
xp.histogram(MATRIX, 2.0)
xp.histogram(MATRIX, [1])
xp.histogram(MATRIX, [])
xp.array_split(xp.arange(3), 0)
xp.array_split(xp.arange(3), -1)
xp.split(xp.arange(4), 3)
xp.split(xp.arange(4), 2.0)
xp.split(xp.arange(4), [])
xp.rot90(MATRIX, 1.0)
xp.rot90(MATRIX, -5)
xp.roll(MATRIX, 1.5)
xp.roll(MATRIX, -100)
xp.diff(MATRIX, -1)
xp.diff(MATRIX, 9)
xp.diff(xp.array(1))
xp.trapezoid(xp.zeros(0))
xp.gradient(xp.zeros(1))
xp.percentile(MATRIX, 101)
xp.percentile(MATRIX, [])
xp.quantile(MATRIX, -0.1)
xp.quantile(MATRIX, np.nan)
xp.partition(MATRIX, 9)
xp.partition(MATRIX, 1.0)
xp.expand_dims(MATRIX, (0, 0))
xp.expand_dims(MATRIX, 5)
xp.squeeze(MATRIX, 0)
xp.moveaxis(MATRIX, 0, 5)
xp.swapaxes(MATRIX, 0, 5)
xp.transpose(MATRIX, (0, 0))
xp.transpose(MATRIX, (0,))
xp.broadcast_to(MATRIX, (2, 4))
xp.broadcast_to(MATRIX, -1)
xp.stack([])
xp.concatenate([])
xp.stack([MATRIX, MATRIX[0]])
xp.concatenate((MATRIX, MATRIX[0]))
xp.hstack(())
xp.meshgrid()
xp.meshgrid(MATRIX)
xp.meshgrid([1, 2], [3], indexing='bad')
xp.searchsorted(MATRIX, 1)
xp.searchsorted([1, 2], 1, side='bad')
xp.insert(MATRIX, 9, 1, 0)
xp.delete(MATRIX, 9, 0)
xp.take(MATRIX, 9)
xp.take(xp.zeros(0), 0)
xp.interp([1.], [], [])
xp.cov(xp.zeros(0))
xp.corrcoef(xp.array([1, 2], 'i1'))
xp.cov(xp.array([[1, 2, 3], [3, 1, 2]], 'i1'), xp.array([1, 2, 4], 'i1'))
xp.cov(xp.array([[1, 2, 3], [3, 1, 2]], 'i1'), fweights=[1, 2, 1], aweights=[1, 2, 1])
xp.cov(xp.array([[1, 2, 3], [3, 1, 2]], 'i1'), dtype='f4')
xp.cov(xp.array([[1, 2, 3], [3, 1, 2]], 'i1'), dtype='i1')
xp.corrcoef(xp.array([[1, 2, 3], [3, 1, 2]], 'i1'), dtype='i1')
xp.cov(xp.array(3))
xp.median(MATRIX, axis=(0, 0))
xp.median(xp.array([1j, complex(np.nan, 0), 2, 3], 'c8'))
xp.percentile(xp.arange(5.), 50, overwrite_input=True)
xp.percentile(xp.arange(5.), 50, method='bad')
# products with numbers, which have no axes
xp.arange(4, dtype='i1').reshape(2, 2).__imatmul__(300)
xp.arange(4, dtype='u1').reshape(2, 2).__imatmul__(1)
xp.arange(4, dtype='u1').reshape(2, 2).__imatmul__(1.5)
MATRIX @ 10**30
10**30 @ MATRIX
MATRIX @ np.float64(2)
MATRIX @ None
xp.vecdot(MATRIX, 3)
# bits of 0-d arrays
xp.packbits(xp.array(3), axis=0)
xp.packbits(xp.array(3), axis=1)
xp.unpackbits(xp.array(3, 'u1'), axis=-2)
# orders of ufuncs
xp.add(MATRIX, 1, order='Q')
xp.add(MATRIX, 1, order=3)
xp.add(MATRIX, 1, order=None)
xp.sqrt(FORTRAN, order='f')
xp.matmul(MATRIX, MATRIX.T, order='')
xp.matmul(MATRIX, FORTRAN.T, order='F')
# axes of tensordot
xp.tensordot(MATRIX, MATRIX, ([0], [5]))
xp.tensordot(MATRIX, MATRIX, ([5, 0], [0, 0]))
xp.tensordot(MATRIX, MATRIX, ([0, 1], [1, 5]))
xp.tensordot(MATRIX, MATRIX, ([0, 1], [0, 5]))
xp.tensordot(MATRIX, MATRIX, ([0, 0], [0, 0]))
xp.tensordot(MATRIX, MATRIX, ([0, 1], [0]))
xp.tensordot(MATRIX, xp.array(3), 1)
xp.tensordot(MATRIX, MATRIX, 3)
xp.tensordot(MATRIX, MATRIX, -1)
"""
SYSTEMATIC = {
    "averages of nothing": [
        f"xp.average(xp.zeros({shape}), {axis}, weights={weights}, returned=True)"
        for shape in ("(0, 0)", "(0, 3)")
        for axis in ("None", "0", "-1")
        for weights in ("None", f"np.ones({shape})")
    ],
    "reductions of nothing": [
        f"xp.{name}(xp.zeros({shape}), {axis})"
        for name in ("max", "ptp", "fmin.reduce", "argmin", "nanmax", "subtract.reduce", "sum")
        for shape in ("(0, 0)", "(0, 3)", "(0, 1, 0)")
        for axis in ("0", "1", "-1", "(0, 1)", "None")
    ],
    "axes of 0-d arrays": [
        f"xp.{name}(xp.array(3.), axis={axis})"
        for name in ("sum", "mean", "std", "var", "max", "cumsum", "argmax", "median", "ptp", "nanmean", "nanvar")
        for axis in ("None", "0", "-1", "1", "(0,)")
    ],
    "flags of reductions": [
        f"MATRIX.{name}({given})"
        for name in ("sum", "any", "max")
        for given in (
            *("axis=True", "axis=(True,)", "axis=1.0", "axis='0'", "axis=[0]", "axis=np.int64(0)", "axis=(0, 0)"),
            *("0, keepdims=1", "0, keepdims=None", "0, keepdims='x'", "0, keepdims=[]", "0, keepdims=2.5"),
            *("out=(xp.zeros((), 'f4'),)", "out=[0]", "out=3", "out=xp.zeros(2, 'f4')"),
        )
    ],
    "orders of indices": [
        f"xp.ravel_multi_index((xp.array([1]), xp.array([1])), (2, 3), order={order})"
        for order in ("'C'", "'F'", "'c'", "'f'", "None", "'A'", "'K'", "'bad'", "1")
    ],
    "bins": [
        f"xp.digitize(xp.array([1., 2, np.nan]), np.array({edges}), right={right})"
        for edges in ("[0, 1, np.nan]", "[np.nan, 1, 0]", "[np.nan]", "[np.nan, np.nan]", "[1, 1, 0.]", "[1., 1]")
        for right in (True, False)
    ],
    "lists that have more axes than what is set": [
        f"xp.zeros({shape}).__setitem__({key}, {value})"
        for shape in ("4", "(4, 3)", "()")
        for key in ("...", "slice(2)", "0", "[0, 1]", "True", "(..., 0)")
        for value in ("[[1]]", "[[1, 2]]", "((1, 2, 3),)", "[[[1, 2, 3]]]", "[xp.ones(3)]", "xp.ones((1, 1, 3))", "[]")
    ],
}


def _subjects() -> dict[str, list[str]]:
    """The calls of the table by the line that stands above them, and those that are made."""
    found: dict[str, list[str]] = {}
    for line in TABLE.strip().splitlines():
        if line.startswith("# "):
            calls = found[line[2:]] = []
        else:
            calls.append(line)
    return found | SYSTEMATIC


CALLS = _subjects()


@pytest.mark.parametrize("subject", CALLS)
def test_arguments(subject: str) -> None:
    found = differences(CALLS[subject], INPUTS)
    assert not found, listed(found)
