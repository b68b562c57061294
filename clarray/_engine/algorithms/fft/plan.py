"""Plan Fourier transforms along an axis: divide a length into passes, and choose their butterflies.

A pass transforms r values with a stride of m * s, for every position p below m and q below s, and multiplies them by
the roots that the later passes need (Stockham's order, which needs no bit reversal):

    read     x[o][k][p][q]      o: lines before the axis; the first pass has s = lines after the axis, and r * m = n
    write    y[o][p][j][q] = root(r * m) ** (p * j) * sum over k of root(r) ** (j * k) * x[o][k][p][q]

The q of the next pass is [j][q], and its k is a part of p. So s grows by a factor of r until m is 1. Within a pass,
butterflies of a few values transform the r values in the same way, in the cache of a core or in local memory.

The first pass computes the operand while it loads, and the last pass computes the epilogue while it stores. Lengths
with a large prime factor are convolved with a chirp, by two transforms of a length without large primes (Bluestein).
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

# Forms in which a pass loads or stores values. COMPLEX: complex values. REAL: reals. PAIRS: two neighbouring reals as
# a complex value. HERMITIAN: a whole spectrum from half of it. HALF: the transform of PAIRS from half a spectrum, or
# half a spectrum from it. PARTED: the spectrum of the reals from the transform of PAIRS.
COMPLEX, REAL, PAIRS, HERMITIAN, HALF, PARTED = "complex", "real", "pairs", "hermitian", "half", "parted"
# Steps between loading and transforming, and between transforming and storing. SWAP exchanges real and imaginary parts,
# which reverses the direction. TABLE multiplies by a chirp, and SCALE by the scale.
SWAP, TABLE, SCALE = "swap", "table", "scale"


_BANKS_BYTES = 128  # of the 32 banks of local memory, 4 bytes each


# The kernel arguments for the offsets of the tables of a pass.
TABLE_ARGUMENTS = (
    "coarse",
    "fine",
    "shift",
    "lane_roots",
    "real_coarse",
    "real_fine",
    "real_shift",
    "before_at",
    "after_at",
)


class EpiloguePlan(NamedTuple):
    """The accesses to the operands of an epilogue.

    Parameters
    ----------
    accesses : tuple of str
        The access class of each distinct operand: ``'const'``, ``'unit'`` (the strides of the result), ``'zero'`` (one
        element), ``'strided'`` or ``'index'``.
    rank : int
        Number of axes of the loop over operands of the last two classes.
    """

    accesses: tuple[str, ...]
    rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PassPlan:
    """The specialization of the kernel of a pass.

    Parameters
    ----------
    radices : tuple of int
        Radices of the butterflies, first to last.
    work : dtype
        The dtype of real and imaginary parts: float32 or float64.
    accesses : tuple of str
        The access class of each distinct input: ``'const'``, ``'index'`` or ``'strided'``.
    rank : int
        Number of axes of the loop over lines.
    real : bool
        Whether the operand is real.
    load, store : str
        Forms of the loaded and the stored values.
    before, after : tuple of str
        Steps before and after the transform.
    rooted : bool
        Whether the outputs are multiplied by roots for later passes.
    padded, bounded, cropped : bool
        Whether some values lie beyond the operand, some loaded values are replaced by zeros, and some outputs are not
        stored.
    plain : bool
        Whether values are loaded from memory without a conversion or a step other than SWAP.
    across, out_across : bool
        Whether the stride between lines or positions is smaller than the stride along a line, for loads and for
        stores.
    lanes : int
        Lines per vector or per work-group.
    index : str
        C type of positions.
    policy : FftPolicy
    epilogue : EpiloguePlan or None
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
    epilogue: EpiloguePlan | None = None

    @property
    def points(self) -> int:
        return prod(self.radices)


class Pass(NamedTuple):
    """A pass over an array of shape (outer, points, m, s), which transforms the axis of `points` values."""

    points: int
    m: int
    s: int


def prime_factors(n: int) -> list[int]:
    """Return the prime factors of a positive number, smallest first."""
    factors, p = [], 2
    while p * p <= n:
        while n % p == 0:
            factors.append(p)
            n //= p
        p += 1 if p == 2 else 2
    return [*factors, n] if n > 1 else factors


def max_points(policy: FftPolicy, itemsize: int) -> int:
    """Return the largest number of values that a pass transforms. `itemsize` is the size of a real part."""
    return policy.pass_bytes // (2 * itemsize)


