"""Every kernel template on tiny arrays, for a checker of memory and data races to watch.

``oclgrind --data-races --log FILE python tests/memcheck/run.py [names]`` interprets each kernel; the
log must stay empty. Each case is a function that computes with the module it is given, so the
values are checked against NumPy's as well. Without arguments all cases run.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np

import clarray
from clarray._engine.evaluate import kernel_cache_of
from clarray._engine.runtime import current_device
from clarray._engine.tuning.rows import ROWS

Case = Callable[[ModuleType], Any]
CASES: dict[str, Case] = {}
POLICIES = ("tiny-cpu", "tiny-gpu", "gpu")


def case(body: Case) -> Case:
    """Add a case under its function's name."""
    CASES[body.__name__] = body
    return body


def numbers(xp: ModuleType, *shape: int, dtype: Any = np.float32) -> Any:
    """Small numbers that every dtype holds."""
    size = int(np.prod(shape))
    return xp.asarray((np.arange(size) * 7 % 11).astype(dtype).reshape(shape))


@case
def flat(xp: ModuleType) -> Any:
    a = numbers(xp, 37)
    return [a * 2 + a, numbers(xp, 21, dtype=np.int8) + 1, xp.sqrt(numbers(xp, 13, dtype=np.float16))]


@case
def strided(xp: ModuleType) -> Any:
    a = numbers(xp, 6, 5, 7)
    return [a[::2, ::-1, 1:] + 1, a.transpose(1, 0, 2) * a.transpose(1, 0, 2), xp.broadcast_to(a[0, 0], (3, 7)) + 2]


@case
def tiled(xp: ModuleType) -> Any:
    a = numbers(xp, 35, 35)
    return [a.T + a]


@case
def assigned(xp: ModuleType) -> Any:
    a = numbers(xp, 9, 10).copy()
    a[::2, 1::3] = a[1:6, 2:5]
    return [a]


@case
def rows(xp: ModuleType) -> Any:
    a = numbers(xp, 5, 41)
    return [a.sum(), a.max(axis=1), a.argmin(axis=1), a.var(axis=1), a[:, ::2].prod(axis=1)]


@case
def columns(xp: ModuleType) -> Any:
    a = numbers(xp, 29, 9)
    return [a.sum(axis=0), a.argmax(axis=0), a.min(axis=0), numbers(xp, 4, 33).mean(axis=0)]


@case
def masked(xp: ModuleType) -> Any:
    a = numbers(xp, 83)
    return [a[a > 3].sum(), a.max(where=a < 5, initial=0)]


@case
def complex_sums(xp: ModuleType) -> Any:
    a = numbers(xp, 19, dtype=np.complex64)
    return [a.sum(), (a * a).sum()]


@case
def segments(xp: ModuleType) -> Any:
    return [np.add.reduceat(numbers(xp, 23), [0, 5, 3, 22])]


@case
def accumulated(xp: ModuleType) -> Any:
    a = numbers(xp, 17, 5)
    return [np.add.accumulate(a, axis=0), np.subtract.accumulate(a, axis=1), np.maximum.accumulate(a[::-1], axis=0)]


@case
def scanned(xp: ModuleType) -> Any:
    """Enough to cut lines, in rows and in columns, and a last tile that is not full."""
    a = numbers(xp, 147)
    b = numbers(xp, 45, 34)
    return [xp.cumsum(a), xp.cumsum(a[1:]), xp.cumsum(b, axis=0), np.maximum.accumulate(numbers(xp, 150))]


@case
def updated(xp: ModuleType) -> Any:
    a = numbers(xp, 12, dtype=np.int64).copy()
    np.add.at(a, [0, 3, 3, -1], 5)
    return [a]


@case
def copied(xp: ModuleType) -> Any:
    return [xp.arange(31, dtype=np.int64), numbers(xp, 21).astype(np.int16), xp.full((3, 4), 2.5)]


