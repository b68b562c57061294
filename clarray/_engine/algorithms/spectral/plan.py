"""The plan of eigenvalues by splitting: polynomials whose values on a matrix are nearer to its sign, or polar factor.

The sign of a Hermitian matrix has its eigenvectors, and 1 or -1 for each eigenvalue; a polar factor has the singular
vectors of a matrix, and 1 for each singular value. Both are the limit of ::

    X  <-  a X + X (b Y + c Y Y),     Y = X^H X

which takes every eigenvalue (or singular value) x to p(x) = a x + b x^3 + c x^5. The polynomials are the best ones: of
those of degree five, p has the least distance from 1 on [l, 1], where l is the least x that is to reach 1, and the next
one is the best on what that has become. But p is never made for an l below a floor: there the best ones come close to
zero at some x near 1 as well, and what is rounded beside a large x would be large beside p(x).

References
----------
Y. Nakatsukasa, N. Higham, "Stable and Efficient Spectral Divide and Conquer Algorithms for the Symmetric Eigenvalue
Decomposition and the SVD", SIAM J. Sci. Comput. 35 (2013), section 4: why no x may lose more than a small factor.
N. Amsel, D. Persson, C. Musco, R. Gower, "The Polar Express: Optimal Matrix Sign Methods and Their Application to the
Muon Algorithm" (2025): the composition of best odd polynomials is the best of all compositions.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

Quintic = tuple[float, float, float]

FLOOR = 0.3
HIGH_FLOOR = 0.5  # an eighth more steps, and two thirds of the error that a low one leaves where values lie on zero
LAST: Quintic = (15 / 8, -10 / 8, 3 / 8)  # what is e from 1 is some 5 e^3 / 2 from it afterwards
_ABOVE = 1e-4  # what is above 1 by rounding is not to be taken further away
_MOST_STEPS = 64
_EXCHANGES = 64


@lru_cache(maxsize=256)
def schedule(least: float, end: float, floor: float = FLOOR) -> tuple[Quintic, ...]:
    """Polynomials, one after the other, that take [least, 1] into [1 - end, 1].

    Parameters
    ----------
    least, end : float
        Between 0 and 1; as near to 1 as rounding lets it be where `end` is less than that.
    floor : float
        The smallest number that a polynomial is made for.
    """
    steps: list[Quintic] = []
    end = max(end, 3 * _ABOVE)
    while 1 - least > end and len(steps) < _MOST_STEPS:
        (a, b, c), error = _best(max(least, floor))
        largest = (1 + error) * (1 + _ABOVE)
        steps.append((a / largest, b / largest, c / largest))
        least = min(1 - error, a * least + b * least**3 + c * least**5) / largest
    return tuple(steps)


@lru_cache(maxsize=256)
def _best(low: float) -> tuple[Quintic, float]:
    """The odd polynomial of degree five that is nearest to 1 on [low, 1], and how near, by exchanges (Remez 1934)."""
    inner = (3 * low + 1) / 4, (low + 3) / 4
    for _ in range(_EXCHANGES):
        points = np.array([low, *inner, 1.0])
        equations = np.stack([points, points**3, points**5, [1, -1, 1, -1]], 1)
        a, b, c, error = np.linalg.solve(equations, np.ones(4)).tolist()
        root = np.sqrt(9 * b * b - 20 * a * c)
        turns = tuple(np.sqrt((-3 * b + sign * root) / (10 * c)) for sign in (-1, 1))
        if max(abs(x - y) for x, y in zip(turns, inner, strict=True)) < 1e-12:
            break
        inner = turns
    return (a, b, c), abs(error)
