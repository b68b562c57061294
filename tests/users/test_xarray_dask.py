"""xarray over Dask over device arrays: NumPy's values, and chunks that stay on the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

xr = pytest.importorskip("xarray")
da = pytest.importorskip("dask.array")
chunk_types = pytest.importorskip("dask.array.chunk_types")

VALUES = (np.arange(96, dtype="float32") * 7 % 96).reshape(4, 6, 4)
PARITY = ["even", "odd", "even", "odd"]


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    """Dask takes device arrays for chunks; flox, which groups in ndarrays only, is left out where it is installed."""
    chunk_types.register_chunk_type(clarray.DeviceArray)
    with xr.set_options(use_flox=False):
        yield


def example(xp) -> xr.DataArray:
    chunks = da.from_array(xp.array(VALUES), chunks=(2, 3, 4), asarray=False)
    coords = {"t": np.arange(4.0), "y": np.arange(6), "x": np.arange(4) * 0.5}
    return xr.DataArray(chunks, dims=("t", "y", "x"), coords=coords, name="height")


CASES: dict[str, Callable] = {
    "scalar": lambda d: 2 * d + 1,
    "broadcast": lambda d: d - d.isel(t=0),
    "ufunc": lambda d: np.hypot(np.sin(d), d),
    "comparison": lambda d: (d > 5) & (d != 7),
    "standardized": lambda d: (d - d.mean("t")) / d.std("t"),
    "sum": lambda d: d.sum("x"),
    "mean": lambda d: d.mean(),
    "max": lambda d: d.max("y"),
    "argmax": lambda d: d.argmax("t"),
    "nan_mean": lambda d: d.where(d > 5).mean("t"),
    "fillna": lambda d: d.where(d > 5).fillna(np.float32(7)),
    "where": lambda d: xr.where(d > 4, d, -d),
    "isel": lambda d: d.isel(x=slice(1, 3), t=[0, 2]),
    "sel": lambda d: d.sel(x=0.6, method="nearest"),
    "concat": lambda d: xr.concat([d, d + 1], "t"),
    "groupby": lambda d: d.assign_coords(parity=("x", PARITY)).groupby("parity").mean(),
    "coarsen": lambda d: d.coarsen(x=2).mean(),
    "rolling": lambda d: d.rolling(y=3, center=True).mean(),
    "cumsum": lambda d: d.cumsum("t"),
    "diff": lambda d: d.diff("y"),
    "shift": lambda d: d.shift(x=1),
    "dot": lambda d: xr.dot(d, d, dim="y"),
    "transpose": lambda d: d.transpose("x", "y", "t"),
    "stack": lambda d: d.stack(z=("t", "y")),
    "apply_ufunc": lambda d: xr.apply_ufunc(clarray.sqrt, d, dask="parallelized", output_dtypes=[d.dtype]),
    "map_blocks": lambda d: d.map_blocks(lambda block: block * 2 + 1),
}
# The example's own arithmetic is float32; xarray's windows fill and divide in float64.
FLOAT64 = {"rolling"}


@pytest.mark.parametrize("name", CASES)
def test_as_over_numpy(name: str) -> None:
    if name in FLOAT64 and not current_device().capabilities.fp64:
        pytest.skip("xarray fills windows in float64, which the device has not")
    ours, theirs = CASES[name](example(clarray)), CASES[name](example(np))
    assert isinstance(ours.data, da.Array)
    found, expected = ours.compute(), theirs.compute()
    assert isinstance(found.data, clarray.DeviceArray) or not found.ndim  # xarray converts numbers
    assert found.dtype == expected.dtype
    xr.testing.assert_allclose(found.as_numpy(), expected, rtol=1e-5)


LINES = {"x": {"x": [0.25, 1.0]}, "t": {"t": [0.5, 2.25]}}
GRID = {"x and t": {"x": [0.25], "t": [0.5]}}


@pytest.mark.parametrize(
    ("method", "places"),
    [
        *((method, places) for method in ("linear", "nearest") for places in (LINES | GRID).values()),
        *(("cubic", places) for places in LINES.values()),  # of a grid SciPy refuses ndarrays beside device arrays
    ],
)
def test_interp_is_scipys_on_the_host(method: str, places: dict[str, list[float]]) -> None:
    """docs/reference/libraries.md says so, and that a last step brings the chunks back."""
    pytest.importorskip("scipy.interpolate")
    made = example(clarray).interp(places, method=method)
    assert isinstance(made.compute().data, np.ndarray)
    found = made.copy(data=made.data.map_blocks(clarray.asarray, dtype=made.dtype)).compute()
    assert isinstance(found.data, clarray.DeviceArray)
    xr.testing.assert_allclose(found.as_numpy(), example(np).interp(places, method=method).compute(), rtol=1e-5)
