"""Reductions over axes: NumPy's sums, products, extrema, truth and statistics."""

from __future__ import annotations

import builtins
import math
import warnings
from typing import Any

import numpy as np

from clarray import ufunc_calls
from clarray.array import DeviceArray, as_array, wrap
from clarray.evaluate import evaluate
from clarray.expr import build
from clarray.expr.node import COMPRESS, MASKED, Node
from clarray.expr.view import normalize_axes
from clarray.hostdata import device_dtype
from clarray.operands import array_node, scalar_node
from clarray.ops.monoids import Monoid, fold_monoid, reduction_op, statistic_monoid
from clarray.ops.promotion import resolve
from clarray.ops.ufuncs import find_loop

_NO = np._NoValue
_BOOL = np.dtype(bool)
_INT64 = np.dtype(np.int64)
_HALF = np.dtype(np.float16)

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min",
    "prod", "ptp", "std", "sum", "var",
]  # fmt: skip


# The common path ----------------------------------------------------------------------------------


def _operand(a: Any) -> Node:
    return (a if isinstance(a, DeviceArray) else as_array(a))._node


def _axes(node: Node, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(len(node.shape)))
    return tuple(sorted(normalize_axes(axis, len(node.shape))))


def _kept_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: Any) -> tuple[int, ...]:
    if keepdims is _NO or not keepdims:
        return tuple(n for a, n in enumerate(shape) if a not in axes)
    return tuple(1 if a in axes else n for a, n in enumerate(shape))


def _mask(where: Any, node: Node) -> Node | None:
    if where is True or where is _NO:
        return None
    found = where._node if isinstance(where, DeviceArray) else array_node(where, wrap(node).device)
    if found.dtype != _BOOL:
        raise TypeError(
            f"Cannot cast array data from {found.dtype!r} to dtype('bool') according to the rule "
            "'safe'"
        )
    return found


def _split_mask(node: Node, axis: Any, where: Any) -> tuple[Node, Node | None, Any]:
    """Value, mask and axis; a compressed operand is reduced where its mask is set."""
    mask = _mask(where, node)
    if node.op is COMPRESS:
        if mask is not None:
            raise NotImplementedError("where= on elements selected by a mask is not there yet")
        if axis not in (None, 0, -1, (0,), (-1,)):
            normalize_axes(axis, 1)
        value, mask = node.args
        if value.shape != node.shape:
            value = ufunc_calls.spread(value, node.shape)
        return value, mask, None
    if mask is not None and len(mask.shape) > len(node.shape):
        raise ValueError(
            "operands could not be broadcast together: where has more dimensions than the array"
        )
    return node, mask, axis


def _reduce(
    monoid: Monoid, node: Node, mask: Node | None, axes: tuple[int, ...], keepdims: Any
) -> Node:
    op = reduction_op(monoid, axes, len(node.shape), mask is not None)
    shape = _kept_shape(node.shape, axes, keepdims)
    if mask is None:
        return build.reduction(op, (node,), shape)
    if mask.shape != node.shape and node.shape != np.broadcast_shapes(mask.shape, node.shape):
        node = ufunc_calls.spread(node, np.broadcast_shapes(mask.shape, node.shape))
    return build.reduction(op, (node, mask), shape)


def _finish(node: Node, out: Any) -> DeviceArray:
    """The result as a new array, or in `out`."""
    if out is None:
        return ufunc_calls.settled(node)
    if isinstance(out, tuple):
        out = out[0]
    if not isinstance(out, DeviceArray):
        raise TypeError("output must be an array")
    if out.shape != node.shape:
        raise ValueError(
            f"output parameter for reduction operation has the wrong shape: {out.shape} where "
            f"{node.shape} is needed"
        )
    if not np.can_cast(node.dtype, out.dtype, "same_kind"):
        raise TypeError(
            f"Cannot cast the result from {node.dtype!r} to {out.dtype!r} with casting rule "
            "'same_kind'"
        )
    out.check_writeable()
    ufunc_calls.assign(out, node)
    return out


def _full(value: Any, dtype: np.dtype, shape: tuple[int, ...]) -> Node:
    return ufunc_calls.filled(scalar_node(value, dtype), shape)


