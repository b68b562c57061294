"""Programs as NumPy's users write them; test_programs.py runs them a second time with the import of clarray."""

from __future__ import annotations

import math
import struct

import numpy as np


def k_means():
    angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    radius = 0.5 + 0.2 * np.sin(7 * angles)
    around = np.stack([radius * np.cos(angles), radius * np.sin(angles)], axis=-1)
    points = np.concatenate([around + shift for shift in np.array([[0, 0], [4, 0], [0, 5]])])
    centres = points[[0, 70, 140]]
    for _ in range(5):
        distances = np.linalg.norm(points[:, None, :] - centres, axis=-1)
        labels = np.argmin(distances, axis=1)
        centres = np.array([points[labels == k].mean(axis=0) for k in range(3)])
    return labels, centres, np.bincount(labels, minlength=3)


def principal_components():
    t = np.arange(50.0)
    data = np.column_stack([t, 2 * t + np.sin(t), np.cos(t), t**2 / 50])
    data -= data.mean(axis=0)
    data /= data.std(axis=0)
    _, s, vt = np.linalg.svd(data, full_matrices=False)
    vt *= np.sign(vt[np.arange(4), np.abs(vt).argmax(axis=1)])[:, np.newaxis]
    return s**2 / np.sum(s**2), vt[:2], data @ vt[:2].T


def edges_of_an_image():
    y, x = np.mgrid[0:40, 0:50]
    image = (255 * (np.hypot(y - 20, x - 25) < 12)).astype(np.uint8)
    image[5:10, 5:15] = 128
    grey = np.pad(image, 1, mode="reflect").astype(np.float32) / 255
    across = grey[1:-1, 2:] - grey[1:-1, :-2]
    down = grey[2:, 1:-1] - grey[:-2, 1:-1]
    edges = np.sqrt(across**2 + down**2) > 0.25
    rows, columns = np.nonzero(edges)
    box = [int(rows.min()), int(rows.max()), int(columns.min()), int(columns.max())]
    counts, _ = np.histogram(image, bins=4, range=(0, 256))
    flipped = np.rot90(np.clip(image[::2, ::2].astype(int) * 2, 0, 255).astype(np.uint8))
    return edges, box, counts, flipped


def game_of_life():
    board = np.zeros((12, 12), dtype=bool)
    board[1:4, 1:4] = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
    for _ in range(8):
        near = sum(
            np.roll(board.astype(np.int8), (dy, dx), axis=(0, 1))
            for dy in (-1, 0, 1)
            for dx in (-1, 0, 1)
            if (dy, dx) != (0, 0)
        )
        board = (near == 3) | (board & (near == 2))
    return board, int(board.sum()), np.argwhere(board)


def heat_equation():
    u = np.zeros((30, 30))
    u[0, :] = 1.0
    u[:, -1] = np.linspace(1, 0, 30)
    for _ in range(20):
        u[1:-1, 1:-1] += 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u, u.mean(), np.unravel_index(np.abs(np.diff(u, axis=0)).argmax(), (29, 30))


def moving_averages():
    prices = 100 + np.cumsum(np.sin(np.arange(200) * 0.7) + 0.05)
    simple = np.convolve(prices, np.ones(5) / 5, mode="valid")
    sums = np.cumsum(np.insert(prices, 0, 0.0))
    same = (sums[20:] - sums[:-20]) / 20
    windows = np.lib.stride_tricks.sliding_window_view(prices, 10)
    returns = np.log(prices[1:] / prices[:-1])
    crossed = np.flatnonzero(np.diff(np.sign(simple[15:] - same)))
    drop = (1 - prices / np.maximum.accumulate(prices)).max()
    return simple, same, windows.max(axis=-1), returns.std(ddof=1) * math.sqrt(252), crossed, float(drop)


def neural_network():
    x = np.linspace(-1, 1, 48).reshape(16, 3).astype(np.float32)
    labels = np.arange(16) % 4
    wanted = np.eye(4, dtype=np.float32)[labels]
    w1 = (np.cos(np.arange(24)) / 2).reshape(3, 8).astype(np.float32)
    w2 = (np.sin(np.arange(32)) / 2).reshape(8, 4).astype(np.float32)
    losses = []
    for _ in range(3):
        hidden = np.maximum(x @ w1, 0)
        scores = hidden @ w2
        scores -= scores.max(axis=1, keepdims=True)
        odds = np.exp(scores)
        odds /= odds.sum(axis=1, keepdims=True)
        losses.append(float(-np.log(odds[np.arange(16), labels]).mean()))
        slope = (odds - wanted) / 16
        back = slope @ w2.T
        back[hidden <= 0] = 0
        w2 -= 0.5 * hidden.T @ slope
        w1 -= 0.5 * x.T @ back
    return losses, w1, w2, odds.argmax(axis=1)


