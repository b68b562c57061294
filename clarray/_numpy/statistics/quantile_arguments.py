"""Checks of the arguments of quantiles: parts, weights, outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray
from clarray._numpy.manipulation import shapes
from clarray._numpy.statistics.quantile_methods import METHODS

__all__ = ["check_cast", "check_parts", "takes_elements", "weights_of"]


def check_parts(a: DeviceArray, q: np.ndarray, what: str) -> None:
    """Raise for complex elements, and for parts out of range or of more than two axes."""
    if a.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    valid = all(0.0 <= x <= 1.0 for x in q) if q.ndim == 1 and q.size < 10 else q.min() >= 0 and q.max() <= 1
    if not valid:
        raise ValueError(f"{what} must be in the range {'[0, 1]' if what == 'Quantiles' else '[0, 100]'}")
    if q.ndim > 2:
        raise ValueError("q must be a scalar or 1d")


def weights_of(weights: Any, a: DeviceArray, axis: Any, method: str) -> DeviceArray | None:
    """Return the weights in a shape that broadcasts to the shape of `a`."""
    if weights is None:
        return None
    if method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    given = as_array(weights, a.device)
    if axis is not None:
        axis = normalize_axis_tuple(axis, a.ndim, argname="axis")
    if given.shape != a.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if given.shape != tuple(a.shape[ax] for ax in axis):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        given = shapes.transpose(given, np.argsort(axis))
        shape = tuple(s if ax in axis else 1 for ax, s in enumerate(a.shape))
        given = shapes.broadcast_to(shapes.reshape(given, shape), a.shape)
    if given.size and bool((given < 0).any()):
        raise ValueError("Weights must be non-negative.")
    return given


def takes_elements(method: str, q: np.ndarray) -> bool:
    """Return whether quantiles are elements of the array, not interpolated between two of them."""
    return METHODS[method].gamma is None or (method == "linear" and q.dtype.kind in "biu")


def check_cast(found: np.dtype, wanted: np.dtype, taken: bool) -> None:
    """Raise for an output that NumPy refuses: it asks as `take` does, which asks the other way round, or as `add`."""
    first, second, rule = (wanted, found, "safe") if taken else (found, wanted, "same_kind")
    if not np.can_cast(first, second, rule):  # type: ignore[arg-type]
        raise TypeError(f"Cannot cast array data from {first!r} to {second!r} according to the rule {rule!r}")
