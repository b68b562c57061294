"""Operations of every kind on two dask arrays, whatever their chunks are: each is compared with NumPy's chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
from dask.array import stats

SHAPE, CHUNKS = (24, 30), (7, 11)
VALUES = np.random.default_rng(5).normal(size=SHAPE)
WHOLE = np.random.default_rng(6).integers(0, 9, SHAPE)


def _assigned(x: Any, y: Any) -> Any:
    made = x.copy()
    made[made > 1] = 0
    made[3:5, ::2] = -1
    return made


def _rows_assigned(x: Any, y: Any) -> Any:
    made = x.copy()
    made[2:5] = y[:3]
    made[[1, 7]] = 9.0
    return made


def _definite(x: Any) -> Any:
    """A symmetric matrix of square blocks that is positive definite."""
    return (x @ x.T + da.diag(da.full_like(x[:, 0], 30))).rechunk(8)


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    # reductions and scans
    "sum": lambda x, y: x.sum(),
    "sum of an axis": lambda x, y: x.sum(axis=1),
    "sum of whole numbers": lambda x, y: y.sum(axis=0, keepdims=True),
    "mean": lambda x, y: x.mean(axis=0),
    "nanmean": lambda x, y: da.nanmean(da.where(x > 0, x, np.nan), axis=0),
    "std": lambda x, y: x.std(axis=0),
    "var of all": lambda x, y: x.var(ddof=1),
    "max": lambda x, y: x.max(axis=1),
    "argmin": lambda x, y: x.argmin(axis=1),
    "any": lambda x, y: (y == 4).any(axis=0),
    "count_nonzero": lambda x, y: da.count_nonzero(y > 3),
    "prod": lambda x, y: (x / 2).prod(axis=1),
    "cumsum": lambda x, y: x.cumsum(axis=0),
    "cumsum of an axis of many blocks": lambda x, y: da.cumsum(y, axis=1),
    "cumprod": lambda x, y: x.cumprod(axis=1),
    "diff": lambda x, y: da.diff(x, axis=1),
    # elementwise
    "chain": lambda x, y: ((x * 2 + 1) ** 2 - x / 3 + da.exp(-abs(x))).sum(axis=0),
    "where": lambda x, y: da.where(x > 0, x, y),
    "clip": lambda x, y: da.clip(x, -0.5, 0.5),
    "astype": lambda x, y: x.astype(np.float32) + y.astype(np.float32),
    "complex": lambda x, y: (x + 1j * y).conj().real,
    "outer": lambda x, y: da.outer(x[:, 0], y[0]),
    # choosing and moving
    "mask": lambda x, y: x[x > 0.5],
    "sum of a mask": lambda x, y: x[x > 0.5].sum(),
    "assignment": _assigned,
    "take": lambda x, y: da.take(x, [5, 1, 20, 1], axis=0),
    "slices": lambda x, y: x[3:20:2, ::-1],
    "rechunk": lambda x, y: x.rechunk((5, 30)),
    "transpose": lambda x, y: x.T + 1,
    "reshape": lambda x, y: x.reshape(4, 6, 30),
    "ravel": lambda x, y: x.ravel(),
    "concatenate": lambda x, y: da.concatenate([x, x + 1], axis=1),
    "stack": lambda x, y: da.stack([x, -x]),
    "block": lambda x, y: da.block([[x, x], [x, x]]),
    "pad": lambda x, y: da.pad(x, 2, mode="reflect"),
    "roll": lambda x, y: da.roll(x, 3, axis=1),
    "flip": lambda x, y: da.flip(x, 0),
    "repeat": lambda x, y: da.repeat(x, 2, axis=0),
    "tile": lambda x, y: da.tile(x, (2, 1)),
    "broadcast_to": lambda x, y: da.broadcast_to(x, (2, *SHAPE)),
    "ones_like": lambda x, y: da.ones_like(x) + da.zeros_like(y) + da.full_like(x, 3),
    "diag": lambda x, y: da.diag(x[:, 0]),
    "tril": lambda x, y: da.tril(x),
    # products and linear algebra
    "matmul": lambda x, y: x @ x.T,
    "tensordot": lambda x, y: da.tensordot(x, y, axes=((0,), (0,))),
    "einsum": lambda x, y: da.einsum("ij,kj->ik", x, x),
    "dot": lambda x, y: x[:, 0].dot(x[:, 1]),
    "qr": lambda x, y: abs(da.linalg.qr(x.T.rechunk((10, -1)))[1]),
    "svd": lambda x, y: da.linalg.svd(x.T.rechunk((10, -1)))[1],
    "norm": lambda x, y: da.linalg.norm(x, axis=1),
    # order, counts, neighbours, transforms
    "histogram": lambda x, y: da.histogram(x, bins=8, range=(-2, 2))[0],
    "bincount": lambda x, y: da.bincount(y.ravel(), minlength=9),
    "topk": lambda x, y: da.topk(x, 3, axis=1),
    "argtopk": lambda x, y: da.argtopk(x, -2, axis=0),
    "digitize": lambda x, y: da.digitize(x, np.linspace(-1, 1, 5)),
    "percentile": lambda x, y: da.percentile(x[:, 0].rechunk(-1), [10, 50, 90]),
    "median": lambda x, y: da.median(x, axis=1),
    "map_overlap": lambda x, y: x.map_overlap(lambda b: b[1:-1, 1:-1] + b[:-2, 1:-1] - b[1:-1, 2:], 1, trim=False),
    "map_blocks": lambda x, y: x.map_blocks(lambda b: b - b.max()),
    "apply_gufunc": lambda x, y: da.apply_gufunc(lambda b: b.mean(axis=-1), "(i)->()", x.rechunk((5, -1))),
    "fft": lambda x, y: abs(da.fft.fft(x.rechunk((6, -1)), axis=1)),
    "rfft2": lambda x, y: abs(da.fft.rfft2(x.rechunk(-1))),
    "corrcoef": lambda x, y: da.corrcoef(x),
    "average": lambda x, y: da.average(x, axis=1, weights=y[0] + 1),
    "unique": lambda x, y: da.unique(y.ravel()),
    "isin": lambda x, y: da.isin(y, [1, 4]),
    "coarsen": lambda x, y: da.coarsen(np.mean, x.rechunk((8, 10)), {0: 2, 1: 5}),
    "searchsorted": lambda x, y: da.searchsorted(da.arange(9, chunks=4), y.ravel()),
    "blocks": lambda x, y: x.blocks[1, 2],
    # what is of one chunk, or makes chunks whose sizes are not known
    "inverse of each block": lambda x, y: _definite(x).rechunk(24).map_blocks(np.linalg.inv, dtype=x.dtype),
    "chunk sizes": lambda x, y: x[x > 0].compute_chunk_sizes().reshape(-1, 1),
    "compress": lambda x, y: da.compress(VALUES[:, 0] > 0, x, axis=0),
    "extract": lambda x, y: da.extract(x > 0, x),
    "shuffle": lambda x, y: da.shuffle(x, [[1, 3, 5], [0, 2, 4, *range(6, 24)]], axis=0),
    "windows": lambda x, y: da.lib.stride_tricks.sliding_window_view(x[:, 0], 5).mean(axis=-1),
    "function of each row": lambda x, y: da.apply_along_axis(lambda row: row.sum(), 1, x),
    # places
    "places of arrays": lambda x, y: x[:, y[0, :5]],
    "points": lambda x, y: x.vindex[[3, 1, 9], [0, 5, 11]],
    "rows assigned": _rows_assigned,
    "insert": lambda x, y: da.insert(x, [1, 5], y[:2], axis=0),
    "delete": lambda x, y: da.delete(x, [3, 9], axis=1),
    "reshape of many blocks": lambda x, y: x.reshape(8, 3, 5, 6),
    "pad with means": lambda x, y: da.pad(x, 2, mode="mean"),
    "pad with a ramp": lambda x, y: da.pad(x, ((1, 2), (0, 3)), mode="linear_ramp"),
    "unravel_index": lambda x, y: da.unravel_index(y.ravel(), (3, 3))[1],
    "select": lambda x, y: da.select([x > 1, x < 0], [x, x * 2], 3.0),
    # scans, order, statistics
    "cumsum by blelloch": lambda x, y: da.cumsum(x, axis=0, method="blelloch"),
    "cumprod by blelloch": lambda x, y: da.cumprod(x, axis=1, method="blelloch"),
    "nancumsum": lambda x, y: da.nancumsum(da.where(x > 0, x, np.nan), axis=1),
    "bincount of no known length": lambda x, y: da.bincount(y.ravel()),
    "weighed bincount": lambda x, y: da.bincount(y.ravel(), weights=x.ravel(), minlength=9),
    "weighed histogram": lambda x, y: da.histogram(x, bins=np.linspace(-3, 3, 7), weights=x)[0],
    "density": lambda x, y: da.histogram(x, bins=8, range=(-2, 2), density=True)[0],
    "quantile": lambda x, y: da.quantile(x.rechunk((7, -1)), [0.1, 0.5], axis=1),
    "gradient": lambda x, y: da.gradient(x)[0],
    "cov": lambda x, y: da.cov(x),
    "skew": lambda x, y: stats.skew(x.ravel()),
    "t test": lambda x, y: stats.ttest_ind(x[:, 0], x[:, 1]).statistic,
    # linear algebra and transforms
    "cholesky": lambda x, y: da.linalg.cholesky(_definite(x), lower=True),
    "svd_compressed": lambda x, y: da.linalg.svd_compressed(x[:, :4].rechunk((8, 4)), 4, seed=1)[1],
    "nuclear norm": lambda x, y: da.linalg.norm(x.rechunk((8, -1)), ord="nuc"),
    "fft there and back": lambda x, y: da.fft.ifft(da.fft.fft(x.rechunk((6, -1)))).real,
    "wrapped fft": lambda x, y: abs(da.fft.fft_wrap(np.fft.fft)(x.rechunk((6, -1)))),
}


def pair(backend: str) -> tuple[da.Array, da.Array]:
    """The arrays that operations take, of NumPy's or clarray's chunks."""
    x, y = da.from_array(VALUES, CHUNKS), da.from_array(WHOLE, CHUNKS)
    return x.to_backend(backend), y.to_backend(backend)


def values(found: Any) -> np.ndarray:
    """On the host."""
    return np.asarray(found.get() if hasattr(found, "get") else found)