def _apply(ufunc: np.ufunc, *args: Node, dtype: np.dtype | None = None) -> Node:
    """Grow ``ufunc(*args)`` in the dtypes NumPy chooses."""
    in_dtypes, out_dtypes = resolve(ufunc, tuple(a.dtype for a in args), dtype)
    return build.nary(find_loop(ufunc, in_dtypes, out_dtypes), args)


# Reductions of ufuncs -----------------------------------------------------------------------------

_monoids: dict[tuple[np.ufunc, np.dtype, Any], Monoid] = {}


def _fold(ufunc: np.ufunc, dtype: np.dtype, wanted: Any) -> Monoid:
    key = (ufunc, dtype, wanted)
    found = _monoids.get(key)
    if found is None:
        if ufunc.nin != 2 or ufunc.nout != 1:
            raise ValueError("reduce only supported for binary functions")
        operands: Any = (None, dtype, None)
        # NumPy converts to a reduction's dtype= whatever may get lost
        ins, _ = resolve(ufunc, operands, wanted, casting="unsafe", reduction=True)
        found = _monoids[key] = fold_monoid(ufunc, ins[1])
    return found


def ufunc_reduce(
    ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None,
    keepdims: Any = False, initial: Any = _NO, where: Any = True,
) -> DeviceArray:  # fmt: skip
    """``ufunc.reduce`` with NumPy's keywords and rules."""
    node = _operand(array)
    if axis is None and where is True and initial is _NO and out is None and not keepdims:
        if not node.flags and node.size and node.shape:  # what most calls are
            monoid = _fold(ufunc, node.dtype, dtype)
            if monoid.associative:
                op = reduction_op(monoid, tuple(range(len(node.shape))), len(node.shape), False)
                return wrap(build.reduction(op, (node,), ()))
    monoid = _fold(ufunc, node.dtype, dtype if dtype is None else np.dtype(dtype))
    device_dtype(monoid.out_dtype, wrap(node).device)
    node, mask, axis = _split_mask(node, axis, where)
    axes = _axes(node, axis)
    if not monoid.associative and len(axes) > 1:
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may be "
            "specified"
        )
    identity = ufunc.identity
    if identity is None and initial is _NO and where is not True:
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where "
            "mask one has to specify 'initial'"
        )
    shape = _kept_shape(node.shape, axes, keepdims)
    if math.prod(node.shape[a] for a in axes) == 0 and math.prod(shape):
        if initial is _NO or initial is None:
            if identity is None or initial is None:
                raise ValueError(
                    f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
                )
            return _finish(_full(identity, monoid.out_dtype, shape), out)
        return _finish(_full(initial, monoid.out_dtype, shape), out)
    if not axes:
        result = ufunc_calls.cast(node, monoid.out_dtype)
    else:
        result = _reduce(monoid, node, mask, axes, keepdims)
    if initial is not _NO and initial is not None:
        if not monoid.associative:
            raise NotImplementedError(
                f"initial= with '{ufunc.__name__}', whose order of evaluation matters, is not there yet"
            )
        start = scalar_node(np.asarray(initial)[()], monoid.out_dtype)
        loop = find_loop(ufunc, (result.dtype, start.dtype), (monoid.out_dtype,))
        result = build.binary(loop, result, start)
    return _finish(result, out)


def sum(  # noqa: A001 - NumPy's name
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
    initial: Any = _NO, where: Any = True,
) -> DeviceArray:  # fmt: skip
    """Sum of elements over axes; float sums are compensated.

    Parameters
    ----------
    a : array_like
    axis : int, tuple of int or None
        Axes to reduce; all if None.
    dtype : dtype, optional
        Of the accumulation and the result; by default NumPy's: 64-bit for smaller integers.
    out : DeviceArray, optional
    keepdims : bool
        Keep reduced axes with one element.
    initial : scalar, optional
    where : array_like of bool, optional
        Elements to include.

    Returns
    -------
    DeviceArray
        Pending; 0-d for a full reduction.

    References
    ----------
    A. Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", 1974.
    """
    return ufunc_reduce(np.add, a, axis, dtype, out, keepdims, initial, where)


def prod(  # noqa: D103
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
    initial: Any = _NO, where: Any = True,
) -> DeviceArray:  # fmt: skip
    """Product of elements over axes; see `sum` for the parameters."""
    return ufunc_reduce(np.multiply, a, axis, dtype, out, keepdims, initial, where)


