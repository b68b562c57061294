"""In which order the elements of a result lie: as NumPy's do, whatever the operands lie in."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import clarray

from ... import both_ways
from ..closeness import skip_without_float64

pytestmark = pytest.mark.usefixtures("quick_builds")

SHAPES = ((3, 4), (2, 3, 4))
# Of these, kernels compute as well what NumPy computes in their place. `test_small_calls` compares every layout.
IN_BOTH_WAYS = ("C", "F")


def layouts(xp: Any, shape: tuple[int, ...], dtype: str) -> dict[str, Any]:
    """The same numbers of this shape, in memory of every kind; and rows and columns that repeat."""
    host = (np.arange(np.prod(shape)) % 7 + 1).astype(dtype).reshape(shape)
    turned = np.ascontiguousarray(np.moveaxis(host, 0, -1))
    wide = np.ascontiguousarray(np.repeat(host, 2, -1))
    column = host[(slice(None),) + (slice(1),) * (len(shape) - 1)]
    return {
        "C": xp.array(host),
        "F": xp.array(host, order="F"),
        "turned": xp.moveaxis(xp.array(turned), -1, 0),
        "backwards": xp.array(np.asarray(host, order="F")[::-1].copy("K"))[::-1],
        "parts": xp.array(wide)[..., ::2],
        "rows": xp.broadcast_to(xp.array(host[(0,) * (len(shape) - 1)]), shape),
        "columns": xp.broadcast_to(xp.array(column), shape),
        "shared": xp.asarray(np.asfortranarray(host)),  # each operation is done at once
    }


# `x` lies in any way, `c` in C order, `f` in Fortran order, `r` are rows that repeat; `i` is `x` of integers.
# Where a call takes a copy of what it is given, or fills what is like it, repeated elements lie apart in it.
STATEMENTS = """
    x + c | x * f | x * r | x * r * f | (x + c) * f | x + x * 2 > 3 | xp.sin(x) | -i | i % 3 | i / 2 | divmod(i, 2)[1]
    ~i | xp.clip(x, f, r) | x.clip(2) | xp.isclose(x, 2) | xp.abs(x + 1j) | xp.angle(x + 1j) | (x + 1j).conj()
    x.imag | x.real * 2 | xp.isreal(x) | xp.isreal(x + 1j) | xp.iscomplex(x) | xp.sinc(x) | xp.fix(x)
    (x + 0).__iadd__(c) | xp.sin(x).__imul__(f) | (x * 2).__itruediv__(r) | (x + 1).__ipow__(c)
    (i + 1).__isub__(i.mT.mT)
    (x + f).__iadd__(x) | (x + 0).__iadd__(c).__imul__(f) + x | x.cumsum(0).__iadd__(c) | x.sum(0).__iadd__(c[0])
    xp.heaviside(x, 1) | xp.lib.scimath.sqrt(-x) | x.round() | x.round(2) | i.round() | i.round(1) | i.round(-1)
    (x + 1j).round() | (x + 1j).round(1) | xp.where(x > 2, x, 0) | xp.where(x > 2, c, f) | xp.where(f > 2, x, r)
    xp.triu(x) | xp.tril(x, -1) | xp.nan_to_num(x) | xp.select([x > 2], [c], 0)
    xp.select([x > 2, f > 1], [x.std(None), x], -1) | (i > 2).astype(int).choose([x, 1]) | x.sum(0) | x.sum(-1)
    i.sum(0) | x.sum(0, keepdims=True) | x.sum(0) * 2 + 1 | x.sum((0, -1)) | x[1:].sum(0) | (x > 2).sum(0) | x.max(0)
    x.prod(-1) | x.any(0) | x.all(-1) | x.argmax(0) | x.argmin(-1) | x.mean(0) | x.var(0) | x.std(-1) | xp.ptp(x, 0)
    xp.nanmax(x, 0) | xp.nansum(i, 0) | xp.average(x, 0) | xp.median(x, 0) | xp.linalg.norm(x, axis=0)
    xp.logaddexp.reduce(x, 0) | xp.sum(x, 0, where=c > 2) | xp.sum(c, 0, where=x > 2)
    xp.max(r, axis=0, initial=0, where=x > 2) | xp.var(f, 0, where=x > 1) | xp.trapezoid(x, axis=0)
    xp.apply_over_axes(xp.max, x, [0]) | x.max(0) - c.min(0) | (x - c).std(0) | (x * r).sum(0) | x.cumsum(0)
    x.cumprod(-1) | xp.diff(x, axis=0) | xp.gradient(x, axis=0) | xp.unwrap(x) | xp.sort(x, 0) | xp.argsort(x, -1)
    x @ c.mT | xp.matmul(f, x.mT) | xp.dot(f, x.mT) | xp.inner(x, f) | xp.tensordot(f, x, ((-1,), (-1,)))
    xp.vecdot(x, f) | xp.vecmat(x[..., 0], x) | xp.matvec(x, x[..., 0, :]) | xp.einsum('...ij,...ij->...i', x, x)
    xp.packbits(i.astype('u1'), axis=-1) | xp.packbits(i.astype('u1'), axis=0)
    xp.unpackbits(i.astype('u1'), axis=-1) | xp.tile(x, 1) | xp.tile(x, (1, 2)) | xp.repeat(x, 2, 0)
    xp.roll(x, 1, 0) | xp.pad(x, 1) | xp.rot90(x) + 1 | xp.concatenate((x, x), 0) | xp.stack([x, x])
    xp.block([x, x]) | xp.append(x, x, 0) | xp.resize(x, (3, 3)) | xp.piecewise(x, [x > 2], [1, 2])
    xp.real_if_close(x + 0j) | xp.kron(x, x) | xp.cross(x[..., :3], x[..., :3]) | xp.fft.fft(x, axis=0)
    xp.outer(x, x) | xp.partition(x, 1, 0) | xp.argpartition(x, 1, -1) | xp.digitize(x, [1, 2])
    xp.polyval([1, 2], c) | xp.modf(x)[0] | xp.frexp(x)[1] | i << 1 | xp.choose((i > 2).astype(int), [x, x])
    xp.vstack((x, x)) | xp.median(xp.expand_dims(x, 1), 1) | xp.sort_complex(xp.atleast_3d(x))
    x @ x[(0,) * (x.ndim - 1)] | c[(0,) * (x.ndim - 2)][:, 0] @ x | xp.dot(x, c.mT) | xp.sort(xp.expand_dims(x, 1), 1)
    x * xp.iscomplex(x) | x * xp.iscomplex(c) + x | (x + 1) * (xp.iscomplex(x) + (x > 0)) | x + xp.isreal(x)
    x + xp.expand_dims(x, 1)[:, :0].sum(1) | xp.where(xp.iscomplex(x), x, -x)
    x - (x + xp.expand_dims(x, 0)[:0].sum(0)) * 2
    xp.count_nonzero(x, 0) | i == 2**40 | i.astype('u1') > -1
    xp.count_nonzero(x, -1, keepdims=True) | xp.nansum(x, -1) | xp.nanprod(x, 1) | xp.nanmean(x, 1, keepdims=True)
    xp.nanvar(x, 1) | xp.nanstd(x, -1) | xp.nancumsum(x, 0) | xp.nancumprod(x, 1) | xp.quantile(x, 0.3, axis=0)
    xp.quantile(x, 0.5, axis=-1, method="lower") | xp.percentile(i, [20, 70], axis=1) | xp.nanquantile(x, 0.5, axis=0)
    xp.nanquantile(x, [0.1, 0.5], axis=1) | xp.nanpercentile(i, [20, 70], axis=0, keepdims=True)
    xp.add(x, f, order="C") | xp.add(x, f, order="F") | xp.add(x, f, order="A") | xp.add(x, 1, order="a")
    xp.negative(x, order="f") | xp.true_divide(i, 2, order="F") | xp.modf(x, order="F")[1]
    xp.add(x[..., :1], f, order="A") | xp.add(x, f, out=None, where=f > 2) | xp.add(x, f, out=None, where=c > 2)
    xp.add(x, 1, out=None, where=f[:1] > 2) | xp.add(x, 1, order="F", out=None, where=c > 2)
    xp.add(x, f, order="A", out=None, where=f > 2) | xp.add(x, f, order="A", out=None, where=c > 2)
    xp.add(x, f, order=None)
    xp.matmul(x, x.mT, order="F") | xp.matmul(x, f.mT, order="A") | xp.matmul(f, x.mT, order="C")
    xp.matmul(x[..., :1], x[..., :1, :], order="A") | xp.vecdot(x, f, order="F")
    xp.vecdot(x, f, keepdims=True, order="F")
    xp.add.outer(x, x, order="F") | xp.add(x, f, order="F") * c | (xp.add(x, f, order="F") + x).sum(0)
