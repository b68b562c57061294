"""xarray over device arrays: the same code over NumPy's arrays gives the same numbers, dims and coordinates."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

pd = pytest.importorskip("pandas")
xr = pytest.importorskip("xarray")

VALUES = (np.arange(24, dtype="float32") * 7 % 24).reshape(2, 3, 4)
PARITY = ["even", "odd", "even", "odd"]


def example(xp):
    return xr.DataArray(
        xp.array(VALUES),
        dims=("t", "y", "x"),
        coords={"t": [10, 20], "y": list("abc"), "x": np.arange(4) * 0.5},
        name="height",
    )


def with_gaps(d):
    return d.where(d > 5)


def parity(d):
    return d.assign_coords(parity=("x", PARITY)).groupby("parity")


def days(d):
    hours = pd.date_range("2026-01-01", periods=24, freq="6h")
    return xr.DataArray(d.data.reshape(-1), dims="time", coords={"time": hours})


def written(d):
    d = d.copy()
    d[{"x": 1}] = 0
    d.loc[{"y": "b"}] = d.loc[{"y": "c"}] * 2
    return d


CASES: dict[str, Callable] = {
    # arithmetic and comparison
    "scalar": lambda d: 2 * d + 1,
    "broadcast": lambda d: d - d.isel(t=0),
    "aligned": lambda d: d * d.isel(x=slice(1, 3)),
    "ufunc": lambda d: np.hypot(np.sin(d), d),
    "comparison": lambda d: (d > 5) & (d != 7),
    "expression": lambda d: ((d - d.mean()) / d.std()).max(),
    "apply_ufunc": lambda d: xr.apply_ufunc(lambda a: a.mean(-1), d, input_core_dims=[["x"]]),
    "matmul": lambda d: d.isel(t=0) @ d.isel(t=1),
    "dot": lambda d: xr.dot(d, d, dim="x"),
    "clip": lambda d: d.clip(3, 9),
    "round": lambda d: (d / 3).round(2),
    "astype": lambda d: d.astype("int16"),
    # reductions
    "sum": lambda d: d.sum("x"),
    "mean": lambda d: d.mean(["t", "x"]),
    "var": lambda d: d.var("y", ddof=1),
    "max": lambda d: d.max(),
    "argmin": lambda d: d.argmin("x"),
    "any": lambda d: (d > 20).any("x"),
    "count": lambda d: with_gaps(d).count("x"),
    "median": lambda d: d.median("x"),
    "quantile": lambda d: d.quantile([0.25, 0.5], "x"),
    "cumsum": lambda d: d.cumsum("x"),
    "cumprod": lambda d: (d / 8).cumprod("x"),
    "corr": lambda d: xr.corr(d, d**2, "x"),
    "weighted": lambda d: d.weighted(xr.DataArray([1.0, 2, 3, 4], dims="x")).mean("x"),
    # gaps
    "nan_mean": lambda d: with_gaps(d).mean("x"),
    "nan_std": lambda d: with_gaps(d).std("x"),
    "nan_max": lambda d: with_gaps(d).max("x"),
    "fillna": lambda d: with_gaps(d).fillna(7.0),
    "isnull": lambda d: with_gaps(d).isnull(),
    "combine_first": lambda d: with_gaps(d).combine_first(-d),
    "dropna": lambda d: with_gaps(d).dropna("x", how="all"),
    "where": lambda d: d.where(d > 5, 0),
    "where_drop": lambda d: d.where(d.x > 0.5, drop=True),
    "xr.where": lambda d: xr.where(d > 4, d, -d),
    # indexing
    "isel": lambda d: d.isel(x=slice(1, 3), t=-1),
    "isel_list": lambda d: d.isel(x=[0, 2], y=[2, 0, 0]),
    "isel_mask": lambda d: d.isel(x=np.array([True, False, True, True])),
    "sel": lambda d: d.sel(y="b"),
    "sel_nearest": lambda d: d.sel(x=0.6, method="nearest"),
    "sel_slice": lambda d: d.sel(x=slice(0.5, 1)),
    "written": written,
    # shapes
    "transpose": lambda d: d.transpose("x", "y", "t"),
    "stack": lambda d: d.stack(z=("t", "y")),
    "unstack": lambda d: d.stack(z=("t", "y")).unstack("z"),
    "expand_dims": lambda d: d.expand_dims("k"),
    "concat": lambda d: xr.concat([d, d + 1], "t"),
    "concat_new": lambda d: xr.concat([d, d + 1], "new"),
    "combine": lambda d: xr.combine_by_coords([d.isel(t=[1]).to_dataset(), d.isel(t=[0]).to_dataset()]).height,
    "merge": lambda d: xr.merge([d, (d + 1).rename("depth")]).depth,
    "reindex": lambda d: d.reindex(x=[0, 0.5, 7.0]),
    "sortby": lambda d: d.sortby("x", ascending=False),
    "roll": lambda d: d.roll(x=1),
    "shift": lambda d: d.shift(x=1),
    "diff": lambda d: d.diff("x"),
    "pad": lambda d: d.pad(x=1, mode="constant", constant_values=0),
    "pad_edge": lambda d: d.pad(x=(1, 2), mode="edge"),
    # groups and windows
    "groupby": lambda d: parity(d).mean(),
    "groupby_arithmetic": lambda d: parity(d) - parity(d).mean(),
    "groupby_map": lambda d: parity(d).map(lambda group: group - group.min("x")),
    "groupby_bins": lambda d: d.groupby_bins("x", [-1, 0.6, 2]).sum(),
    "resample": lambda d: days(d).resample(time="1D").mean(),
    "coarsen": lambda d: d.coarsen(x=2).mean(),
    "rolling": lambda d: d.rolling(x=3, center=True, min_periods=1).mean(),
    # calculus
    "differentiate": lambda d: d.differentiate("x"),
    "integrate": lambda d: d.integrate("x"),
    "polyfit": lambda d: d.polyfit("x", 1).polyfit_coefficients,
    "polyval": lambda d: xr.polyval(d, xr.DataArray([1.0, 2.0], dims="degree", coords={"degree": [0, 1]})),
    # datasets, pickling
    "dataset": lambda d: (xr.Dataset({"a": d, "b": d * 2}).mean("x") + 1).b,
    "pickle": lambda d: pickle.loads(pickle.dumps(d)),
    "copy": lambda d: d.copy(),
    "full_like": lambda d: xr.full_like(d, 3.0),
}


# xarray takes its own float64 beside the data: coordinates, weights, what fills gaps.
# xarray converts what answers as NumPy's scalar, a full reduction, to an ndarray.
ON_THE_HOST = {"expression", "matmul", "max", "resample"}

FLOAT64 = {"quantile", "weighted", "fillna", "rolling", "differentiate", "integrate", "polyfit", "polyval"}


@pytest.mark.parametrize("name", CASES)
def test_as_over_numpy(name: str) -> None:
    if name in FLOAT64 and not current_device().capabilities.fp64:
        with pytest.raises(TypeError, match="float64"):
            CASES[name](example(clarray))
        return
    expected = CASES[name](example(np))
    found = CASES[name](example(clarray))
    if name not in ON_THE_HOST:
        assert isinstance(found.data, clarray.DeviceArray)
    assert found.dtype == expected.dtype
    xr.testing.assert_allclose(found.as_numpy(), expected)


def test_comparisons_of_arrays() -> None:
    d = example(clarray)
    assert d.equals(d + 0)
    assert not d.identical(d + 1)
    xr.testing.assert_equal(d, d.copy())
    xr.testing.assert_allclose(d, d * (1 + 1e-6))
    with pytest.raises(AssertionError):
        xr.testing.assert_equal(d, d + 1)


def test_scalars() -> None:
    total = example(clarray).sum()
    assert float(total) == total.item() == float(f"{total:.1f}") == VALUES.sum()


@pytest.mark.parametrize("values", [VALUES, VALUES / 7, VALUES > 7, VALUES * 1j, np.arange(1000), VALUES[:0]])
def test_printing_is_as_over_numpy(values: np.ndarray) -> None:
    ours, theirs = (xr.DataArray(xp.array(values), name="height") for xp in (clarray, np))
    assert repr(ours) == repr(theirs)
    assert repr(ours.to_dataset()) == repr(theirs.to_dataset())
    assert ours._repr_html_()


def test_printing_copies_what_it_shows() -> None:
    large = xr.DataArray(clarray.zeros((1000, 1000), dtype="float32"), name="zeros").to_dataset()
    with clarray.profile() as record:
        assert "0.0 0.0 ... 0.0" in repr(large)
    assert record.bytes < 1000


def test_what_xarray_refuses_for_arrays_of_the_standard() -> None:
    """docs/reference/libraries.md says so: xarray indexes by points in arrays of dask and NumPy only."""
    d = example(clarray)
    points = {"x": xr.DataArray([0, 2], dims="p"), "y": xr.DataArray([1, 2], dims="p")}
    with pytest.raises(TypeError, match="Vectorized indexing is not supported"):
        d.isel(points)
    by_points = xr.apply_ufunc(
        lambda a: a[:, [1, 2], [0, 2]], d, input_core_dims=[["y", "x"]], output_core_dims=[["p"]]
    )
    np.testing.assert_array_equal(by_points.data, example(np).isel(points).transpose("t", "p").data)
