"""Products of vectors and matrices: sums of products over shared axes."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from clarray._core import callers
from clarray._core.composing import applied
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, empty, no_number
from clarray._core.host_data import device_dtype
from clarray._core.small_calls import Rule, small_call
from clarray._core.ufunc_calls import assign, call, cast, device_of_operands, evaluate_if_eager, in_order
from clarray._core.writes import one_hold
from clarray._engine.expr import build
from clarray._engine.expr.axes import normalize_axis, strict_axis
from clarray._engine.expr.node import Node
from clarray._engine.expr.view import Shape, View, contiguous
from clarray._engine.ops.ufuncs import find_loop
from clarray._engine.speedups import recorded, recorded_growth
from clarray._numpy.manipulation import shapes
from clarray._numpy.products.contraction import conjugate, contract
from clarray._numpy.products.einsums import einsum, einsum_path
from clarray._numpy.products.gufuncs import all_pairs, multiplied
from clarray._numpy.products.vectors import vector_product
from clarray._numpy.reduction import reductions
from clarray._numpy.reduction.accumulations import outer as outer_product

__all__ = ["cross", "dot", "einsum", "einsum_path", "inner", "kron", "outer", "tensordot", "trace", "vdot"]


def _arrays(a: Any, b: Any) -> tuple[DeviceArray, DeviceArray, np.dtype]:
    """Both operands, and the dtype of their product."""
    device = device_of_operands((a, b))
    left, right = as_array(a, device), as_array(b, device)
    return left, right, device_dtype(np.result_type(left.dtype, right.dtype), device)


def _into(out: Any, made: DeviceArray, name: str) -> DeviceArray:
    """Put a result where ``out=`` says, which must be exactly what the function would have returned."""
    if out is None or out is made:
        return made
    if not isinstance(out, DeviceArray):
        raise TypeError(f"{name}: 'out' must be a DeviceArray, not {type(out).__name__}")
    assign(out, made._node)
    return out


def _check_out(out: Any, shape: tuple[int, ...], dtype: np.dtype, name: str) -> None:
    if out is None:
        return
    if not isinstance(out, DeviceArray):
        raise TypeError(f"{name}: 'out' must be a DeviceArray, not {type(out).__name__}")
    if out.shape != shape or out.dtype != dtype or not out.flags.c_contiguous:
        raise ValueError(
            "output array is not acceptable (must have the right datatype, number of dimensions, and be a C-Array)"
        )
    out.check_writeable("output array is read-only")


@one_hold("out")
def dot(a: Any, b: Any, out: Any = None) -> DeviceArray:
    """Multiply vectors and matrices: sum products over one axis of each operand.

    The axis is the last axis of `a` and the second-to-last axis of `b`, or the only axis of a vector.

    Parameters
    ----------
    a, b : array_like
        Vectors, matrices or arrays of more axes. A scalar multiplies each element.
    out : DeviceArray, optional
        Array for the result, of exactly its shape and dtype, contiguous in C order.

    Returns
    -------
    DeviceArray
        Has the shape ``a.shape[:-1] + b.shape[:-2] + b.shape[-1:]``.

    Raises
    ------
    ValueError
        The extents of the summed axes differ, or `out` does not fit.

    See Also
    --------
    matmul, vdot, inner, tensordot

    Notes
    -----
    Two vectors take one fused pass over both, which also computes pending operands. A matrix and a vector take one pass
    over the matrix. Two matrices take a blocked product.

    Examples
    --------
    >>> import clarray
    >>> int(clarray.dot([1, 2, 3], [4, 5, 6]))
    32
    """
    if out is not None:
        return _dot(a, b, out)
    short = vector_product(a, b)  # not recorded: the core has one launch for all lengths
    return _dot(a, b) if short is None else short


@recorded(operands=2)
def _dot(a: Any, b: Any, out: Any = None) -> DeviceArray:
    left, right, dtype = _arrays(a, b)
    if not left.ndim or not right.ndim:
        _check_out(out, left.shape or right.shape, dtype, "dot")
        loop = find_loop(np.logical_and if dtype.kind == "b" else np.multiply, (dtype, dtype), (dtype,))
        return _into(out, evaluate_if_eager(build.binary(loop, left._node, right._node)), "dot")
    return _summed(left, left.ndim - 1, right, max(right.ndim - 2, 0), dtype, out, "dot")


_dot = small_call(_dot, Rule(np.dot, "integers", multiplied))


def _summed(
    a: DeviceArray, a_axis: int, b: DeviceArray, b_axis: int, dtype: np.dtype, out: Any, name: str
) -> DeviceArray:
    if a.shape[a_axis] != b.shape[b_axis]:
        at = max(b.ndim - 2, 0)  # where NumPy has brought the axis
        arranged = list(b.shape)
        arranged[at], arranged[b_axis] = arranged[b_axis], arranged[at]
        raise ValueError(
            f"shapes {_written(a.shape)} and {_written(tuple(arranged))} not aligned: "
            f"{a.shape[a_axis]} (dim {a_axis}) != {arranged[at]} (dim {at})"
        )
    number = count()
    a_labels = [-1 if axis == a_axis else next(number) for axis in range(a.ndim)]
    b_labels = [-1 if axis == b_axis else next(number) for axis in range(b.ndim)]
    labels = [label for label in (*a_labels, *b_labels) if label >= 0]
    shape = (*_without(a.shape, [a_axis]), *_without(b.shape, [b_axis]))
    _check_out(out, shape, dtype, name)
    like = View(shape, contiguous(shape)) if out is None else None
    return _into(out, contract(a, a_labels, b, b_labels, labels, dtype, out, like), name)


def _without(shape: Shape, axes: Sequence[int]) -> Shape:
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def _written(shape: tuple[int, ...]) -> str:
    return str(shape).replace(" ", "")


@recorded(operands=2)
def vdot(a: Any, b: Any, /) -> DeviceArray:
    """Return the sum of the products of all elements, with the elements of `a` conjugated.

    Parameters
    ----------
    a, b : array_like
        Two arrays with the same number of elements. Both are flattened in C order.

    Returns
    -------
    DeviceArray
        Without axes.

    Raises
    ------
    ValueError
        The numbers of elements differ.

    Notes
    -----
    Takes one fused pass over both operands.

    Examples
    --------
    >>> import clarray
    >>> int(clarray.vdot([[1, 2], [3, 4]], [[1, 0], [0, 1]]))
    5
    """
    left, right, dtype = _arrays(a, b)
    if left.shape != right.shape or left.ndim != 1:
        left, right = shapes.ravel(left), shapes.ravel(right)
    if left.shape != right.shape:
        raise ValueError(f"cannot reshape array of size {right.size} into shape {_written(left.shape)}")
    return contract(conjugate(left), (0,), right, (0,), (), dtype)


def inner(a: Any, b: Any, /) -> DeviceArray:
    """Sum products over the last axes of two operands.

    Parameters
    ----------
    a, b : array_like
        Arrays whose last axes have the same extent. A scalar multiplies each element.

    Returns
    -------
    DeviceArray
        Has the shape ``a.shape[:-1] + b.shape[:-1]``.

    Raises
    ------
    ValueError
        The extents of the last axes differ.

    See Also
    --------
    dot, tensordot

    Examples
    --------
    >>> import clarray
    >>> clarray.inner([[1, 2], [3, 4]], [10, 1]).tolist()
    [12, 34]
    """
    short = vector_product(a, b) if type(b) is DeviceArray and b.ndim == 1 else None
    return _inner(a, b) if short is None else short


@recorded(operands=2)
def _inner(a: Any, b: Any) -> DeviceArray:
    left, right, dtype = _arrays(a, b)
    if not left.ndim or not right.ndim:
        return dot(left, right)
    return _summed(left, left.ndim - 1, right, right.ndim - 1, dtype, None, "inner")


_inner = small_call(_inner, Rule(np.inner, "integers", all_pairs))


@one_hold("out")
def outer(a: Any, b: Any, out: Any = None) -> DeviceArray:
    """Multiply each element of `a` by each element of `b`.

    Parameters
    ----------
    a : array_like
        M elements, flattened in C order.
    b : array_like
        N elements, flattened in C order.
    out : DeviceArray, optional
        Array for the result, of shape (M, N).

    Returns
    -------
    (M, N) DeviceArray
        An expression that takes memory only if it is evaluated.

    Examples
    --------
    >>> import clarray
    >>> clarray.outer([1, 2], [3, 4, 5]).tolist()
    [[3, 4, 5], [6, 8, 10]]
    """
    if out is None and type(a) is type(b) is DeviceArray and a.ndim == b.ndim == 1:
        # nothing is copied that has steps, and no shape is new to operators: a factorization has others at each step
        made: DeviceArray = a[:, None] * b
        return made
    return _outer(a, b, out)


@recorded_growth(operands=2)
def _outer(a: Any, b: Any, out: Any) -> DeviceArray:
    device = device_of_operands((a, b, out))
    left, right = (shapes.ravel(as_array(x, device)) for x in (a, b))
    made: DeviceArray = outer_product(np.multiply, left, right, out=None if out is None else (out,))
    return made


@recorded(operands=2)
def tensordot(a: Any, b: Any, axes: Any = 2) -> DeviceArray:
    """Sum products over several axes of each operand.

    Parameters
    ----------
    a, b : array_like
    axes : int or (sequence of int, sequence of int)
        An integer N pairs the last N axes of `a` with the first N axes of `b`. Two sequences list the axes of `a` and
        the axes of `b` that form pairs.

    Returns
    -------
    DeviceArray
        The remaining axes of `a`, then the remaining axes of `b`.

    Raises
    ------
    IndexError
        An operand has no such axis.
    ValueError
        The extents of a pair of axes differ.

    See Also
    --------
    dot, einsum

    Examples
    --------
    >>> import clarray
    >>> clarray.tensordot([[1, 2], [3, 4]], [[1, 1], [1, 1]], axes=1).tolist()
    [[3, 3], [7, 7]]
    >>> int(clarray.tensordot([[1, 2], [3, 4]], [[1, 1], [1, 1]], axes=2))
    10
    """
    left, right, dtype = _arrays(a, b)
    try:
        first, second = axes
    except TypeError:
        first, second = list(range(-axes, 0)), list(range(axes))
    first, second = _integers(first), _integers(second)
    if len(first) != len(second):
        raise ValueError("shape-mismatch for sum")
    _refuse_duplicates(first, second)
    for i, j in zip(first, second, strict=True):  # an axis that is not there is an IndexError
        if left.shape[i] != right.shape[j]:
            raise ValueError("shape-mismatch for sum")
    first = [strict_axis(at, left.ndim) for at in first]
    second = [strict_axis(at, right.ndim) for at in second]
    _refuse_duplicates(first, second)  # by two names
    number = count()
    a_labels = [-1 - first.index(i) if i in first else next(number) for i in range(left.ndim)]
    b_labels = [-1 - second.index(i) if i in second else next(number) for i in range(right.ndim)]
    labels = [label for label in (*a_labels, *b_labels) if label >= 0]
    shape = (*_without(left.shape, first), *_without(right.shape, second))
    return no_number(contract(left, a_labels, right, b_labels, labels, dtype, like=View(shape, contiguous(shape))))


def _integers(axes: Any) -> list[int]:
    """Return an axis, or a sequence or array of them, as a list. Bools stay, for `strict_axis` to refuse."""
    try:
        axes = list(axes)
    except TypeError:
        axes = [axes]
    return [axis if isinstance(axis, bool) else operator.index(axis) for axis in axes]


def _refuse_duplicates(*axes: list[Any]) -> None:
    if any(len(set(each)) != len(each) for each in axes):
        raise ValueError("duplicate axes are not allowed in tensordot")


def multiply(a: DeviceArray, b: DeviceArray) -> DeviceArray:
    """The product of every element with its counterpart, as an expression."""
    made: DeviceArray = call(np.multiply, (a, b))
    return made


@recorded(operands=2)
def kron(a: Any, b: Any) -> DeviceArray:
    """Return the Kronecker product: blocks of `b`, each scaled by one element of `a`.

    Parameters
    ----------
    a, b : array_like
        The operand with fewer axes gets axes of extent one in front.

    Returns
    -------
    DeviceArray
        Each extent is the product of the extents of the operands.

    Examples
    --------
    >>> import clarray
    >>> clarray.kron([1, 10], [1, 2, 3]).tolist()
    [1, 2, 3, 10, 20, 30]
    """
    device = device_of_operands((a, b))
    left, right = as_array(a, device), as_array(b, device)
    ndim = max(left.ndim, right.ndim)
    if not left.ndim or not right.ndim:
        return multiply(left, right)
    left = left.reshape((1,) * (ndim - left.ndim) + left.shape)
    right = right.reshape((1,) * (ndim - right.ndim) + right.shape)
    scaled = multiply(
        shapes.expand_dims(left, tuple(range(1, 2 * ndim, 2))),
        shapes.expand_dims(right, tuple(range(0, 2 * ndim, 2))),
    )
    return scaled.reshape(tuple(m * n for m, n in zip(left.shape, right.shape, strict=True)))


@recorded(operands=2)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> DeviceArray:
    """Return the cross product of vectors with three elements: a vector perpendicular to both.

    Parameters
    ----------
    a, b : array_like
        Vectors of three elements along one axis. The other axes broadcast. For vectors of two elements the third
        element is zero. NumPy has deprecated these, and refuses them from 2.5 on.
    axisa, axisb, axisc : int
        Axis of the vectors in `a`, in `b` and in the result.
    axis : int, optional
        The same axis for all three.

    Returns
    -------
    DeviceArray
        For two vectors with two elements each, only the third element, without an axis.

    Raises
    ------
    ValueError
        A vector does not have two or three elements, or an operand has no axis.

    Examples
    --------
    >>> import clarray
    >>> clarray.cross([1, 0, 0], [0, 1, 0]).tolist()
    [0, 0, 1]
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    left, right, dtype = _arrays(a, b)
    if left.ndim < 1 or right.ndim < 1:
        raise ValueError("At least one array has zero dimension")
    first, second = _vectors(left, axisa, "axisa", dtype), _vectors(right, axisb, "axisb", dtype)
    if not len(first) == len(second) == 3:
        _check_lengths(left.shape[axisa], right.shape[axisb])
        callers.warn(
            "Arrays of 2-dimensional vectors are deprecated. Use arrays of 3-dimensional vectors instead. "
            "(deprecated in NumPy 2.0)",
            DeprecationWarning,
        )
    if len(first) == len(second) == 2:
        return no_number(in_order(_minor(first, second, 0, 1), "C"))
    shape = (*np.broadcast_shapes(first[0].shape, second[0].shape), 3)
    place = normalize_axis(axisc, len(shape), "axisc")
    made = empty(shape, dtype, left.device)
    for k in range(3):
        assign(made[..., k], _minor(first, second, (k + 1) % 3, (k + 2) % 3))
    return shapes.moveaxis(made, -1, place)


