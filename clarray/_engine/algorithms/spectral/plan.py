"""Plan the polynomial iterations that compute the sign of a Hermitian matrix or the polar factor of a matrix.

The sign of a Hermitian matrix has the matrix's eigenvectors, with eigenvalues 1 or -1. The unitary polar factor has its
singular vectors, with singular values 1. Both are the limit of ::

    X  <-  a X + X (b Y + c Y Y),     Y = X^H X

which maps every eigenvalue (or singular value) x to p(x) = a x + b x^3 + c x^5. Each p is the polynomial of degree five
with the least maximal distance from 1 on [l, 1]. Here l is the least x that must converge. The next polynomial is
optimal on the image of this interval. But l never falls below a floor: for a smaller l the optimal polynomial is close
to zero at some x near 1, and rounding errors relative to x would be large relative to p(x).

References
----------
Y. Nakatsukasa, N. Higham, "Stable and Efficient Spectral Divide and Conquer Algorithms for the Symmetric Eigenvalue
Decomposition and the SVD", SIAM J. Sci. Comput. 35 (2013), section 4: no x may shrink by more than a small factor.
N. Amsel, D. Persson, C. Musco, R. Gower, "The Polar Express: Optimal Matrix Sign Methods and Their Application to the
Muon Algorithm" (2025): the composition of best odd polynomials is the best of all compositions.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

Quintic = tuple[float, float, float]

FLOOR = 0.3
HIGH_FLOOR = 0.5  # an eighth more steps; singular values of zero get two thirds of the error of the low floor
LAST: Quintic = (15 / 8, -10 / 8, 3 / 8)  # maps 1 - e to about 1 - 5 e^3 / 2
_ABOVE = 1e-4  # margin above 1: values that rounding moves there must not diverge
_MAX_STEPS = 64
_MAX_EXCHANGES = 64


@lru_cache(maxsize=256)
def schedule(least: float, end: float, floor: float = FLOOR) -> tuple[Quintic, ...]:
    """Return the sequence of polynomials that maps [least, 1] into [1 - end, 1].

    Parameters
    ----------
    least, end : float
        Between 0 and 1. The last interval is never shorter than three times the margin above 1.
    floor : float
        The least lower end of an interval that a polynomial is optimal on.
    """
    steps: list[Quintic] = []
    end = max(end, 3 * _ABOVE)
    while 1 - least > end and len(steps) < _MAX_STEPS:
        (a, b, c), error = _best_quintic(max(least, floor))
        largest = (1 + error) * (1 + _ABOVE)
        steps.append((a / largest, b / largest, c / largest))
        least = min(1 - error, a * least + b * least**3 + c * least**5) / largest
    return tuple(steps)


@lru_cache(maxsize=256)
def _best_quintic(low: float) -> tuple[Quintic, float]:
    """Return the odd quintic with the least maximal distance from 1 on [low, 1], and this distance (Remez 1934)."""
    inner = (3 * low + 1) / 4, (low + 3) / 4
    for _ in range(_MAX_EXCHANGES):
        points = np.array([low, *inner, 1.0])
        equations = np.stack([points, points**3, points**5, [1, -1, 1, -1]], 1)
        a, b, c, error = np.linalg.solve(equations, np.ones(4)).tolist()
        root = np.sqrt(9 * b * b - 20 * a * c)
        extrema = tuple(np.sqrt((-3 * b + sign * root) / (10 * c)) for sign in (-1, 1))
        if max(abs(x - y) for x, y in zip(extrema, inner, strict=True)) < 1e-12:
            break
        inner = extrema
    return (a, b, c), abs(error)