@case
def selected(xp: ModuleType) -> Any:
    a = numbers(xp, 203)
    mask = numbers(xp, 203, dtype=np.int8) > 4
    b = a.copy()
    b[mask] = a[:111]
    b[mask] = b[mask] ** 2 + a[mask]
    return [a[a > 5], a[mask], a[::2][mask[::2]], *xp.nonzero(mask.reshape(7, 29)), a.astype(np.complex64)[mask], b]


@case
def gathered(xp: ModuleType) -> Any:
    a, i = numbers(xp, 6, 7, 5), xp.asarray(np.array([[5, -1, 0], [2, 2, -6]]))
    b = a.copy()
    b[i] = a[i] + 1
    b[:, i % 7] = 3
    return [a[i], a[:, i % 5], xp.take(a, i * 40, mode="wrap"), xp.take(a, i, axis=2, mode="clip"), b]


@case
def written_by_number(xp: ModuleType) -> Any:
    a, i, j = numbers(xp, 9, 8), xp.asarray(np.array([3, 3, -1, 0])), xp.asarray(np.array([[1], [7]]))
    b, c, d = a.copy(), a.copy(), numbers(xp, 70).copy()
    b[i, 2] = a[:4, 0]
    c[j, i] = xp.arange(8, dtype=np.float32).reshape(2, 4)
    d[xp.asarray(np.arange(200) * 7 % 70)] = xp.arange(200, dtype=np.float32)
    return [b, c, d, a[i, 3:], a[a[:, 0] > 3, i.max()], xp.take_along_axis(a, xp.asarray(np.full((9, 1), 5)), 1)]


