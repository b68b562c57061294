"""Moments over axes: means, variances and standard deviations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from clarray._core import callers, ufunc_calls
from clarray._core.composing import apply_ufunc
from clarray._core.conversion import asnumpy
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import device_dtype
from clarray._core.operands import scalar_node
from clarray._core.writes import with_device_lock
from clarray._engine.expr import build
from clarray._engine.expr.axes import c_integer
from clarray._engine.expr.node import Node
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.ops.dtypes import wide_dtype
from clarray._engine.ops.monoids import fold_monoid, statistic_monoid
from clarray._engine.ops.special import scale_loop, select_loop
from clarray._engine.runtime.capture import current_capture
from clarray._engine.speedups import captured_growth
from clarray._numpy.reduction.reduce_calls import (
    averaged_axes,
    build_reduction,
    cast_first,
    check_out,
    check_shape,
    constant_node,
    operand_node,
    reduced_shape,
    split_mask,
    ufunc_reduce,
    write_result,
)

_NO_VALUE = np._NoValue
_INT64 = np.dtype(np.int64)
_FLOAT64 = np.dtype(np.float64)

__all__ = ["mean", "std", "var"]


def _float_dtypes(dtype: np.dtype, requested: Any, out: Any = None) -> tuple[np.dtype, np.dtype]:
    """Return the dtypes of the computation and of the result of a mean. A wider output sets both, as in NumPy."""
    if requested is None and isinstance(out, DeviceArray):
        _, result = _float_dtypes(dtype, None)
        requested = out.dtype if out.dtype.kind == result.kind and np.can_cast(result, out.dtype) else None
    if requested is not None:
        return np.dtype(requested), np.dtype(requested)
    if dtype.kind in "biu":
        return np.dtype(np.float64), np.dtype(np.float64)
    return wide_dtype(dtype), dtype


@captured_growth(operands=1)
@with_device_lock("out")
def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> DeviceArray:
    """Return the arithmetic mean over axes.

    Parameters as in `sum`.

    Returns
    -------
    DeviceArray
        Float64 for integers and bools. The mean of no elements is NaN, with a RuntimeWarning.

    See Also
    --------
    average, nanmean, median

    Notes
    -----
    Takes one pass. Integers are summed in float64, and float16 in float32. With `where`, the call waits for the result,
    to warn of slices without elements.

    Examples
    --------
    >>> import clarray
    >>> clarray.mean([[1, 2], [3, 6]], axis=1).tolist()
    [1.5, 4.5]
    """
    node = operand_node(a)
    work, result = _float_dtypes(node.dtype, dtype, out)
    device_dtype(work, wrap(node).device)
    check_where(where)
    array_node = node
    node, mask, axis = split_mask(node, axis, where, keepdims)
    is_compressed = node is not array_node  # its length is unknown until it is evaluated
    axes = averaged_axes(node, axis)
    count = math.prod(node.shape[i] for i in axes)
    if count == 0:
        shape = reduced_shape(node.shape, axes, keepdims)
        if mask is None or 0 not in shape:  # with a mask, NumPy warns for each element of the result
            callers.warn_user("Mean of empty slice", RuntimeWarning)
        quotient = constant_node(np.nan, _FLOAT64, shape)
        return write_result(ufunc_calls.cast(quotient, result), out)
    if node.dtype != work and (node.dtype.kind == "c" or wide_dtype(work) != work):
        node = cast_first(node, work)
    exact = work if work.kind in "fc" else _FLOAT64
    if mask is not None:
        quotient = _masked_mean(node, mask, axes, keepdims, work)
        if not is_compressed:
            _warn_if_too_few("Mean of empty slice", quotient, _deferred_count(mask, node.shape, axes, keepdims))
    elif axes:
        total = build_reduction(fold_monoid(np.add, work), node, None, axes, keepdims)
        if work.kind == "c":
            quotient = build.binary(scale_loop(work), total, scalar_node(count, np.dtype(work.char.lower())))
        else:
            quotient = apply_ufunc(np.true_divide, total, scalar_node(count, exact))
    else:
        quotient = ufunc_calls.copied_value(node)
    return write_result(ufunc_calls.cast(quotient, result), out)


def _masked_mean(node: Node, mask: Node, axes: tuple[int, ...], keepdims: Any, work: np.dtype) -> Node:
    """Return the mean of the elements that a mask selects, or NaN if it selects none."""
    if axes and work.kind in "fc":
        return build_reduction(statistic_monoid("mean", work), node, mask, axes, keepdims)
    exact = work if work.kind in "fc" else _FLOAT64
    total = ufunc_reduce(np.add, wrap(node), axes, work, None, keepdims, _NO_VALUE, wrap(mask))
    count = _deferred_count(mask, node.shape, axes, keepdims)()
    return apply_ufunc(np.true_divide, ufunc_calls.cast(total._node, exact), count)


_MAX_FETCHED = 4096  # elements up to which the host examines a result


def fetch_if_small(array: DeviceArray) -> Any:
    """Evaluate an array, and copy it to the host if it is small."""
    array.evaluate()
    return array.get() if array.size <= _MAX_FETCHED else array


def elements_pass(test: np.ufunc, array: DeviceArray, combine: str) -> bool:
    """Evaluate an array, and return whether "all" or "any" elements pass the test of a ufunc.

    In a captured call the device computes the answer, which becomes a guard of the program.
    """
    if current_capture() is None:
        elements = fetch_if_small(array)
    else:
        array.evaluate()
        elements = array
    return bool(getattr(test(elements), combine)())


def _warn_if_too_few(message: str, quotient: Node, count: Callable[[], Node], minimum: Any = 0) -> None:
    """Warn, as NumPy does at the call, if a mask selects no more than `minimum` elements.

    The quotient is then NaN or infinite. It is evaluated first, and the count only if the quotient is not finite.
    """
    if not elements_pass(np.isfinite, wrap(quotient), "all") and bool((wrap(count()) <= minimum).any()):
        callers.warn_user(message, RuntimeWarning)


def _deferred_count(mask: Node, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: Any) -> Callable[[], Node]:
    """Return a function that builds the count of selected elements: each count node makes the mask memory."""

    def count() -> Node:
        full_mask = ufunc_calls.cast(ufunc_calls.broadcast(mask, shape), _INT64)
        return build_reduction(fold_monoid(np.add, _INT64), full_mask, None, axes, keepdims) if axes else full_mask

    return count


def check_where(where: Any) -> None:
    """Raise TypeError if the mask is None. NumPy accepts None for sums, but not for counts."""
    if where is None:
        raise TypeError("where must be an array of bools, not None: leave it out to take all elements")


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceCall:
    """The arguments of `var` and its relatives, as the caller passed them."""

    a: Any
    axis: Any
    dtype: Any
    out: Any
    ddof: Any
    keepdims: Any
    where: Any
    mean: Any
    correction: Any

    def degrees(self) -> Any:
        """Return `ddof` or `correction` as a number."""
        ddof = self.ddof
        if self.correction is not _NO_VALUE:
            if ddof != 0:
                raise ValueError("ddof and correction can't be provided simultaneously.")
            ddof = self.correction
        return ddof if type(ddof) is float else _as_ddof(ddof)


class _SquareSum(NamedTuple):
    """The sum of squared deviations, the number of elements, the variance's dtype, and whether the sum is divided.

    With a mask, `elements` is a function that builds the count.
    """

    total: Node
    elements: int | Callable[[], Node]
    dtype: np.dtype
    divided: bool


def _square_sum(call: VarianceCall, ddof: Any) -> _SquareSum:
    node = operand_node(call.a)
    work, result_dtype = _float_dtypes(node.dtype, call.dtype, call.out)
    work = wide_dtype(work)
    device_dtype(work, wrap(node).device)
    check_where(call.where)
    centre = None if call.mean is _NO_VALUE else call.mean
    # like NumPy, sum in integers, and in the real part of complex values
    if centre is None and (work.kind not in "fc" or (node.dtype.kind == "c" and work.kind == "f")):
        centre = mean(call.a, call.axis, call.dtype, keepdims=True, where=call.where)
    real = np.dtype(work.char.lower()) if work.kind == "c" else work
    if call.dtype is None and result_dtype.kind == "c":
        result_dtype = real
    keepdims = call.keepdims
    node, mask, axis = split_mask(node, call.axis, call.where, keepdims)
    axes = averaged_axes(node, axis)
    count = math.prod(node.shape[i] for i in axes)
    if count == 0:
        zeros = constant_node(0, real, reduced_shape(node.shape, axes, keepdims))
        return _SquareSum(zeros, 0, result_dtype, False)
    divided = centre is None and bool(axes) and mask is not None and ddof == 0
    if centre is None and axes:
        monoid = statistic_monoid("variance" if divided else "moments", work)
        total = build_reduction(monoid, node, mask, axes, keepdims)
    else:
        squares = wrap(_squared_deviation(node, node if centre is None else operand_node(centre), work))
        where = True if mask is None else wrap(mask)
        total = ufunc_reduce(np.add, squares, axis, real, None, keepdims, _NO_VALUE, where)._node
    deferred = count if mask is None else _deferred_count(mask, node.shape, axes, keepdims)
    return _SquareSum(total, deferred, result_dtype, divided)


def _squared_deviation(node: Node, mean: Node, work: np.dtype) -> Node:
    if work.kind in "fc":
        node = ufunc_calls.cast(node, np.result_type(node.dtype, work) if node.dtype.kind == "c" else work)
    return squared_magnitude(apply_ufunc(np.subtract, node, mean))


def squared_magnitude(node: Node) -> Node:
    """Return the pending product of each value and its conjugate, as real numbers."""
    dtype = node.dtype
    if dtype.kind != "c":
        return apply_ufunc(np.square, node)
    squared = apply_ufunc(np.multiply, node, apply_ufunc(np.conjugate, node))
    return ufunc_calls.cast(squared, np.dtype(dtype.char.lower()))


def variance(call: VarianceCall, undefined: bool = False) -> tuple[Node, np.dtype]:
    """Return the variance before its last cast, and the dtype of that cast.

    Without degrees of freedom, the variance is NumPy's quotient by zero, or NaN if `undefined`.
    """
    ddof = call.degrees()
    squares = _square_sum(call, ddof)
    exact = squares.total.dtype if squares.total.dtype.kind == "f" else _FLOAT64
    total = ufunc_calls.cast(squares.total, exact)
    count = squares.elements
    if isinstance(count, int):
        masked = call.where is not True and call.where is not _NO_VALUE
        if count - ddof <= 0 and (total.size or not masked):  # as in `mean`
            callers.warn_user(_NO_FREEDOM_MESSAGE, RuntimeWarning)
        divisor = scalar_node(max(count - ddof, 0), exact)
        return apply_ufunc(np.true_divide, total, divisor), squares.dtype
    quotient = total if squares.divided else _divide_by_freedom(total, count(), ddof, undefined)
    if build.selected(operand_node(call.a)) is None:
        _warn_if_too_few(_NO_FREEDOM_MESSAGE, quotient, count, ddof)
    return quotient, squares.dtype


def _as_ddof(ddof: Any) -> Any:
    """Return `ddof` as a number. TypeError unless it is a single real number."""
    if isinstance(ddof, int):
        return c_integer(ddof)
    number = asnumpy(ddof)
    if number.ndim or number.dtype.kind not in "biuf":
        raise TypeError(f"ddof must be a real number, not {ddof!r}")
    return number.item()


_NO_FREEDOM_MESSAGE = "Degrees of freedom <= 0 for slice"


def _divide_by_freedom(total: Node, count: Node, ddof: Any, undefined: bool) -> Node:
    """Divide sums by their degrees of freedom."""
    exact = total.dtype
    zero = scalar_node(0, exact)
    freedom = apply_ufunc(np.subtract, ufunc_calls.cast(count, exact), scalar_node(ddof, exact))
    freedom = apply_ufunc(np.maximum, freedom, zero)
    quotient = apply_ufunc(np.true_divide, total, freedom)
    if undefined:
        is_positive = apply_ufunc(np.greater, freedom, zero)
        quotient = build.nary(select_loop(exact), (is_positive, quotient, scalar_node(np.nan, exact)))
    return quotient


@captured_growth(operands=1)
@with_device_lock("out")
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = _NO_VALUE,
    correction: Any = _NO_VALUE,
) -> DeviceArray:
    """Return the variance over axes: the mean squared deviation from the mean.

    Parameters
    ----------
    a : array_like
    axis, dtype, out : optional
        As in `sum`.
    ddof : float, optional
        Number to subtract from the number of elements in the divisor. 1 gives the estimate from a sample.
    keepdims, where : optional
        As in `sum`.
    mean : array_like, optional
        The mean over the same axes, computed with ``keepdims=True``, if it is known.
    correction : float, optional
        The name of `ddof` in the Array API standard.

    Returns
    -------
    DeviceArray
        Real even for complex values. Float64 for integers and bools.

    Raises
    ------
    numpy.exceptions.AxisError
        An axis does not exist.
    ValueError
        Both `ddof` and `correction` are given.

    See Also
    --------
    std, nanvar, mean

    Notes
    -----
    Takes one pass for floats, which computes the mean and the deviations together. With `where`, the call waits for the
    result, to warn of slices with too few elements.

    References
    ----------
    T. Chan, G. Golub, R. LeVeque, "Updating formulae and a pairwise algorithm for computing sample
    variances", Stanford STAN-CS-79-773, 1979.

    Examples
    --------
    >>> import clarray
    >>> float(clarray.var([1.0, 3.0, 5.0, 7.0]))
    5.0
    """
    call = VarianceCall(
        a=a,
        axis=axis,
        dtype=dtype,
        out=out,
        ddof=ddof,
        keepdims=keepdims,
        where=where,
        mean=mean,
        correction=correction,
    )
    node, result_dtype = variance(call)
    return write_result(ufunc_calls.cast(node, result_dtype), out)


@captured_growth(operands=1)
@with_device_lock("out")
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = _NO_VALUE,
    correction: Any = _NO_VALUE,
) -> DeviceArray:
    """Return the standard deviation over axes: the square root of the variance.

    Parameters as in `var`.

    Returns
    -------
    DeviceArray
        Real even for complex values. Float64 for integers and bools.

    See Also
    --------
    var, nanstd

    Notes
    -----
    The pass that computes the variance also takes the square root.

    Examples
    --------
    >>> import clarray
    >>> float(clarray.std([1.0, 3.0, 1.0, 3.0]))
    1.0
    """
    call = VarianceCall(
        a=a,
        axis=axis,
        dtype=dtype,
        out=out,
        ddof=ddof,
        keepdims=keepdims,
        where=where,
        mean=mean,
        correction=correction,
    )
    node, result_dtype = variance(call)
    return write_result(deviation(node, result_dtype, out), out)


def deviation(node: Node, dtype: np.dtype, out: Any) -> Node:
    """Return the square root of a variance in its dtype. NumPy raises if that is an integer dtype."""
    check_out(out)
    if out is not None:
        check_shape(out, node.shape)
    result_dtype = getattr(out, "dtype", dtype)
    if result_dtype.kind in "biu" and (node.shape or out is not None):
        empty = np.empty(0, result_dtype)
        np.sqrt(empty, out=empty)
    return ufunc_calls.cast(apply_ufunc(np.sqrt, node), dtype)