def _check_lengths(one: int, other: int) -> None:
    """Let NumPy judge vectors that have not three elements each: up to 2.4 it takes those of two."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.cross(np.broadcast_to(0.0, (one,)), np.broadcast_to(0.0, (other,)))


def _vectors(array: DeviceArray, axis: int, name: str, dtype: np.dtype) -> list[Node]:
    """The elements along an axis, each as an array of the other axes."""
    moved = shapes.moveaxis(array, normalize_axis(axis, array.ndim, name), -1)
    return [cast(moved[..., k]._node, dtype) for k in range(min(moved.shape[-1], 4))]


def _minor(a: list[Node], b: list[Node], i: int, j: int) -> Node:
    """``a[i] * b[j] - a[j] * b[i]``, a third element that is not there being zero."""
    plus = applied(np.multiply, a[i], b[j]) if i < len(a) and j < len(b) else None
    minus = applied(np.multiply, a[j], b[i]) if j < len(a) and i < len(b) else None
    found: Node
    if minus is None:
        assert plus is not None
        return plus
    found = applied(np.negative, minus) if plus is None else applied(np.subtract, plus, minus)
    return found


@recorded_growth(operands=1)
@one_hold("out")
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> DeviceArray:
    """Return the sum along a diagonal.

    Parameters
    ----------
    a : array_like
        A matrix, or an array of more axes with one matrix for each position along the other axes.
    offset : int
        Number of positions above the main diagonal. Negative below it.
    axis1, axis2 : int
        Axes of the matrices.
    dtype : dtype, optional
        Dtype of the sum, see `clarray.sum`.
    out : DeviceArray, optional
        Array for the result.

    Returns
    -------
    DeviceArray
        Without `axis1` and `axis2`.

    Raises
    ------
    ValueError
        `a` has fewer than two axes.

    Examples
    --------
    >>> import clarray
    >>> int(clarray.trace([[1, 2], [3, 4]]))
    5
    """
    found: DeviceArray = reductions.sum(shapes.diagonal(as_array(a), offset, axis1, axis2), -1, dtype, out)
    return found