def bank_shift(itemsize: int) -> int:
    """Return log 2 of the values between two gaps in local memory, which avoid bank conflicts of strides of 2**k."""
    return (_BANKS_BYTES // (2 * itemsize)).bit_length() - 1


def computed_roots(policy: FftPolicy, itemsize: int) -> bool:
    """Return whether a pass computes the roots for later passes, because reads of tables would be scattered.

    Double precision uses tables, because most GPUs compute slowly in double precision.
    """
    return not policy.chunked and itemsize == 4


@lru_cache(maxsize=4096)
def is_direct(n: int, policy: FftPolicy, itemsize: int) -> bool:
    """Return whether butterflies exist for all prime factors of a length."""
    return max(prime_factors(n), default=1) <= min(policy.prime, max_points(policy, itemsize) // policy.lines)


@lru_cache(maxsize=4096)
def convolution_length(n: int, policy: FftPolicy, itemsize: int) -> int:
    """Return the shortest length with small prime factors for the convolution of `n` values with a chirp."""
    small = [p for p in (3, 5) if is_direct(p, policy, itemsize)]
    best = 1 << (2 * n - 2).bit_length()
    sizes = [1]
    for p in small:
        sizes = [size * p**k for size in sizes for k in range(4)]
    for odd_factor in sizes:
        size = odd_factor << max(0, (-(-(2 * n - 1) // odd_factor) - 1).bit_length())
        best = min(best, size)
    return best


@lru_cache(maxsize=4096)
def passes(n: int, outer: int, inner: int, policy: FftPolicy, itemsize: int) -> tuple[Pass, ...]:
    """Divide a length into passes.

    As few passes as possible, with two exceptions. A CPU transforms one line per lane of a vector, so a single long
    line needs two passes. A GPU loads neighbouring lines together if the values of a line are not contiguous.
    """
    points = max_points(policy, itemsize)
    lanes = max(1, policy.vector_bytes // itemsize)
    if policy.chunked:
        single = n <= points and (outer * inner >= lanes or n < lanes * lanes)
    else:
        single = n <= points // min(policy.lines, inner)
    sizes = [n] if single else _balanced_factors(n, max(1, points // policy.lines))
    sequence, s, m = [], inner, n
    for size in sizes:
        m //= size
        sequence.append(Pass(size, m, s))
        s *= size
    return tuple(sequence)


def _balanced_factors(n: int, largest: int) -> list[int]:
    """Return the fewest factors of a number, of about the same size, and none above `largest`."""
    factors = prime_factors(n)
    divisors = [1]
    for p in sorted(set(factors)):
        divisors = [d * p**k for d in divisors for k in range(factors.count(p) + 1)]
    count = 2
    while largest**count < n:
        count += 1
    while True:
        sizes = _equal_parts(n, count, sorted(d for d in divisors if 1 < d <= largest))
        if max(sizes) <= largest:
            return sizes
        count += 1


def _equal_parts(n: int, count: int, divisors: list[int]) -> list[int]:
    sizes = []
    for remaining in range(count, 1, -1):
        possible = [d for d in divisors if n % d == 0]
        if not possible or n == 1:
            break
        goal = n ** (1 / remaining)
        sizes.append(min(possible, key=lambda d: max(d / goal, goal / d)))
        n //= sizes[-1]
    return [*sizes, n] if n > 1 or not sizes else sizes


@lru_cache(maxsize=4096)
def radices(points: int, largest: int, joined: bool) -> tuple[int, ...]:
    """Return the radices of the butterflies of a pass.

    Parameters
    ----------
    largest : int
        The largest composite radix.
    joined : bool
        Whether to combine any primes into as few and equal radices as possible. Otherwise only twos are combined, up
        to `largest`, and pairs of threes.
    """
    if joined:
        primes = [p for p in prime_factors(points) if p > largest]
        return (*reversed(primes), *_fewest_factors(points // prod(primes), largest)) or (1,)
    factors = prime_factors(points)
    twos, threes = factors.count(2), factors.count(3)
    radices = sorted((p for p in factors if p > 3), reverse=True)
    radices += [9] * (threes // 2) if largest >= 9 else [3] * (threes // 2 * 2)
    radices += [3] * (threes % 2)
    bits = largest.bit_length() - 1
    stages = -(-twos // bits)
    cuts = [twos * k // stages for k in range(stages + 1)] if stages else []
    radices += sorted((1 << to - start for start, to in pairwise(cuts)), reverse=True)
    return tuple(radices) or (1,)


@lru_cache(maxsize=4096)
def _fewest_factors(n: int, largest: int) -> tuple[int, ...]:
    """Return the fewest factors up to `largest`, in descending order, with the smallest possible first factor."""
    if n == 1:
        return ()
    candidates = [
        (r, *rest)
        for r in range(min(n, largest), 1, -1)
        if n % r == 0 and max(rest := _fewest_factors(n // r, largest), default=1) <= r
    ]
    return min(candidates, key=lambda factors: (len(factors), factors[0]))


def lanes(policy: FftPolicy, points: int, first_radix: int, itemsize: int, units: int) -> int:
    """Return the lines per vector, or the lines that keep a work-group busy."""
    if policy.chunked:
        return max(1, policy.vector_bytes // itemsize)
    fitting = max(1, max_points(policy, itemsize) // points)
    busy = max(policy.lines, policy.work_group * first_radix // points)
    return max(1, min(fitting, busy, units))
