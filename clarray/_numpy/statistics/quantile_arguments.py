"""Checks of the arguments of quantiles: fractions, weights, outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray
from clarray._numpy.manipulation import shapes
from clarray._numpy.statistics.quantile_methods import METHODS

__all__ = ["check_cast", "check_parts", "selects_elements", "broadcast_weights"]


def check_parts(a: DeviceArray, q: np.ndarray, label: str) -> None:
    """Raise for complex elements, and for fractions out of range or with more than two axes."""
    if a.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    valid = all(0.0 <= x <= 1.0 for x in q) if q.ndim == 1 and q.size < 10 else q.min() >= 0 and q.max() <= 1
    if not valid:
        raise ValueError(f"{label} must be in the range {'[0, 1]' if label == 'Quantiles' else '[0, 100]'}")
    if q.ndim > 2:
        raise ValueError("q must be a scalar or 1d")


def broadcast_weights(weights: Any, a: DeviceArray, axis: Any, method: str) -> DeviceArray | None:
    """Return the weights in a shape that broadcasts to the shape of `a`."""
    if weights is None:
        return None
    if method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    weight_array = as_array(weights, a.device)
    if axis is not None:
        axis = normalize_axis_tuple(axis, a.ndim, argname="axis")
    if weight_array.shape != a.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if weight_array.shape != tuple(a.shape[ax] for ax in axis):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        weight_array = shapes.transpose(weight_array, np.argsort(axis))
        shape = tuple(s if ax in axis else 1 for ax, s in enumerate(a.shape))
        weight_array = shapes.broadcast_to(shapes.reshape(weight_array, shape), a.shape)
    if weight_array.size and bool((weight_array < 0).any()):
        raise ValueError("Weights must be non-negative.")
    return weight_array


def selects_elements(method: str, q: np.ndarray) -> bool:
    """Return whether quantiles are elements of the array, not interpolated between two of them."""
    return METHODS[method].gamma is None or (method == "linear" and q.dtype.kind in "biu")


def check_cast(result_dtype: np.dtype, out_dtype: np.dtype, selected: bool) -> None:
    """Raise for an output dtype to which NumPy does not cast. Like `take`, it checks the inverse cast, else `add`'s."""
    first, second, rule = (out_dtype, result_dtype, "safe") if selected else (result_dtype, out_dtype, "same_kind")
    if not np.can_cast(first, second, rule):  # type: ignore[arg-type]
        raise TypeError(f"Cannot cast array data from {first!r} to {second!r} according to the rule {rule!r}")