def max(  # noqa: A001
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = _NO,
    where: Any = True,
) -> DeviceArray:  # fmt: skip
    """Largest element over axes; NaN if there is one. See `sum` for the parameters."""
    return ufunc_reduce(np.maximum, a, axis, None, out, keepdims, initial, where)


def min(  # noqa: A001
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = _NO,
    where: Any = True,
) -> DeviceArray:  # fmt: skip
    """Smallest element over axes; NaN if there is one. See `sum` for the parameters."""
    return ufunc_reduce(np.minimum, a, axis, None, out, keepdims, initial, where)


amax, amin = max, min


def any(  # noqa: A001
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> DeviceArray:
    """Whether any element is true over axes. See `sum` for the parameters."""
    return ufunc_reduce(np.logical_or, a, axis, None, out, keepdims, _NO, where)


def all(  # noqa: A001
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> DeviceArray:
    """Whether all elements are true over axes. See `sum` for the parameters."""
    return ufunc_reduce(np.logical_and, a, axis, None, out, keepdims, _NO, where)


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> DeviceArray:
    """Number of elements that are not zero, over axes."""
    node = _operand(a)
    flag = node if node.dtype == _BOOL else ufunc_calls.cast(node, _BOOL)
    return ufunc_reduce(np.add, wrap(flag), axis, _INT64, None, keepdims)


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> DeviceArray:
    """Largest minus smallest element over axes."""
    high = ufunc_reduce(np.maximum, a, axis, None, None, keepdims)
    low = ufunc_reduce(np.minimum, a, axis, None, None, keepdims)
    return ufunc_calls.call(np.subtract, (high, low), out=None if out is None else (out,))


# Statistics ---------------------------------------------------------------------------------------


def _float_dtypes(dtype: np.dtype, wanted: Any) -> tuple[np.dtype, np.dtype]:
    """Dtype of the computation and of the result of a mean of `dtype`."""
    if wanted is not None:
        return np.dtype(wanted), np.dtype(wanted)
    if dtype.kind in "biu":
        return np.dtype(np.float64), np.dtype(np.float64)
    return (np.dtype(np.float32), dtype) if dtype == _HALF else (dtype, dtype)


def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *,
    where: Any = True,
) -> DeviceArray:  # fmt: skip
    """Arithmetic mean over axes; one pass, as `sum`. See there for the parameters.

    Integers are averaged in float64, float16 in float32. The mean of no elements is NaN, with a
    RuntimeWarning.
    """
    node = _operand(a)
    work, result = _float_dtypes(node.dtype, dtype)
    device_dtype(work, wrap(node).device)
    node, mask, axis = _split_mask(node, axis, where)
    axes = _axes(node, axis)
    count = math.prod(node.shape[i] for i in axes)
    shape = _kept_shape(node.shape, axes, keepdims)
    if count == 0 and math.prod(shape):
        warnings.warn("Mean of empty slice.", RuntimeWarning, stacklevel=2)
        return _finish(_full(np.nan, result, shape), out)
    if mask is None:
        total = _reduce(fold_monoid(np.add, work), node, None, axes, keepdims) if axes else (
            ufunc_calls.cast(node, work)
        )  # fmt: skip
        found = _apply(np.true_divide, total, scalar_node(count, work))
    else:
        found = _reduce(statistic_monoid("mean", work), node, mask, axes, keepdims)
    return _finish(ufunc_calls.cast(found, result), out)


def _variance(
    a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any, where: Any, given_mean: Any,
    correction: Any,
) -> tuple[Node, np.dtype]:  # fmt: skip
    if correction is not _NO:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    node = _operand(a)
    work, result = _float_dtypes(node.dtype, dtype)
    if work == _HALF:
        work = np.dtype(np.float32)
    device_dtype(work, wrap(node).device)
    real = np.dtype(work.char.lower()) if work.kind == "c" else work
    result = np.dtype(result.char.lower()) if result.kind == "c" else result
    node, mask, axis = _split_mask(node, axis, where)
    axes = _axes(node, axis)
    count = math.prod(node.shape[i] for i in axes)
    shape = _kept_shape(node.shape, axes, keepdims)
    if mask is None and count - ddof <= 0 and math.prod(shape):
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=3)
    if count == 0 and math.prod(shape):
        return _full(np.nan, real, shape), result
    value = ufunc_calls.cast(node, work)
    if given_mean is not _NO and given_mean is not None:
        about = given_mean._node if isinstance(given_mean, DeviceArray) else array_node(
            given_mean, wrap(node).device
        )  # fmt: skip
        away = _apply(np.absolute, _apply(np.subtract, value, about))
        value = _apply(np.square, away)
        total = _reduce(fold_monoid(np.add, real), value, mask, axes, keepdims)
        if mask is None:
            return _divide_by(total, builtins.max(count - ddof, 0), real), result
        number = ufunc_reduce(np.add, wrap(mask), axis, _INT64, None, keepdims)._node
        return _divide_by_count(total, number, ddof, real), result
    if not axes:
        value = _apply(np.multiply, _apply(np.absolute, value), scalar_node(0, real))
        return _divide_by(value, builtins.max(count - ddof, 0), real), result
    if mask is None:
        total = _reduce(statistic_monoid("moments", work), value, None, axes, keepdims)
        return _divide_by(total, builtins.max(count - ddof, 0), real), result
    if ddof == 0:
        return _reduce(statistic_monoid("variance", work), value, mask, axes, keepdims), result
    total = _reduce(statistic_monoid("moments", work), value, mask, axes, keepdims)
    spread_mask = mask if mask.shape == value.shape else ufunc_calls.spread(mask, value.shape)
    number = ufunc_reduce(np.add, wrap(spread_mask), axis, _INT64, None, keepdims)._node
    return _divide_by_count(total, number, ddof, real), result


