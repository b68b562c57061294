"""Bytes and bits: checksums, text, counting and sorting by hand."""

from __future__ import annotations

import numpy as np

from workloads.row import program


def octets(r, *shape):
    return (r.integers(0, 256, shape, dtype=np.uint8),)


@program(octets, tiny=(6,), small=(3000,), medium=(80_000,), large=(1_200_000,))
def crc16(xp, data):
    """Byte by byte, in Python's integers."""
    crc = 0xFFFF
    for byte in data:
        crc ^= int(byte) << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


@program(octets, tiny=(5, 3), small=(500, 40), medium=(20_000, 120), large=(200_000, 150))
def crc32_of_many(xp, messages):
    """Bit by bit, of many messages side by side."""
    crc = xp.full(len(messages), 0xFFFFFFFF, dtype=xp.uint32)
    for column in messages.T:
        crc ^= column
        for _ in range(8):
            crc = xp.where(crc & 1, (crc >> 1) ^ 0xEDB88320, crc >> 1)
    return ~crc


@program(
    lambda r, n: (r.integers(0, 2**32, n, dtype=np.uint32),),
    tiny=(9,),
    small=(60_000,),
    medium=(2_000_000,),
    large=(10_000_000,),
)
def reversed_bits(xp, words):
    """Bit by bit: the words backwards, and how many bits are set."""
    turned, count = xp.zeros_like(words), xp.zeros_like(words)
    for _ in range(32):
        turned = turned << 1 | words & 1
        count += words & 1
        words = words >> 1
    return turned, count


def text(r, n):
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyzetaoinETA     ,.", dtype=np.uint8)
    return (letters[r.integers(0, len(letters), n)],)


@program(text, tiny=(80,), small=(200_000,), medium=(4_000_000,), large=(40_000_000,))
def text_statistics(xp, text):
    """Letters, pairs of letters and lengths of words, over bytes."""
    upper = (text >= 65) & (text <= 90)
    text = xp.where(upper, text + 32, text)
    letter = (text >= 97) & (text <= 122)
    counts = xp.bincount(text, minlength=256)[97:123]
    both = letter[1:] & letter[:-1]
    first, second = text[:-1][both].astype(int) - 97, text[1:][both].astype(int) - 97
    pairs = xp.bincount(26 * first + second, minlength=676).reshape(26, 26)
    edge = xp.zeros(len(text) + 2, dtype=bool)
    edge[1:-1] = letter
    starts, ends = xp.flatnonzero(edge[1:] & ~edge[:-1]), xp.flatnonzero(edge[:-1] & ~edge[1:])
    lengths = ends - starts
    return counts, pairs, xp.bincount(lengths, minlength=20)[:20], lengths.mean(), upper.sum()


@program(
    lambda r, n, bins: (r.standard_normal(n), bins),
    tiny=(50, 4),
    small=(20_000, 80),
    medium=(300_000, 250),
    large=(2_000_000, 400),
)
def histogram_by_hand(xp, x, bins):
    low, high = float(x.min()), float(x.max())
    width = (high - low) / bins
    counts, means = xp.zeros(bins, dtype=int), xp.zeros(bins)
    for b in range(bins):
        inside = (x >= low + b * width) & (x < low + (b + 1) * width)
        counts[b] = inside.sum()
        if counts[b] > 0:
            means[b] = x[inside].mean()
    return counts, means


@program(
    lambda r, n, rings: (r.random((n, n)), rings), tiny=(9, 3), small=(120, 100), medium=(600, 300), large=(2000, 400)
)
def radial_profile(xp, image, rings):
    """The mean of an image in rings about its middle."""
    n = len(image)
    y, x = xp.arange(n)[:, None] - (n - 1) / 2, xp.arange(n) - (n - 1) / 2
    radius = xp.sqrt(x**2 + y**2)
    profile = xp.zeros(rings)
    for k in range(rings):
        inside = xp.logical_and(radius >= k * n / 2 / rings, radius < (k + 1) * n / 2 / rings)
        profile[k] = image[inside].mean() if inside.any() else 0
    return profile


@program(lambda r, power: (r.random(2**power, dtype=np.float32),), tiny=(4,), small=(12,), medium=(17,), large=(20,))
def bitonic_sort(xp, x):
    n, block = len(x), 2
    while block <= n:
        half = block // 2
        while half > 0:
            pairs = x.reshape(-1, 2, half)
            rising = (xp.arange(n // (2 * half)) * 2 * half // block % 2 == 0)[:, None]
            low, high = xp.minimum(pairs[:, 0], pairs[:, 1]), xp.maximum(pairs[:, 0], pairs[:, 1])
            x = xp.stack((xp.where(rising, low, high), xp.where(rising, high, low)), axis=1).reshape(-1)
            half //= 2
        block *= 2
    return x


@program(lambda r, n, m: (r.random((n, m)),), tiny=(5, 4), small=(100, 300), medium=(200, 2000), large=(400, 4500))
def odd_even_sort(xp, x):
    """Neighbours change places, in place: each column of a table is sorted."""
    for step in range(len(x)):
        first, second = x[step % 2 : -1 : 2], x[step % 2 + 1 :: 2]
        low, high = xp.minimum(first, second), xp.maximum(first, second)
        first[:] = low
        second[:] = high
    return x