def spectrum():
    rate = 256
    t = np.arange(rate) / rate
    signal = np.sin(2 * np.pi * 50 * t) + 0.5 * np.sin(2 * np.pi * 80 * t)
    amplitudes = np.abs(np.fft.rfft(signal * np.hanning(rate))) / (rate / 2)
    frequencies = np.fft.rfftfreq(rate, 1 / rate)
    found = np.fft.fft(signal)
    found[60:-59] = 0
    return frequencies[np.argsort(amplitudes)[-2:]], amplitudes, np.fft.ifft(found).real


def group_by():
    keys = np.array([3, 1, 3, 7, 1, 1, 9, 7])
    values = np.array([1.0, 2, 3, 4, 5, 6, 7, 8])
    names, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    sums = np.bincount(which, weights=values)
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(keys[order]) > 0])
    largest = np.maximum.reduceat(values[order], starts)
    totals = np.zeros(10)
    np.add.at(totals, keys, values)
    top = names[np.lexsort((names, -sums))]
    return names, counts, sums / counts, largest, totals, top, np.isin(keys, [1, 9])


def regression():
    x = np.linspace(0, 4, 40)
    y = 3 + 2 * x - 0.5 * x**2 + 0.01 * np.cos(20 * x)
    matrix = np.vander(x, 3, increasing=True)
    fitted, *_ = np.linalg.lstsq(matrix, y, rcond=None)
    normal = np.linalg.solve(matrix.T @ matrix, matrix.T @ y)
    left = y - np.polyval(fitted[::-1], x)
    r2 = 1 - (left @ left) / np.sum((y - y.mean()) ** 2)
    return fitted, normal, float(r2), np.allclose(fitted, normal), np.corrcoef(x, y)


def interpolation():
    x = np.array([0.0, 1.0, 2.5, 4.0])
    y = x**2
    at = np.linspace(-1, 5, 13)
    linear = np.interp(at, x, y)
    right = np.clip(np.searchsorted(x, at), 1, len(x) - 1)
    part = (at - x[right - 1]) / (x[right] - x[right - 1])
    nearest = y[np.abs(at[:, None] - x).argmin(axis=1)]
    return linear, y[right - 1] + part * (y[right] - y[right - 1]), nearest, np.trapezoid(y, x), np.gradient(y, x)


def percentiles():
    data = np.sin(np.arange(120.0) ** 1.5).reshape(12, 10) * 10
    data[3, 4] = np.nan
    whole = data[~np.isnan(data)]
    low, middle, high = np.percentile(whole, [25, 50, 75])
    inside = whole[(whole > low - 1.5 * (high - low)) & (whole < high + 1.5 * (high - low))]
    edges = np.histogram_bin_edges(whole, bins=6)
    bins = np.digitize(whole, edges[1:-1])
    weighted = np.average(whole, weights=np.abs(whole))
    return np.nanmedian(data, axis=0), middle, inside.size, bins, np.nanmean(data), weighted


def mandelbrot():
    c = np.linspace(-2, 0.5, 32) + 1j * np.linspace(-1.2, 1.2, 24)[:, None]
    z = np.zeros_like(c)
    steps = np.zeros(c.shape, dtype=int)
    for _ in range(12):
        inside = np.abs(z) <= 2
        z[inside] = z[inside] ** 2 + c[inside]
        steps += inside
    return steps, np.mean(steps == 12)


def gravity():
    t = np.arange(6.0)
    place = np.stack([np.cos(t), np.sin(t), t / 10], axis=1)
    speed = np.zeros_like(place)
    mass = 1 + t
    for _ in range(3):
        apart = place[None] - place[:, None]
        cubed = (np.einsum("ijk,ijk->ij", apart, apart) + 0.01) ** 1.5
        speed += 0.01 * np.einsum("ijk,j,ij->ik", apart, mass, 1 / cubed)
        place += 0.01 * speed
    return place, np.average(place, axis=0, weights=mass), np.cross(place, speed).sum(axis=0)


