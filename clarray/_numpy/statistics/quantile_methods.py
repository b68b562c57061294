"""Positions of quantiles among sorted elements, by NumPy's thirteen methods.

A *virtual* position is a real number. The quantile is interpolated between the elements before and after it, with the
weight `gamma` between 0 and 1.

References
----------
R. Hyndman, Y. Fan, "Sample quantiles in statistical packages", 1996.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Method(NamedTuple):
    """A method of positioning quantiles.

    Parameters
    ----------
    virtual_position : callable
        Return the virtual position from the number of elements and the quantile, as integers if `gamma` is None.
    gamma : callable or None
        Return the weight of the later element from the fractional part of the virtual position, and the position.
    """

    virtual_position: Callable[[Any, Any], Any]
    gamma: Callable[[Any, Any], Any] | None


def _interpolating(alpha: float, beta: float) -> Callable[[Any, Any], Any]:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _linear_gamma(gamma: Any, virtual: Any) -> Any:
    return gamma


def _discontinuous(virtual: Any, lower: Any) -> Any:
    """Return the element before a virtual position if `lower` is true, else the one after, and at least element 0."""
    position = np.where(lower, np.floor(virtual), np.floor(virtual) + 1).astype(np.intp)
    return np.maximum(position, 0)


def _inverted(n: Any, q: Any) -> Any:
    virtual = np.asanyarray(n * q - 1)
    return _discontinuous(virtual, virtual == np.floor(virtual))


def _closest(n: Any, q: Any) -> Any:
    virtual = np.asanyarray(n * q - 1 - 0.5)
    below = np.floor(virtual)
    return _discontinuous(virtual, (virtual == below) & (below % 2 == 1))


def _rounded(function: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda n, q: function((n - 1) * q).astype(np.intp)


METHODS: dict[str, Method] = {
    "inverted_cdf": Method(_inverted, None),
    "averaged_inverted_cdf": Method(lambda n, q: n * q - 1, lambda gamma, virtual: np.where(gamma == 0, 0.5, 1.0)),
    "closest_observation": Method(_closest, None),
    "interpolated_inverted_cdf": Method(_interpolating(0, 1), _linear_gamma),
    "hazen": Method(_interpolating(0.5, 0.5), _linear_gamma),
    "weibull": Method(_interpolating(0, 0), _linear_gamma),
    "linear": Method(lambda n, q: (n - 1) * q, _linear_gamma),
    "median_unbiased": Method(_interpolating(1 / 3.0, 1 / 3.0), _linear_gamma),
    "normal_unbiased": Method(_interpolating(3 / 8.0, 3 / 8.0), _linear_gamma),
    "lower": Method(_rounded(np.floor), None),
    "higher": Method(_rounded(np.ceil), None),
    "midpoint": Method(
        lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
        lambda gamma, virtual: np.where(virtual % 1 == 0, 0.0, 0.5),
    ),
    "nearest": Method(_rounded(np.around), None),
}


def bounds(virtual: np.ndarray, count: Any, can_be_nan: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the elements before and after virtual positions. -1 is the last element."""
    low = np.asanyarray(np.floor(virtual))
    high = np.asanyarray(low + 1)
    above, below = virtual >= np.asarray(count) - 1, virtual < 0
    if can_be_nan:
        above = above | np.isnan(virtual)
    low, high = (np.where(above, -1, np.where(below, 0, k)).astype(np.intp) for k in (low, high))
    return low, high


def interpolation_weight(method: str, virtual: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Return the weight of the later element, in the dtype of the virtual position."""
    function = METHODS[method].gamma
    assert function is not None
    return np.asanyarray(function(np.asanyarray(virtual - low), virtual), dtype=virtual.dtype)