def _divide_by(total: Node, divisor: Any, dtype: np.dtype) -> Node:
    return _apply(np.true_divide, total, scalar_node(divisor, dtype))


def _divide_by_count(total: Node, number: Node, ddof: Any, dtype: np.dtype) -> Node:
    freedom = _apply(np.subtract, ufunc_calls.cast(number, dtype), scalar_node(ddof, dtype))
    return _apply(np.true_divide, total, _apply(np.maximum, freedom, scalar_node(0, dtype)))


def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: Any = False, *, where: Any = True, mean: Any = _NO, correction: Any = _NO,
) -> DeviceArray:  # fmt: skip
    """Variance over axes: the mean squared deviation from the mean, in one pass.

    Parameters
    ----------
    ddof, correction : float
        The divisor is the number of elements less this.
    mean : array_like, optional
        The mean over the same axes, with them kept, where it is known.
    a, axis, dtype, out, keepdims, where
        As in `sum`.

    Returns
    -------
    DeviceArray
        Real, also of complex values.

    References
    ----------
    T. Chan, G. Golub, R. LeVeque, "Updating formulae and a pairwise algorithm for computing sample
    variances", Stanford STAN-CS-79-773, 1979.
    """
    node, result = _variance(a, axis, dtype, ddof, keepdims, where, mean, correction)
    return _finish(ufunc_calls.cast(node, result), out)


def std(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: Any = False, *, where: Any = True, mean: Any = _NO, correction: Any = _NO,
) -> DeviceArray:  # fmt: skip
    """Standard deviation over axes: the square root of `var`, in the same pass."""
    node, result = _variance(a, axis, dtype, ddof, keepdims, where, mean, correction)
    return _finish(ufunc_calls.cast(_apply(np.sqrt, node), result), out)


def _arg(name: str, a: Any, axis: Any, out: Any, keepdims: Any) -> DeviceArray:
    node = _operand(a)
    if node.flags & MASKED:
        node = evaluate(node)
    if axis is not None and not isinstance(axis, tuple):
        axes = _axes(node, axis)
    elif axis is None:
        axes = tuple(range(len(node.shape)))
    else:
        raise TypeError("'tuple' object cannot be interpreted as an integer")
    shape = _kept_shape(node.shape, axes, keepdims)
    if math.prod(node.shape[i] for i in axes) == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    if not axes:
        return _finish(_full(0, _INT64, shape), out)
    return _finish(_reduce(statistic_monoid(name, node.dtype), node, None, axes, keepdims), out)


def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> DeviceArray:
    """Position of the first largest element, of the first NaN if there is one.

    Returns
    -------
    DeviceArray of int64
        Position along `axis`, or in the flattened array.
    """
    return _arg("argmax", a, axis, out, keepdims)


def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> DeviceArray:
    """Position of the first smallest element, of the first NaN if there is one; see `argmax`."""
    return _arg("argmin", a, axis, out, keepdims)