@case
def remapped(xp: ModuleType) -> Any:
    a, b = numbers(xp, 37), numbers(xp, 7, 9, dtype=np.int16)
    modes = ("constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "mean")
    found = [xp.pad(b, ((3, 1), (0, 12)), mode) for mode in modes]
    found += [xp.roll(a, 5), xp.roll(b, (2, -3), (0, 1)), xp.tile(b, (2, 3)), xp.repeat(a, 3), xp.flip(b).copy()]
    found += [xp.roll(a, 2) - xp.roll(a, -3), xp.roll(b, 1, 0) + xp.roll(b, -1, 1) + b]
    found += [xp.repeat(b, np.arange(7), axis=0), xp.concatenate([b, b[:, ::2]], axis=1), xp.stack([a, a], axis=1)]
    return found


@case
def drawn(xp: ModuleType) -> Any:
    """What is drawn lies where NumPy's would; which numbers those are is tested elsewhere."""
    random = xp.random.default_rng(3)
    u, k, g = random.random(77, dtype=np.float32), random.integers(-3, 9, 50), random.standard_normal(41, np.float32)
    e, p = random.standard_gamma(np.float32(0.7), 30, np.float32), random.permutation(33)
    found = [((u >= 0) & (u < 1)).all(), ((k >= -3) & (k < 9)).all(), (abs(g) < 9).all(), (e >= 0).all(), xp.sort(p)]
    return [xp.asarray(each) for each in found]


@case
def distinct(xp: ModuleType) -> Any:
    a, wide = numbers(xp, 300, dtype=np.int32), numbers(xp, 40, dtype=np.int32) * 10**8
    return [xp.unique(a), *xp.unique(a[::-2], return_counts=True), *xp.unique(wide, return_inverse=True)]


def changed(algorithm: str, **fields: Any) -> Any:
    """Plan with other values of some fields of an algorithm's policy, while it lasts."""
    cache = kernel_cache_of(current_device())
    policy = replace(getattr(cache.policies, algorithm), **fields)
    return patch.object(cache, "policies", replace(cache.policies, **{algorithm: policy}))


@case
def few(xp: ModuleType) -> Any:
    with changed("unique", hash_from=1):
        return [xp.unique(numbers(xp, 200) / 3), xp.unique(numbers(xp, 90, dtype=np.int32)[::3] * 10**8)]


@case
def bitmap(xp: ModuleType) -> Any:
    with (
        changed("unique", bitmap_from=1),
        patch("clarray._engine.algorithms.unique.plan_bitmap.BITS", 17),
    ):
        return [xp.unique((numbers(xp, 300, dtype=np.int32) - 5) * 9000)]


@case
def sorted_(xp: ModuleType) -> Any:
    a, wide = numbers(xp, 75), numbers(xp, 61, dtype=np.int32) * 10**8
    lines = numbers(xp, 5, 23).T
    found = [xp.sort(a), xp.sort(wide), xp.sort(lines, axis=0), xp.sort(a[:3]), xp.sort(numbers(xp, 9, 3), axis=1)]
    found += [xp.argsort(a, stable=True), xp.argsort(lines, axis=0, stable=True), xp.argsort(wide, stable=True)]
    return [*found, xp.sort(numbers(xp, 40, dtype=np.complex64)), xp.sort(numbers(xp, 90, dtype=np.uint8))]


@case
def searched(xp: ModuleType) -> Any:
    a, needles = xp.asarray(np.arange(9, dtype=np.float32)), numbers(xp, 5, 5)
    return [xp.searchsorted(a, needles), xp.searchsorted(a[::2], needles.T, "right"), xp.isin(needles, a[:4])]


@case
def counted(xp: ModuleType) -> Any:
    a = numbers(xp, 131, dtype=np.int32)
    hostile = xp.asarray(np.array([np.nan, np.inf, -1e30, 0.5, 1e30, 0.999, 1.0], np.float32))
    return [
        xp.bincount(a),
        xp.bincount(a[::3] * 7),
        xp.bincount(numbers(xp, 70).astype(np.int64) * 40),
        xp.histogram(numbers(xp, 53), 5, (1, 9))[0],
        xp.histogram(xp.asarray(hostile), 4, (0, 1))[0],
        xp.histogram(numbers(xp, 6, 9).T, [0, 2, 3, 9.5])[0],
        xp.histogram2d(a, a[::-1], 3)[0],
    ]


@case
def weighed(xp: ModuleType) -> Any:
    a, w = numbers(xp, 53, dtype=np.int32), numbers(xp, 53, dtype=np.float64)
    return [xp.bincount(a, w), xp.bincount(a * 9, w[::-1]), xp.bincount(a * 0, w), xp.bincount(a // 4, w)]


@case
def convolved(xp: ModuleType) -> Any:
    a, v = numbers(xp, 70), numbers(xp, 9)
    return [xp.convolve(a, v), xp.correlate(a[::-2], v, "same"), xp.convolve(v[:2], numbers(xp, 300, dtype=np.int16))]


@case
def filtered(xp: ModuleType) -> Any:
    module = importlib.import_module("scipy.ndimage" if xp is np else "clarray.ndimage")
    a, b = numbers(xp, 13, 19), numbers(xp, 3, 4, 5, dtype=np.uint8)
    found = []
    for mode in ("reflect", "constant", "nearest", "mirror", "wrap"):
        found += [module.correlate1d(a, [1, 2, 1], 0, mode=mode), module.sobel(a, mode=mode)]
        found += [module.correlate(a[:2], np.ones((5, 4)), mode=mode, origin=(2, -2))]
        found += [module.median_filter(a, (2, 3), mode=mode), module.maximum_filter(b, 3, mode=mode)]
    return [*found, module.rank_filter(b, 7, (3, 2, 3)), module.laplace(b), module.uniform_filter(b, 3)]


@case
def multiplied(xp: ModuleType) -> Any:
    a, b, c = numbers(xp, 9, 11), numbers(xp, 11, 7), numbers(xp, 2, 5, 6, dtype=np.complex64)
    half, small = numbers(xp, 8, 12, dtype=np.float16), numbers(xp, 3, 8, dtype=np.int8)
    found = [a @ b, b.T @ a.T, a[::-1, ::2] @ b[::2, ::-1], c @ c.transpose(0, 2, 1), half @ half.T, small @ small.T]
    return [*found, a[:2] @ a[:2].T, a[:, :8] @ numbers(xp, 8, 4), xp.einsum("ij,jk,kl->il", a, b, b.T), a[0] @ b]


@case
def multiplied_narrow(xp: ModuleType) -> Any:
    found = []
    for dtype in (np.float32, np.float16, np.complex64, np.int8, np.bool_):
        for rows, columns in ((2, 2), (3, 3), (7, 3), (7, 5)):
            a, b = numbers(xp, 4, rows, 3, dtype=dtype), numbers(xp, 4, 3, columns, dtype=dtype)
            found += [a @ b, a[::-1, :, :2] @ b[1, :2], a[1:3, 1:] @ b[:2, :, ::-1]]
    a, b = numbers(xp, 3, 2, 5, 3), numbers(xp, 2, 5, 3)
    return [*found, a @ b.swapaxes(1, 2), a[:, :1] @ b[:1].swapaxes(1, 2), numbers(xp, 40, 2) @ numbers(xp, 2, 2)]


@case
def multiplied_by_warps(xp: ModuleType) -> Any:
    """By emulated instructions: operands along either axis, in vectors, one by one and converted, in batches."""
    a, b = numbers(xp, 18, 22, dtype=np.float64), numbers(xp, 22, 34, dtype=np.float64)
    small, batch = numbers(xp, 22, 5, dtype=np.int8), numbers(xp, 2, 17, 9, dtype=np.float64)
    cache = kernel_cache_of(current_device())
    found: list[Any] = []
    if cache.policies.name != "tiny-gpu":
        return found  # the same kernels again
    for row in ("tiny-warps", "tiny-stages"):
        with patch.object(cache, "policies", replace(cache.policies, matmul=ROWS[row].matmul)):
            found += [a @ b, b.T @ a.T, a[:, 1::2] @ b[::-2], a @ small, batch @ batch.swapaxes(1, 2)]
    return found


@case
def factorized(xp: ModuleType) -> Any:
    """A work-item's own, in local memory, in the device's memory."""
    found = []
    own = ((3, np.float32), (4, np.float32), (7, np.float32), (8, np.float32), (7, np.complex64))
    for n, dtype in (*own, (20, np.float32), (20, np.complex64)):
        a = xp.eye(n, dtype=dtype) * n + numbers(xp, 3, n, n, dtype=dtype) / 16
        found += [xp.linalg.solve(a, a[0, :, :2]), xp.linalg.inv(a), xp.linalg.det(a / n), *xp.linalg.slogdet(a)]
        found += [xp.linalg.cholesky(a + a.swapaxes(1, 2), upper=n > 3)]
    return found


@case
def factorized_by_blocks(xp: ModuleType) -> Any:
    """Blocks, panels and what is left over: of the tiny policy's many, of a GPU's two."""
    found = []
    with changed("small_matrices", most=0, most_shared=0), changed("factorization", in_host_memory=True):
        for n, dtype in ((4, np.float32), (11, np.float32), (11, np.complex64), (67, np.float32)):
            a = xp.eye(n, dtype=dtype) * n + numbers(xp, 2, n, n, dtype=dtype) / 16
            found += [xp.linalg.solve(a, a[:, :, :3]), xp.linalg.inv(a[::-1]), xp.linalg.det(a / n)]
            found += [*xp.linalg.slogdet(a), xp.linalg.cholesky(a + a.swapaxes(1, 2), upper=n == 11)]
    return found


@case
def factorized_by_warps(xp: ModuleType) -> Any:
    """Panels whose pivots warps find, of one row to an item and of two, by themselves and two to a block."""
    found = []
    large = {
        "shared": True,
        "items": 64,
        "panel": 8,
        "panel_bytes": 1 << 14,
        "search": "emulated",
        "block": 16,
        "blocked_bytes": 4 * 30,
    }
    with changed("small_matrices", most=0, most_shared=0), changed("factorization", **large):
        for n, dtype in ((11, np.float32), (67, np.float32), (35, np.complex64)):
            a = xp.eye(n, dtype=dtype) * n + numbers(xp, n, n, dtype=dtype) / 16
            found += [xp.linalg.inv(a), xp.linalg.det(a / n)]
    return found


@case
def orthogonalized(xp: ModuleType) -> Any:
    """By Cholesky's factors, in blocks and what is left over, and what of a column lies on its axis."""
    found = []
    with (
        changed("small_matrices", most=0, most_shared=0),
        changed("factorization", in_host_memory=True, least_orthogonal=0),
    ):
        for m, n, dtype in ((4, 4, np.float32), (21, 11, np.float32), (13, 11, np.complex64), (9, 13, np.float32)):
            a = xp.eye(m, n, dtype=dtype) * n + numbers(xp, m, n, dtype=dtype) / 16
            found += [*xp.linalg.qr(a), xp.linalg.qr(xp.triu(a), "r")]
    return found


@case
def split(xp: ModuleType) -> Any:
    """Eigenvalues and singular values by products of matrices, of more than one level, and zeros exactly."""
    found = []
    sizes, large = {"most": 4, "most_shared": 4}, {"shared": True, "least_orthogonal": 0}
    with changed("small_matrices", **sizes), changed("factorization", **large), changed("spectral", base=4):
        for m, n, dtype in ((9, 9, np.float32), (11, 7, np.complex64)):
            a = xp.eye(m, n, dtype=dtype) * n + numbers(xp, m, n, dtype=dtype) / 16
            h = a @ a.conj().T / n
            # beside 1, since what is zero is rounded as the largest eigenvalue is
            found += [xp.linalg.eigvalsh(h) + 1, xp.linalg.eigh(h, "U")[0] + 1, xp.linalg.svdvals(a)]
            found += [xp.linalg.pinv(a) + 1]
    return found


@case
def decomposed(xp: ModuleType) -> Any:
    """A team's own, several in a work-group, in local memory and in the device's; vectors but for their signs."""
    found = []
    for m, n, dtype in ((3, 3, np.float32), (5, 4, np.complex64), (4, 7, np.float32), (18, 17, np.float32)):
        a = xp.eye(m, n, dtype=dtype) * n + numbers(xp, 3, m, n, dtype=dtype) / 16
        found += [*xp.linalg.qr(a), xp.linalg.svd(a)[1], xp.linalg.svdvals(a)]
        h = a @ a.conj().swapaxes(1, 2) + n * xp.eye(m, dtype=dtype)
        found += [xp.linalg.eigh(h)[0], xp.linalg.eigvalsh(h, "U")]
    return found


@case
def transformed(xp: ModuleType) -> Any:
    """One pass, several, cropped and padded, of reals and back, and by a convolution."""
    a, b = numbers(xp, 3, 12, 5, dtype=np.complex64), numbers(xp, 2, 46, dtype=np.complex64)
    with patch("clarray.fft.transforms._kernels_pay", lambda *_: True):
        found = [xp.fft.fft(a, axis=1), xp.fft.ifft(a * 2, 9, axis=1), xp.fft.fft(a, 96), xp.fft.fft(b)]
        found += [xp.fft.rfft(a.real), xp.fft.rfft(a.real, 8, axis=1), xp.fft.irfft(a, axis=1), xp.fft.irfft(b, 23)]
    return [_computed(each) + 1000 for each in found]  # what is zero is compared as part of a thousand


def _computed(array: Any) -> Any:
    """The array, in memory: what is done to it is a pass of its own."""
    return array.evaluate() if isinstance(array, clarray.DeviceArray) else array


@case
def transformed_and_finished(xp: ModuleType) -> Any:
    """Every way of storing, with what the last pass does before: beside the result, along an axis, of one element."""
    a, b = numbers(xp, 3, 12, 5, dtype=np.complex64), numbers(xp, 2, 46, dtype=np.complex64)
    with patch("clarray.fft.transforms._kernels_pay", lambda *_: True):
        found = [xp.fft.fft(a, axis=1), xp.fft.ifft(a, 9, axis=1), xp.fft.fft(a, 96), xp.fft.fft(b)]
        found += [xp.fft.rfft(a.real), xp.fft.rfft(a.real, 8, axis=1), xp.fft.rfft(b.real, 92)]
        found += [xp.fft.irfft(a, axis=1), xp.fft.irfft(b, 23)]
    made = []
    for f in found:
        like, line = numbers(xp, *f.shape), numbers(xp, f.shape[-1])
        made += [(abs(f) ** 2 + like * line + 1000).astype("f"), f * numbers(xp, *f.shape[:-1], 1) + 1000, abs(f) > -1]
    return made


@case
def transformed_in_double(xp: ModuleType) -> Any:
    """The same passes with float64's factors, which come from a table of their own."""
    a, b = numbers(xp, 3, 12, 5, dtype=np.complex128), numbers(xp, 2, 46, dtype=np.complex128)
    with patch("clarray.fft.transforms._kernels_pay", lambda *_: True):
        found = [xp.fft.fft(a, axis=1), xp.fft.ifft(a * 2, 9, axis=1), xp.fft.fft(a, 96), xp.fft.fft(b)]
        found += [xp.fft.rfft(a.real), xp.fft.irfft(a, axis=1), xp.fft.irfft(b, 23)]
    return [_computed(each) + 1000 for each in found]


@case
def snippets(xp: ModuleType) -> Any:
    a, grid = numbers(xp, 53), numbers(xp, 7, 9)
    if xp is np:
        shifted = a.copy()
        shifted[1:] = a[:-1]
        offsets = np.cumsum(a, dtype=np.float32) - a
        return [(a * 2 - 1) ** 2, grid.T + a[0], grid.T > 3, shifted, np.sqrt((a * a).sum()), grid.max(0), offsets]
    square = clarray.ElementwiseKernel("T x", "T z", "z = (x - 1) * (x - 1)")
    two = clarray.ElementwiseKernel("T x, raw T t", "T s, bool b", "s = x + t[0]; b = x > 3")
    shift = clarray.ElementwiseKernel("raw T x", "raw T z", "z[i] = x[max(i - 1, 0L)]")
    norm = clarray.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", 0)
    largest = clarray.ReductionKernel("T x", "T y", "x > 1 ? x : 1", "max(a, b)")
    before = clarray.ScanKernel("T x", "T y", "x", "a + b", identity=0, exclusive=True)
    moved = shift(a, clarray.zeros(53, np.float32), size=53)
    return [square(a * 2), *two(grid.T, a), moved, norm(a), largest(grid, axis=0), before(a)]


def check(body: Case) -> list[str]:
    """What a case gives that NumPy does not."""
    wrong = []
    for number, (ours, theirs) in enumerate(zip(body(clarray), body(np), strict=True)):
        if not np.allclose(clarray.asnumpy(ours), theirs, rtol=1e-5, equal_nan=True):
            wrong.append(f"{body.__name__}[{number}]: {clarray.asnumpy(ours)} instead of {theirs}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)} (default: all)")
    asked = parser.parse_args()
    cache = kernel_cache_of(current_device())
    wrong: list[str] = []
    for name in POLICIES:
        cache.policies = ROWS[name]
        cache.prepared.clear()
        for body in [CASES[n] for n in asked.cases] or CASES.values():
            print(f"{name} {body.__name__}", flush=True)
            wrong += check(body)
    print("\n".join(wrong) or "all as NumPy's")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