"""


@pytest.mark.parametrize(
    "statement", [s.strip() for line in STATEMENTS.split("\n") for s in line.split(" | ") if s.strip()]
)
def test_results_lie_as_numpys(statement: str) -> None:
    unlike = []
    for shape in SHAPES:
        sides = [[given(xp, shape) for given in (floats, integers)] for xp in (np, clarray)]
        for name in sides[0][0]:
            with nullcontext() if name in IN_BOTH_WAYS else both_ways.paused():
                theirs, ours = (steps(statement, xp, own, name) for xp, own in zip((np, clarray), sides, strict=True))
            if theirs != ours:
                unlike.append((name, shape, theirs, ours))
    assert not unlike


def floats(xp: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    return layouts(xp, shape, "float32")


def integers(xp: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    return layouts(xp, shape, "int32")


def steps(statement: str, xp: Any, given: list[dict[str, Any]], name: str) -> list[int]:
    """The strides of a result, along axes of more than one element."""
    values, whole = given
    names = {"xp": xp, "x": values[name], "i": whole[name], "c": values["C"], "f": values["F"], "r": values["rows"]}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            made = eval(statement, names)
        except TypeError as error:
            skip_without_float64(error)
            raise
    return [stride for stride, extent in zip(made.strides, made.shape, strict=True) if extent > 1]


def test_an_output_keeps_its_own_order() -> None:
    host = np.asfortranarray(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    x = clarray.array(host, order="F")
    for order in ("C", "F"):
        out = clarray.empty((3, 4), np.float32, order=order)
        x.sum(0, out=out)
        assert out.strides == np.empty((3, 4), np.float32, order=order).strides
        np.testing.assert_array_equal(out.get(), host.sum(0))