def page_rank():
    links = np.zeros((5, 5))
    links[[1, 2, 2, 3, 4, 0, 1], [0, 0, 1, 2, 2, 3, 4]] = 1
    flow = np.divide(links, links.sum(axis=0), out=np.full_like(links, 0.2), where=links.sum(axis=0) > 0)
    rank = np.full(5, 0.2)
    while True:
        following = 0.85 * flow @ rank + 0.15 / 5
        if np.abs(following - rank).max() < 1e-9:
            break
        rank = following
    return rank, np.argsort(-rank), np.linalg.matrix_power(flow, 4)


def primes():
    sieve = np.ones(200, dtype=bool)
    sieve[:2] = False
    for n in range(2, 15):
        if sieve[n]:
            sieve[n * n :: n] = False
    found = np.flatnonzero(sieve)
    return found, found.tolist()[:5], len(found), np.diff(found).max()


def run_lengths():
    data = np.array([4, 4, 4, 1, 1, 7, 7, 7, 7, 2])
    starts = np.concatenate(([0], np.flatnonzero(data[1:] != data[:-1]) + 1))
    lengths = np.diff(np.append(starts, data.size))
    values = data[starts]
    sums = [part.sum() for part in np.split(data, starts[1:])]
    return values, lengths, np.array_equal(np.repeat(values, lengths), data), sums


def report():
    table = np.arange(12.0).reshape(3, 4) / 7
    table[1, 2] = np.nan
    lines = [f"{name}: {row[0]:.2f} .. {row[-1]:.2f}" for name, row in zip("abc", table, strict=True)]
    return lines, str(table.round(3)), repr(np.arange(4, dtype=np.int16)), np.nanmax(table).item()


def option_price():
    """Statistical: the price by simulation, how far it may be off, and the price in closed form."""
    spot, strike, rate, spread = 100.0, 105.0, 0.03, 0.2
    normal = np.random.default_rng(7).standard_normal(100_000)
    normal = np.concatenate([normal, -normal])
    final = spot * np.exp(rate - spread**2 / 2 + spread * normal)
    paid = math.exp(-rate) * np.maximum(final - strike, 0)
    d = (math.log(spot / strike) + rate) / spread + spread / 2
    below = [(1 + math.erf(v / math.sqrt(2))) / 2 for v in (d, d - spread)]
    exact = spot * below[0] - strike * math.exp(-rate) * below[1]
    return float(paid.mean()), float(paid.std() / math.sqrt(paid.size)), exact


def records_of_a_file():
    count, width = 6, 4
    raw = bytearray(struct.pack("<2i", count, width)) + struct.pack(f"<{count * width}h", *range(count * width))
    count, width = (int(n) for n in np.ndarray(2, dtype="<i4", buffer=raw))
    samples = np.ndarray((count, width), "<i2", raw, offset=8)
    column = np.ndarray(count, "<i2", raw, 8 + 2 * 3, strides=(2 * width,))
    mixed = np.ndarray((width, count), dtype=np.float64)
    for channel in range(width):
        mixed[channel] = samples[:, channel] - samples[:, channel].mean()
    table = np.ndarray(shape=(2, 3), dtype=float, order="F")
    table.fill(0.5)
    flat = (mixed * 2).copy()
    flat.shape = -1
    flat[::5] = 0
    flat.shape = width, count
    return samples, column, mixed, flat, table.flags["F_CONTIGUOUS"], bytes(samples[0]), isinstance(flat, np.ndarray)


class Signal(np.ndarray):
    """Samples that know their rate."""

    def __new__(cls, samples, rate):
        made = np.asarray(samples, dtype=float).view(cls)
        made.rate = rate
        return made

    def __array_finalize__(self, source):
        self.rate = getattr(source, "rate", None)

    @property
    def seconds(self):
        return self.shape[-1] / self.rate

    def every(self, step):
        part = self[..., ::step]
        part.rate = self.rate / step
        return part


def signals_that_know_their_rate():
    tone = Signal(np.sin(np.arange(64) * 0.3), 8)
    louder = 2 * tone + 1
    louder -= louder.mean()
    half = louder.every(2)
    pair = np.abs(half.reshape(2, -1))
    rates = [one.rate for one in (tone, louder, half, pair, np.sqrt(pair), pair.T, pair.max(axis=0))]
    assert all(isinstance(one, Signal) for one in (louder, half, pair, half > 0))
    return tone.seconds, half.seconds, rates, np.asarray(pair).sum(), half.view(np.ndarray)[:5]
