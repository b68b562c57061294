"""Where a quantile lies among sorted elements, by NumPy's thirteen methods: plain arithmetic.

A *virtual* place is a real number; an element before it, one after it and `gamma` between 0 and 1
say what the quantile is.

References
----------
R. Hyndman, Y. Fan, "Sample quantiles in statistical packages", 1996.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Method(NamedTuple):
    """One way to place quantiles.

    Parameters
    ----------
    place : callable
        Virtual place from the number of elements and the quantile; integers where `gamma` is None.
    gamma : callable or None
        The weight of the element after, from what the place has behind the point and the place.
    """

    place: Callable[[Any, Any], Any]
    gamma: Callable[[Any, Any], Any] | None


def _by(alpha: float, beta: float) -> Callable[[Any, Any], Any]:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _same(gamma: Any, place: Any) -> Any:
    return gamma


def _boundary(place: Any, first: Any) -> Any:
    """The element before a place where `first` holds, else the one after; none before the first."""
    found = np.where(first, np.floor(place), np.floor(place) + 1).astype(np.intp)
    return np.maximum(found, 0)


def _inverted(n: Any, q: Any) -> Any:
    place = np.asanyarray(n * q - 1)
    return _boundary(place, place == np.floor(place))


def _closest(n: Any, q: Any) -> Any:
    place = np.asanyarray(n * q - 1 - 0.5)
    below = np.floor(place)
    return _boundary(place, (place == below) & (below % 2 == 1))


def _rounded(function: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda n, q: function((n - 1) * q).astype(np.intp)


METHODS: dict[str, Method] = {
    "inverted_cdf": Method(_inverted, None),
    "averaged_inverted_cdf": Method(lambda n, q: n * q - 1, lambda gamma, place: np.where(gamma == 0, 0.5, 1.0)),
    "closest_observation": Method(_closest, None),
    "interpolated_inverted_cdf": Method(_by(0, 1), _same),
    "hazen": Method(_by(0.5, 0.5), _same),
    "weibull": Method(_by(0, 0), _same),
    "linear": Method(lambda n, q: (n - 1) * q, _same),
    "median_unbiased": Method(_by(1 / 3.0, 1 / 3.0), _same),
    "normal_unbiased": Method(_by(3 / 8.0, 3 / 8.0), _same),
    "lower": Method(_rounded(np.floor), None),
    "higher": Method(_rounded(np.ceil), None),
    "midpoint": Method(
        lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
        lambda gamma, place: np.where(place % 1 == 0, 0.0, 0.5),
    ),
    "nearest": Method(_rounded(np.around), None),
}


def bounds(virtual: np.ndarray, count: Any, nan_places: bool) -> tuple[np.ndarray, np.ndarray]:
    """The elements before and after virtual places; -1 is the last one."""
    low = np.asanyarray(np.floor(virtual))
    high = np.asanyarray(low + 1)
    above, below = virtual >= np.asarray(count) - 1, virtual < 0
    if nan_places:
        above = above | np.isnan(virtual)
    low, high = (np.where(above, -1, np.where(below, 0, k)).astype(np.intp) for k in (low, high))
    return low, high


def gamma_of(method: str, virtual: np.ndarray, low: np.ndarray) -> np.ndarray:
    """The weight of the element after, in the dtype of the virtual place."""
    function = METHODS[method].gamma
    assert function is not None
    return np.asanyarray(function(np.asanyarray(virtual - low), virtual), dtype=virtual.dtype)
