"""The plan of a Fourier transform along an axis: its passes, and what each of them is specialised on.

A pass transforms the r values that lie m * s apart, for every position p below m and q below s (Stockham's order: no
reversal of bits before or after), and multiplies by the roots that the later passes need:

    read     x[o][k][p][q]      o: lines before the axis; the first pass has s = lines after the axis, and r * m = n
    write    y[o][p][j][q] = root(r * m) ** (p * j) * sum over k of root(r) ** (j * k) * x[o][k][p][q]

The next pass has [j][q] for its q and a part of p for its k: s grows by r, m falls to 1. A pass of r values is in
itself such a sequence, of butterflies of a few values each, in the cache of a core or in local memory.

What comes before the transform is done by the first pass as it loads, and what follows by the last one as it stores:
lengths that have a large prime are convolved with a chirp by two transforms of a length that has none (Bluestein).
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from clarray._engine.algorithms.fft.policy import FftPolicy
from clarray._engine.fast_dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np

# How a pass loads: complex values; reals; two neighbouring reals as one value; from a half spectrum all of it, or the
# transform of two neighbouring reals each; of that transform the spectrum of the reals.
COMPLEX, REAL, PAIRS, HERMITIAN, HALF, PARTED = "complex", "real", "pairs", "hermitian", "half", "parted"
# Steps between loading and transforming, and between that and storing.
SWAP, TABLE, SCALE = "swap", "table", "scale"  # parts change places (which turns the direction round), products


_BANKS_BYTES = 128  # of local memory that lie beside each other in its 32 banks


# Where in the tables of a pass each of them begins: names of the kernel's arguments.
PLACES = ("coarse", "fine", "shift", "lane_roots", "real_coarse", "real_fine", "real_shift", "before_at", "after_at")


class Ending(NamedTuple):
    """How a last pass reads the operands of what is done to its values.

    Parameters
    ----------
    accesses : tuple of str
        Per distinct operand: ``'const'``, ``'unit'`` (where the result is stored), ``'zero'`` (one element),
        ``'strided'`` or ``'index'``.
    rank : int
        Axes of the result that the last two are moved along.
    """

    accesses: tuple[str, ...]
    rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PassPlan:
    """What the source of a pass is specialised on.

    Parameters
    ----------
    radices : tuple of int
        Of the butterflies, first to last.
    work : dtype
        Of the parts: float32 or float64.
    accesses : tuple of str
        Per distinct input: ``'const'``, ``'index'`` or ``'strided'``.
    rank : int
        Axes that the lines lie along.
    real : bool
        Whether the values loaded are real.
    load, store : str
        COMPLEX, or another form.
    before, after : tuple of str
        Steps.
    rooted : bool
        Whether passes follow.
    padded, bounded, cropped : bool
        Whether some values are not there to be loaded, some are zero whatever is loaded, and some are not stored.
    plain : bool
        Whether values are loaded as they lie in memory, with no step but SWAP.
    across, out_across : bool
        Whether neighbouring lines, or positions, lie closer together than the values of a line, where they are loaded
        and where they are stored.
    lanes : int
        Lines side by side, in a vector or of a work-group.
    index : str
        C type of positions.
    policy : FftPolicy
    ending : Ending or None
        What is done before storing, besides the steps.
    """

    radices: tuple[int, ...]
    work: np.dtype
    accesses: tuple[str, ...]
    rank: int
    real: bool
    load: str
    store: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    rooted: bool
    padded: bool
    bounded: bool
    cropped: bool
    plain: bool
    across: bool
    out_across: bool
    lanes: int
    index: str
    policy: FftPolicy
    ending: Ending | None = None

    @property
    def points(self) -> int:
        return prod(self.radices)


class Pass(NamedTuple):
    """A pass over (outer, points, m, s)."""

    points: int
    m: int
    s: int


def prime_factors(n: int) -> list[int]:
    """The prime factors of a positive number, smallest first."""
    found, p = [], 2
    while p * p <= n:
        while n % p == 0:
            found.append(p)
            n //= p
        p += 1 if p == 2 else 2
    return [*found, n] if n > 1 else found


def most_points(policy: FftPolicy, itemsize: int) -> int:
    """Values that a pass may transform; `itemsize` is that of a part."""
    return policy.pass_bytes // (2 * itemsize)


def bank_shift(itemsize: int) -> int:
    """Log 2 of the values after which local memory has a gap, so that no stride of 2**k meets one bank only."""
    return (_BANKS_BYTES // (2 * itemsize)).bit_length() - 1


def computed_roots(policy: FftPolicy, itemsize: int) -> bool:
    """Whether the roots between passes are computed: tables of them would be read at random.

    Parts in double precision take tables: on most GPUs they are slow to compute with.
    """
    return not policy.chunked and itemsize == 4


@lru_cache(maxsize=4096)
def direct(n: int, policy: FftPolicy, itemsize: int) -> bool:
    """Whether a length is made of primes that are transformed as such."""
    return max(prime_factors(n), default=1) <= min(policy.prime, most_points(policy, itemsize) // policy.lines)


@lru_cache(maxsize=4096)
def convolved(n: int, policy: FftPolicy, itemsize: int) -> int:
    """The length, of small primes only, of transforms that convolve `n` values with a chirp."""
    small = [p for p in (3, 5) if direct(p, policy, itemsize)]
    best = 1 << (2 * n - 2).bit_length()
    sizes = [1]
    for p in small:
        sizes = [size * p**k for size in sizes for k in range(4)]
    for odd in sizes:
        size = odd << max(0, (-(-(2 * n - 1) // odd) - 1).bit_length())
        best = min(best, size)
    return best


@lru_cache(maxsize=4096)
def passes(n: int, outer: int, inner: int, policy: FftPolicy, itemsize: int) -> tuple[Pass, ...]:
    """Divide a length into passes.

    A CPU takes several lines side by side, so a single long one takes two passes; a GPU reads some neighbouring lines
    together where the values of one lie apart. Otherwise as few as there may be.
    """
    most = most_points(policy, itemsize)
    lanes = max(1, policy.vector_bytes // itemsize)
    if policy.chunked:
        one = n <= most and (outer * inner >= lanes or n < lanes * lanes)
    else:
        one = n <= most // min(policy.lines, inner)
    sizes = [n] if one else _divided(n, max(1, most // policy.lines))
    found, s = [], inner
    left = n
    for size in sizes:
        left //= size
        found.append(Pass(size, left, s))
        s *= size
    return tuple(found)


def _divided(n: int, most: int) -> list[int]:
    """Factors of about the same size, none of more than `most`, as few as there may be."""
    factors = prime_factors(n)
    divisors = [1]
    for p in sorted(set(factors)):
        divisors = [d * p**k for d in divisors for k in range(factors.count(p) + 1)]
    count = 2
    while most**count < n:
        count += 1
    while True:
        sizes = _equal_parts(n, count, sorted(d for d in divisors if 1 < d <= most))
        if max(sizes) <= most:
            return sizes
        count += 1


def _equal_parts(n: int, count: int, divisors: list[int]) -> list[int]:
    sizes = []
    for left in range(count, 1, -1):
        possible = [d for d in divisors if n % d == 0]
        if not possible or n == 1:
            break
        goal = n ** (1 / left)
        sizes.append(min(possible, key=lambda d: max(d / goal, goal / d)))
        n //= sizes[-1]
    return [*sizes, n] if n > 1 or not sizes else sizes


@lru_cache(maxsize=4096)
def radices(points: int, largest: int, joined: bool) -> tuple[int, ...]:
    """The butterflies of a pass.

    Parameters
    ----------
    largest : int
        Of those that are made of several primes.
    joined : bool
        Of any primes, as few and as equal butterflies as may be; else twos joined up to `largest`, and threes in pairs.
    """
    if joined:
        alone = [p for p in prime_factors(points) if p > largest]
        return (*reversed(alone), *_fewest(points // prod(alone), largest)) or (1,)
    factors = prime_factors(points)
    twos, threes = factors.count(2), factors.count(3)
    found = sorted((p for p in factors if p > 3), reverse=True)
    found += [9] * (threes // 2) if largest >= 9 else [3] * (threes // 2 * 2)
    found += [3] * (threes % 2)
    bits = largest.bit_length() - 1
    stages = -(-twos // bits)
    cuts = [twos * k // stages for k in range(stages + 1)] if stages else []
    found += sorted((1 << to - start for start, to in pairwise(cuts)), reverse=True)
    return tuple(found) or (1,)


@lru_cache(maxsize=4096)
def _fewest(n: int, largest: int) -> tuple[int, ...]:
    """The fewest factors of a number, none above `largest`, the largest first, which is as small as may be."""
    if n == 1:
        return ()
    found = [
        (r, *rest)
        for r in range(min(n, largest), 1, -1)
        if n % r == 0 and max(rest := _fewest(n // r, largest), default=1) <= r
    ]
    return min(found, key=lambda factors: (len(factors), factors[0]))


def lanes(policy: FftPolicy, points: int, first_radix: int, itemsize: int, units: int) -> int:
    """Lines that are taken side by side: a vector's lanes, or what keeps a work-group busy."""
    if policy.chunked:
        return max(1, policy.vector_bytes // itemsize)
    room = max(1, most_points(policy, itemsize) // points)
    wanted = max(policy.lines, policy.work_group * first_radix // points)
    return max(1, min(room, wanted, units))
