"""Fast path for products with a vector: a fused multiplication and sum, without labels and without a plan."""

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

_steps: dict[Any, tuple[Any, Any]] = {}  # multiplication and sum by the dtype and the operands' numbers of axes


def product_loop(dtype: np.dtype) -> Any:
    """Return the multiplication loop of a sum of products."""
    wide = wide_dtype(dtype)
    if wide.kind == "f":
        return exact_product_loop(wide)
    ufunc = np.logical_and if dtype.kind == "b" else np.multiply
    return find_loop(ufunc, (wide, wide), (wide,))


def vector_product_steps(dtype: np.dtype, ndims: tuple[int, int]) -> tuple[Any, Any]:
    ufunc = np.logical_or if dtype.kind == "b" else np.add
    axis = 1 if ndims == (2, 1) else 0
    op = reduction_op(fold_monoid(ufunc, wide_dtype(dtype)), (axis,), max(ndims), False)
    loops = _steps[dtype, ndims] = product_loop(dtype), op
    return loops


@accelerated
def vector_product(a: Any, b: Any) -> DeviceArray | None:
    """Return ``a @ b`` of two vectors or of a vector and a matrix, or None if the general path must compute it.

    The general path takes operands of different dtypes, empty operands, selections by a mask, and shapes that do not
    fit.
    """
    if type(a) is not DeviceArray or type(b) is not DeviceArray:
        return None
    a_node, b_node = a._node, b._node
    dtype = a_node.dtype
    if b_node.dtype is not dtype or (a_node.flags | b_node.flags) & MASKED:
        return None
    shape = a_node.shape
    ndims = len(shape), len(b_node.shape)
    if ndims not in _NDIMS or shape[-1] != b_node.shape[0] or not a_node.size or not b_node.size:
        return None
    if ndims == (1, 2):
        view = view_of(a)
        a_node = make_view(a, View((shape[0], 1), (view.strides[0], 0), view.offset))._node
    loop, op = _steps.get((dtype, ndims)) or vector_product_steps(dtype, ndims)
    node = build.reduction(op, (build.binary(loop, a_node, b_node),), shape[:-1] if ndims[1] == 1 else b_node.shape[1:])
    if Device.several:
        device_of(node)  # raises for operands on two devices
    node = cast(node, dtype)
    return evaluate_if_eager(node if node.shape else computed_number(node))


_NDIMS = {(1, 1), (2, 1), (1, 2)}

__all__ = ["product_loop", "vector_product"]
