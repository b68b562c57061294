"""What is computed: over chunks of any library, and plainly over whole arrays of one."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import dask.array as da
import numpy as np

from chunked.libraries import LIBRARIES, finished

RADIUS = 8  # of the Gaussian, and so the overlap of the chunks
FILTERS = {"numpy": "scipy.ndimage", "cupy": "cupyx.scipy.ndimage", "clarray": "clarray.ndimage"}

Chunked = Callable[[Any, Any, str], Any]
Plain = Callable[[Any, Any, Any], Any]


@dataclass(frozen=True)
class Row:
    """One computation over two square arrays, of which some use the first only."""

    name: str
    chunked: Chunked  # of two of Dask's arrays and the library's name
    plain: Plain | None  # of the library and two of its arrays; None: the result is of the chunks, and only scaled
    moved: Callable[[int], float] | None = None  # share of an array that each of n workers fetches; None: not scaled
    power: float = 1.0  # of a chunk's bytes, that its work grows with


def chain(x: Any, y: Any, *_: Any) -> Any:
    return (x * x + y * y) ** 0.5 * 2 + x * y - (x - y) * 0.25


def filtered(block: Any, name: str) -> Any:
    """One array through a Gaussian filter: SciPy's, CuPy's or clarray's own."""
    return importlib.import_module(FILTERS[name]).gaussian_filter(block, sigma=2.0, radius=RADIUS)


def gaussian(x: Any, _: Any, name: str) -> Any:
    work = partial(filtered, name=name)
    return da.map_overlap(work, x, depth=RADIUS, boundary="reflect", dtype=x.dtype, meta=x._meta)


def masked(x: Any, _: Any, name: str) -> Any:
    return da.where(x > 0.5, x, 0).sum() / (x > 0.5).sum()


def rechunked(x: Any, _: Any, name: str) -> Any:
    """Tiles to whole columns, as many chunks as before."""
    return x.rechunk((x.shape[0], max(x.chunks[1][0] // x.numblocks[0], 1)))


def multiplied(block: Any) -> Any:
    return (block @ block.T) @ block


def products(x: Any, *_: Any) -> Any:
    """Much work of each chunk, of which nothing moves."""
    return x.map_blocks(multiplied, dtype=x.dtype, meta=x._meta)


ROWS = [
    Row("chain", chain, lambda xp, x, y: chain(x, y), moved=lambda n: 0.0),
    Row("sum", lambda x, y, name: x.sum(), lambda xp, x, y: x.sum()),
    Row("std", lambda x, y, name: x.std(), lambda xp, x, y: x.std(), moved=lambda n: 0.0),
    Row("sum, axis 0", lambda x, y, name: x.sum(axis=0), lambda xp, x, y: x.sum(axis=0)),
    Row("cumsum, axis 0", lambda x, y, name: x.cumsum(axis=0), lambda xp, x, y: x.cumsum(axis=0)),
    Row("masked mean", masked, lambda xp, x, y: xp.where(x > 0.5, x, 0).sum() / (x > 0.5).sum()),
    Row(
        "histogram",
        lambda x, y, name: da.histogram(x, bins=100, range=(0, 1))[0],
        lambda xp, x, y: xp.histogram(x, bins=100, range=(0, 1))[0],
    ),
    Row(
        "topk, axis 0",
        lambda x, y, name: da.topk(x, 10, axis=0),
        lambda xp, x, y: xp.flip(xp.sort(xp.partition(x, -10, axis=0)[-10:], axis=0), axis=0),
    ),
    Row("x + x.T", lambda x, y, name: x + x.T, lambda xp, x, y: x + x.T, moved=lambda n: (1 - 1 / n) / n),
    Row("rechunk", rechunked, lambda xp, x, y: x.copy()),
    Row("x @ y", lambda x, y, name: x @ y, lambda xp, x, y: x @ y, moved=lambda n: 2 * (n**-0.5 - 1 / n), power=1.5),
    Row("chunk products", products, None, moved=lambda n: 0.0, power=1.5),
    Row("gaussian", gaussian, lambda xp, x, y: filtered(x, xp.__name__)),
]


def wrong(row: Row, name: str) -> str:
    """Compare a row over small chunks of this library with plain NumPy, in this process; empty where they agree."""
    values = np.random.default_rng(7).random((2, 96, 96), dtype="float32")
    if row.plain is None:
        expected = row.chunked(*(da.from_array(v, chunks=(24, 32)) for v in values), "numpy").compute(scheduler="sync")
    else:
        expected = row.plain(np, *values)
    library = LIBRARIES[name]
    chunks = [da.from_array(library.module.asarray(v), chunks=(24, 32), asarray=False) for v in values]
    result = finished(row.chunked(*chunks, name), name).compute(scheduler="sync")
    found = library.to_host(result)
    if found.shape != expected.shape:
        return f"{row.name}: shape {found.shape} where NumPy gives {expected.shape}"
    inner = (slice(RADIUS, -RADIUS),) * 2 if row.name == "gaussian" else ()  # Dask's border is SciPy's only there
    difference = float(np.max(np.abs(found[inner] - expected[inner])))
    return f"{row.name}: off by {difference}" if difference > 1e-3 * float(np.max(np.abs(expected))) else ""
