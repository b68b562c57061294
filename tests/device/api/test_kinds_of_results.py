"""A number where NumPy gives a scalar, an array where it gives one, at the first call and at later ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clarray
from clarray._core.elements import are_scalars_default

# Of x, a vector of five float64.
CALLS = """
xp.linalg.cond(x[:, None] * x + xp.eye(5), None)
xp.linalg.cond(x[:, None] * x + xp.eye(5), 1)
xp.linalg.cond(x[:, None] * x + xp.eye(5), -1)
xp.linalg.cond(x[:, None] * x + xp.eye(5), 2)
xp.linalg.cond(x[:, None] * x + xp.eye(5), -2)
xp.linalg.cond(x[:, None] * x + xp.eye(5), xp.inf)
xp.linalg.cond(x[:, None] * x + xp.eye(5), "fro")
xp.linalg.cond(x[:, None] * x + xp.eye(5), "nuc")
(x[:, None] * x).trace()
(x[:, None] * x)[1, xp.asarray(2)]
-x[1]
-xp.asarray(2.0)
1 - xp.array(1.5)
2 ** x.max()
abs(xp.array(1.5))
divmod(x.max(), 2)[0]
divmod(xp.array(1.5), 1)[0]
x @ x
x.any()
x.argmax()
x.dot(x)
x.max() ** 2
x.max().T
x.max().any()
x.max().argmax()
x.max().astype("f4")
x.max().byteswap()
x.max().clip(0, 1)
x.max().conj()
x.max().copy()
x.max().cumsum()
x.max().flat[0]
x.max().item()
x.max().mean()
x.max().ravel()
x.max().real
x.max().reshape(())
x.max().round()
x.max().squeeze()
x.max().sum()
x.max().take(0)
x.max().transpose()
x.max().var()
x.max().view("i8")
x.max()[()]
x.max()[...]
x.prod()
x.sum(out=xp.array(0.0))
x.take(1)
x.take(xp.array(1))
x.var()
x[1] + x.max()
x[:1].squeeze()
x[xp.asarray(1)]
xp.add(1, 2, out=xp.array(0))
xp.add.accumulate(x)[0]
xp.add.outer(1.0, 2.0)
xp.add.outer(x.max(), 2.0)
xp.add.reduce(x)
xp.add.reduceat(x, [0])[0]
xp.all(x)
xp.all(xp.array(1))
xp.allclose(x, x)
xp.angle(x.max())
xp.angle(xp.array(1j))
xp.argmax(xp.array(1.0))
xp.argsort(x[:1]).sum()
xp.array(0) * 1
xp.array(1.0).T
xp.array(1.0).astype("f4")
xp.array(1.0).conj()
xp.array(1.0).copy()
xp.array(1.0).cumsum()
xp.array(1.0).max()
xp.array(1.0).real
xp.array(1.0).round()
xp.array(1.0).sum()
xp.array(1.0).view("i8")
xp.array(1.5) ** 2
xp.array(1.5) > 1
xp.array(1j).real
xp.array([1.0]).reshape(())
xp.array(x.max())
xp.array_equal(x, x)
xp.asanyarray(x.max())
xp.asarray(2.0) + 1
xp.asarray(3.0)[()]
xp.asarray(3.0)[xp.asarray(True)][0]
xp.asarray(x.max())
xp.asarray(x[1])
xp.ascontiguousarray(x.max())
xp.atleast_1d(1.0)[0]
xp.atleast_1d(x.max())[0]
xp.average(x)
xp.average(x, returned=True)[1]
xp.average(x, weights=x)
xp.average(x, weights=x, returned=True)[1]
xp.bincount(xp.asarray([1, 2]))[1]
xp.bitwise_count(xp.array(4))
xp.block(x.max())
xp.block(x[1])
xp.broadcast_arrays(1.0, 2.0)[0]
xp.broadcast_to(x.max(), ())
xp.choose(1, [x.max(), x.min()])
xp.choose(xp.array(1), [1, 2])
xp.clip(x.max(), 0, 1)
xp.clip(xp.array(1.0), 0, 1)
xp.compress([0, 1], x)[0]
xp.conj(x.max())
xp.conj(xp.array(1.0))
xp.convolve(x, x)[0]
xp.copy(x.max())
xp.corrcoef(x)
xp.count_nonzero(x)
xp.count_nonzero(xp.array(1))
xp.cov(x)
xp.cumsum(x.max())
xp.cumulative_sum(x)[0]
xp.degrees(x.max())
xp.diagonal((x[:, None] * x + 1))[0]
xp.diff(x)[0]
xp.digitize(1.0, x)
xp.digitize(xp.array(1.0), x)
xp.dot(x, x)
xp.dot(x.max(), x.min())
xp.dot(xp.array(2.0), xp.array(3.0))
xp.einsum("i,i", x, x)
xp.einsum("i,i->", x, x)
xp.einsum("ii", (x[:, None] * x + 1))
xp.expand_dims(x.max(), 0)[0]
xp.extract(x > 0, x)[0]
xp.flatnonzero(x)[0]
xp.flip(x)[0]
xp.frexp(x.max())[1]
xp.fromiter([1.0], float)[0]
xp.full((), 2.0)
xp.full((), x.max())
xp.full_like(x.max(), 1)
xp.gcd(xp.array(4), 6)
xp.gradient(x)[0]
xp.heaviside(x.max(), 0.0)
xp.heaviside(xp.array(1.0), 1.0)
xp.histogram(x, 3)[0][0]
xp.i0(x.max())
xp.i0(xp.array(1.0))
xp.imag(x.max())
xp.imag(xp.array(1.0))
xp.inner(2.0, xp.array(3.0))
xp.inner(x, x)
xp.interp(1.5, x, x)
xp.interp(xp.array(1.0), x, x)
xp.isclose(x.max(), 4.0)
xp.isclose(xp.array(1.0), 1.0)
xp.iscomplex(x.max())
xp.isin(xp.array(3.0), x)
xp.isnan(x.max())
xp.isnan(xp.array(1.0))
xp.isreal(x.max())
xp.kron(x.max(), x.min())
xp.ldexp(x.max(), 2)
xp.ldexp(xp.array(1.0), 2)
xp.linalg.cond((x[:, None] * x + 1) + xp.eye(5))
xp.linalg.cond(x[:, None] * x + xp.eye(5))
xp.linalg.cross(x[:3], x[1:4])[0]
xp.linalg.det((x[:, None] * x + 1))
xp.linalg.det(x[:, None] * x)
xp.linalg.lstsq((x[:, None] * x + 1), x, rcond=None)[2]
xp.linalg.matrix_rank(x)
xp.linalg.matrix_rank(x[:, None] * x)
xp.linalg.multi_dot([x, (x[:, None] * x + 1), x])
xp.linalg.norm(x)
xp.linalg.norm(x, 0)
xp.linalg.norm(x, 1)
xp.linalg.norm(x, 2)
xp.linalg.norm(x, 3)
xp.linalg.norm(x, None)
xp.linalg.norm(x, xp.inf)
xp.linalg.norm(x[:, None] * x + 1, "fro")
xp.linalg.norm(x[:, None] * x + 1, "nuc")
xp.linalg.norm(x[:, None] * x + 1, -1)
xp.linalg.norm(x[:, None] * x + 1, -2)
xp.linalg.norm(x[:, None] * x + 1, -xp.inf)
xp.linalg.norm(x[:, None] * x + 1, 1)
xp.linalg.norm(x[:, None] * x + 1, 2)
xp.linalg.norm(x[:, None] * x + 1, None)
xp.linalg.norm(x[:, None] * x + 1, xp.inf)
xp.linalg.slogdet((x[:, None] * x + 1))[0]
xp.linalg.slogdet(x[:, None] * x + xp.eye(5))[1]
xp.linalg.solve((x[:, None] * x + 1) + xp.eye(5), x)[0]
xp.linalg.trace((x[:, None] * x + 1))
xp.max(x.max())
xp.maximum.reduce(x)
xp.mean(x.max())
xp.mean(xp.array(1.0))
xp.median(x)
xp.median(xp.array(1.0))
xp.minimum(x.max(), 1)
xp.minimum(x.max(), x.min())
xp.modf(x.max())[0]
xp.modf(xp.array(1.5))[0]
xp.moveaxis(x.max(), (), ())
xp.nan_to_num(x.max())
xp.nan_to_num(xp.array(1.0))
xp.nanargmax(x)
xp.nanmax(x)
xp.nanmedian(x)
xp.nanpercentile(x, 50)
xp.nanquantile(x, 0.2)
xp.nansum(x)
xp.nanvar(x)
xp.ones_like(x.max())
xp.outer(x.max(), x.min())
xp.partition(x, 2)[2]
xp.percentile(x, 50)
xp.percentile(x, x.max())
xp.poly1d([1.0, 2])(2.0)
xp.polyfit(x, x, 1)[0]
xp.polyval(x, 2.0)
xp.polyval(x, x.max())
xp.polyval(x, xp.array(2.0))
xp.ptp(x)
xp.ptp(xp.array(1.0))
xp.quantile(x, 0.5)
xp.quantile(x, xp.array(0.5))
xp.random.choice(x)
xp.random.default_rng(1).integers(5)
xp.random.default_rng(1).normal()
xp.random.rand()
xp.random.randint(5)
xp.ravel(x.max())[0]
xp.real(x.max())
xp.real_if_close(x.max())
xp.repeat(x.max(), 2)[0]
xp.reshape(x.max(), ())
xp.round(x.max())
xp.round(xp.array(1.0))
xp.round(xp.array(True))
xp.array(True).round()
xp.round(xp.array(3))
xp.round(xp.array(1j))
xp.around(xp.array(True)[()])
xp.searchsorted(x, 1.0)
xp.searchsorted(x, xp.array(1.0))
xp.select([x.max() > 0], [x.min()])
xp.sinc(x.max())
xp.sinc(xp.array(1.0))
xp.spacing(x.max())
xp.sqrt(x.max())
xp.squeeze(x.max())
xp.squeeze(x[1:2])
xp.squeeze(xp.array(1.0))
xp.std(x)
xp.std(x.max())
xp.sum(x.max())
xp.take(x, 1)
xp.take(x, xp.asarray(1))
xp.tensordot(x, x, 1)
xp.trace(x[:, None] * x)
xp.transpose(x.max())
xp.trapezoid(x)
xp.trapezoid(x, x)
xp.tri(3)[0, 0]
xp.trunc(x.max())
xp.trunc(xp.array(1.0))
xp.unique(x)[0]
xp.unique(x, return_counts=True)[1][0]
xp.unwrap(x)[0]
xp.var(xp.array(1.0))
xp.vdot((x[:, None] * x + 1), (x[:, None] * x + 1))
xp.vdot(x, x)
xp.vecdot(x, x)
xp.where(True, x.max(), 0.0)
xp.where(x.max() > 0, 1, 2)
xp.where(xp.array(True), 1.0, 2.0)
xp.zeros(())
xp.zeros_like(x.max())
~xp.array(True)
"""


def is_number(value: Any) -> bool:
    """Return whether a result is a number; one of no array is of Python."""
    return isinstance(value, np.generic | int | float)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_result_is_a_number_where_numpys_is(call: str) -> None:
    code = compile(call, "", "eval")
    host = np.arange(5.0)
    expected = eval(code, {"xp": np, "x": host})
    for _ in range(4):
        found = eval(code, {"xp": clarray, "x": clarray.array(host)})
        assert is_number(found) == is_number(expected)
        if isinstance(expected, np.ndarray | np.generic) and "random" not in call:
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)


def test_elements_may_be_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clarray.config, "elements", "arrays")
    x = clarray.array([1.5, 2.5])
    for _ in range(4):
        for number in (x[1], x[np.int64(1)], next(iter(x)), x.flat[1], (x + 0)[1], x.max()):
            assert type(number) is clarray.DeviceArray
            assert isinstance(number, float)
            assert number in (1.5, 2.5)
    with pytest.raises(ValueError, match="elements must be one of 'scalars', 'arrays', not 'array'"):
        clarray.config.elements = "array"


@pytest.mark.parametrize(
    ("setting", "elements"), [("1", "arrays"), ('["clarray"]', "arrays"), ("0", "scalars"), ("", "scalars")]
)
def test_scipys_setting_makes_elements_arrays(setting: str, elements: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLARRAY_ELEMENTS", raising=False)
    monkeypatch.setenv("SCIPY_ARRAY_API", setting)
    assert are_scalars_default() is (elements == "scalars")
