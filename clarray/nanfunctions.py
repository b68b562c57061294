"""Reductions that leave NaN out; each is one pass, the test for NaN being part of the load."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray import reductions, ufunc_calls
from clarray.array import DeviceArray, as_array, wrap
from clarray.composing import applied, chosen
from clarray.expr.node import Node
from clarray.reduce_calls import finished, ufunc_reduce

__all__ = [
    "nanargmax", "nanargmin", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum",
    "nanvar",
]  # fmt: skip

_NO = np._NoValue


def _has_nan(node: Node) -> bool:
    return node.dtype.kind in "fc"


def replaced(a: Any, value: Any) -> DeviceArray:
    """`a` with `value` in place of NaN."""
    array = as_array(a)
    node = array._node
    if not _has_nan(node):
        return array
    found: DeviceArray = ufunc_calls.settled(chosen(applied(np.isnan, node), value, node))
    return found


def _counted(a: Any, where: Any) -> Any:
    """Mask of the elements that count."""
    array = as_array(a)
    node = array._node
    if not _has_nan(node):
        return where
    good = wrap(applied(np.logical_not, applied(np.isnan, node)))
    return good if where is True or where is _NO else good & where


def nansum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
    initial: Any = _NO, where: Any = True,
) -> DeviceArray:  # fmt: skip
    """Sum over axes, NaN counting as zero; see `clarray.sum`."""
    return reductions.sum(replaced(a, 0), axis, dtype, out, keepdims, initial, where)


def nanprod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
    initial: Any = _NO, where: Any = True,
) -> DeviceArray:  # fmt: skip
    """Product over axes, NaN counting as one; see `clarray.sum`."""
    return reductions.prod(replaced(a, 1), axis, dtype, out, keepdims, initial, where)


def nanmax(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = _NO,
    where: Any = True,
) -> DeviceArray:  # fmt: skip
    """Largest element over axes, NaN left out; NaN where there is nothing else."""
    return ufunc_reduce(np.fmax, a, axis, None, out, keepdims, initial, where)


def nanmin(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = _NO,
    where: Any = True,
) -> DeviceArray:  # fmt: skip
    """Smallest element over axes, NaN left out; NaN where there is nothing else."""
    return ufunc_reduce(np.fmin, a, axis, None, out, keepdims, initial, where)


def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *,
    where: Any = True,
) -> DeviceArray:  # fmt: skip
    """Mean over axes of what is not NaN; NaN where there is nothing."""
    return reductions.mean(a, axis, dtype, out, keepdims, where=_counted(a, where))


def _variance(a: Any, *args: Any) -> tuple[Node, np.dtype]:
    return reductions.variance(a, *args, undefined=_has_nan(as_array(a)._node))


def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: Any = False, *, where: Any = True, mean: Any = _NO, correction: Any = _NO,
) -> DeviceArray:  # fmt: skip
    """Variance over axes of what is not NaN; see `clarray.var`."""
    return finished(
        ufunc_calls.cast(*_variance(a, axis, dtype, ddof, keepdims, _counted(a, where), mean, correction)),
        out,
    )


def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: Any = False, *, where: Any = True, mean: Any = _NO, correction: Any = _NO,
) -> DeviceArray:  # fmt: skip
    """Standard deviation over axes of what is not NaN; see `clarray.std`."""
    node, result = _variance(a, axis, dtype, ddof, keepdims, _counted(a, where), mean, correction)
    return finished(ufunc_calls.cast(applied(np.sqrt, node), result), out)


def _nanarg(name: str, a: Any, axis: Any, out: Any, keepdims: Any, worst: float) -> DeviceArray:
    array = as_array(a)
    if _has_nan(array._node) and array.size:
        missing = reductions.all(wrap(applied(np.isnan, array._node)), axis)
        if bool(missing.any()):
            raise ValueError("All-NaN slice encountered")
    find = getattr(reductions, name)
    return find(replaced(array, worst), axis, out, keepdims=bool(keepdims))


def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> DeviceArray:
    """Position of the largest element that is not NaN; ValueError where there is none."""
    return _nanarg("argmax", a, axis, out, keepdims, -np.inf)


def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> DeviceArray:
    """Position of the smallest element that is not NaN; ValueError where there is none."""
    return _nanarg("argmin", a, axis, out, keepdims, np.inf)
