"""Products with a vector by the short way: no labels, no plan, a multiplication and a sum that are fused."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray
from clarray._core.elements import computed_number
from clarray._core.ufunc_calls import cast, evaluate_if_eager
from clarray._core.views import make_view, view_of
from clarray._engine.evaluate import device_of
from clarray._engine.expr import build
from clarray._engine.expr.node import MASKED
from clarray._engine.expr.view import View
from clarray._engine.ops.dtypes import wide_dtype
from clarray._engine.ops.monoids import fold_monoid, reduction_op
from clarray._engine.ops.ufuncs import exact_product_loop, find_loop
from clarray._engine.runtime import Device
from clarray._engine.speedups import accelerated

_steps: dict[Any, tuple[Any, Any]] = {}  # of a dtype and the numbers of axes: the multiplication, and the sum


def product_loop(dtype: np.dtype) -> Any:
    """The multiplication whose results are summed."""
    wide = wide_dtype(dtype)
    if wide.kind == "f":
        return exact_product_loop(wide)
    ufunc = np.logical_and if dtype.kind == "b" else np.multiply
    return find_loop(ufunc, (wide, wide), (wide,))


def vector_product_steps(dtype: np.dtype, ndims: tuple[int, int]) -> tuple[Any, Any]:
    ufunc = np.logical_or if dtype.kind == "b" else np.add
    axis = 1 if ndims == (2, 1) else 0
    op = reduction_op(fold_monoid(ufunc, wide_dtype(dtype)), (axis,), max(ndims), False)
    found = _steps[dtype, ndims] = product_loop(dtype), op
    return found


@accelerated
def vector_product(a: Any, b: Any) -> DeviceArray | None:
    """``a @ b`` of two vectors, or of a vector and a matrix; None where it is not that simple.

    Not simple are operands of two dtypes, empty ones, selections by a mask, and what does not fit.
    """
    if type(a) is not DeviceArray or type(b) is not DeviceArray:
        return None
    left, right = a._node, b._node
    dtype = left.dtype
    if right.dtype is not dtype or (left.flags | right.flags) & MASKED:
        return None
    shape = left.shape
    ndims = len(shape), len(right.shape)
    if ndims not in _PLACES or shape[-1] != right.shape[0] or not left.size or not right.size:
        return None
    if ndims == (1, 2):
        view = view_of(a)
        left = make_view(a, View((shape[0], 1), (view.strides[0], 0), view.offset))._node
    loop, op = _steps.get((dtype, ndims)) or vector_product_steps(dtype, ndims)
    node = build.reduction(op, (build.binary(loop, left, right),), shape[:-1] if ndims[1] == 1 else right.shape[1:])
    if Device.several:
        device_of(node.inputs)  # raises where they are on two
    node = cast(node, dtype)
    return evaluate_if_eager(node if node.shape else computed_number(node))


_PLACES = {(1, 1), (2, 1), (1, 2)}

__all__ = ["product_loop", "vector_product"]
