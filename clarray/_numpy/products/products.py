"""Products of vectors and matrices: sums of products over shared axes."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from clarray._core import callers
from clarray._core.composing import apply_ufunc
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, empty, mark_0d_array
from clarray._core.host_data import device_dtype
from clarray._core.small_calls import Rule, small_call
from clarray._core.ufunc_calls import assign, call, cast, device_of_operands, evaluate_if_eager, in_order
from clarray._core.writes import with_device_lock
from clarray._engine.expr import build
from clarray._engine.expr.axes import normalize_axis, strict_axis
from clarray._engine.expr.node import Node
from clarray._engine.expr.view import Shape, View, contiguous
from clarray._engine.ops.ufuncs import find_loop
from clarray._engine.speedups import captured, captured_growth
from clarray._numpy.manipulation import shapes
from clarray._numpy.products.contraction import Term, conjugate, contract
from clarray._numpy.products.einsums import einsum, einsum_path
from clarray._numpy.products.gufuncs import count_pairs, count_products
from clarray._numpy.products.vectors import vector_product
from clarray._numpy.reduction import reductions
from clarray._numpy.reduction.accumulations import outer as outer_product

__all__ = ["cross", "dot", "einsum", "einsum_path", "inner", "kron", "outer", "tensordot", "trace", "vdot"]


def _as_operands(a: Any, b: Any) -> tuple[DeviceArray, DeviceArray, np.dtype]:
    """Return both operands as arrays, and the dtype of their product."""
    device = device_of_operands((a, b))
    a_array, b_array = as_array(a, device), as_array(b, device)
    return a_array, b_array, device_dtype(np.result_type(a_array.dtype, b_array.dtype), device)


def _write_out(out: Any, product: DeviceArray, name: str) -> DeviceArray:
    """Assign a product to ``out``, or return it if ``out`` is None."""
    if out is None or out is product:
        return product
    if not isinstance(out, DeviceArray):
        raise TypeError(f"{name}: 'out' must be a DeviceArray, not {type(out).__name__}")
    assign(out, product._node)
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


@with_device_lock("out")
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
    vector_result = vector_product(a, b)  # not captured: the compiled core has one launch for all lengths
    return _dot(a, b) if vector_result is None else vector_result


@captured(operands=2)
def _dot(a: Any, b: Any, out: Any = None) -> DeviceArray:
    a_array, b_array, dtype = _as_operands(a, b)
    if not a_array.ndim or not b_array.ndim:
        _check_out(out, a_array.shape or b_array.shape, dtype, "dot")
        loop = find_loop(np.logical_and if dtype.kind == "b" else np.multiply, (dtype, dtype), (dtype,))
        return _write_out(out, evaluate_if_eager(build.binary(loop, a_array._node, b_array._node)), "dot")
    return _sum_products(a_array, a_array.ndim - 1, b_array, max(b_array.ndim - 2, 0), dtype, out, "dot")


_dot = small_call(_dot, Rule(np.dot, "integers", count_products))


def _sum_products(
    a: DeviceArray, a_axis: int, b: DeviceArray, b_axis: int, dtype: np.dtype, out: Any, name: str
) -> DeviceArray:
    if a.shape[a_axis] != b.shape[b_axis]:
        named_axis = max(b.ndim - 2, 0)  # NumPy moves the axis here, and its message says so
        named_shape = list(b.shape)
        named_shape[named_axis], named_shape[b_axis] = named_shape[b_axis], named_shape[named_axis]
        raise ValueError(
            f"shapes {_shape_text(a.shape)} and {_shape_text(tuple(named_shape))} not aligned: "
            f"{a.shape[a_axis]} (dim {a_axis}) != {named_shape[named_axis]} (dim {named_axis})"
        )
    free_labels = count()
    a_labels = [-1 if axis == a_axis else next(free_labels) for axis in range(a.ndim)]
    b_labels = [-1 if axis == b_axis else next(free_labels) for axis in range(b.ndim)]
    labels = [label for label in (*a_labels, *b_labels) if label >= 0]
    shape = (*_drop_axes(a.shape, [a_axis]), *_drop_axes(b.shape, [b_axis]))
    _check_out(out, shape, dtype, name)
    like = View(shape, contiguous(shape)) if out is None else None
    return _write_out(out, contract(Term(a, a_labels), Term(b, b_labels), labels, dtype, out, like), name)


def _drop_axes(shape: Shape, axes: Sequence[int]) -> Shape:
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def _shape_text(shape: tuple[int, ...]) -> str:
    return str(shape).replace(" ", "")


@captured(operands=2)
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
    a_array, b_array, dtype = _as_operands(a, b)
    if a_array.shape != b_array.shape or a_array.ndim != 1:
        a_array, b_array = shapes.ravel(a_array), shapes.ravel(b_array)
    if a_array.shape != b_array.shape:
        raise ValueError(f"cannot reshape array of size {b_array.size} into shape {_shape_text(a_array.shape)}")
    return contract(Term(conjugate(a_array), (0,)), Term(b_array, (0,)), (), dtype)


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
    vector_result = vector_product(a, b) if type(b) is DeviceArray and b.ndim == 1 else None
    return _inner(a, b) if vector_result is None else vector_result


@captured(operands=2)
def _inner(a: Any, b: Any) -> DeviceArray:
    a_array, b_array, dtype = _as_operands(a, b)
    if not a_array.ndim or not b_array.ndim:
        return dot(a_array, b_array)
    return _sum_products(a_array, a_array.ndim - 1, b_array, b_array.ndim - 1, dtype, None, "inner")


_inner = small_call(_inner, Rule(np.inner, "integers", count_pairs))


@with_device_lock("out")
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
        # operators copy no strided operand and have one launch for all shapes, which change in each step of a
        # factorization
        products: DeviceArray = a[:, None] * b
        return products
    return _outer(a, b, out)


@captured_growth(operands=2)
def _outer(a: Any, b: Any, out: Any) -> DeviceArray:
    device = device_of_operands((a, b, out))
    a_flat, b_flat = (shapes.ravel(as_array(x, device)) for x in (a, b))
    products: DeviceArray = outer_product(np.multiply, a_flat, b_flat, out=None if out is None else (out,))
    return products


@captured(operands=2)
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
    a_array, b_array, dtype = _as_operands(a, b)
    try:
        a_axes, b_axes = axes
    except TypeError:
        a_axes, b_axes = list(range(-axes, 0)), list(range(axes))
    a_axes, b_axes = _as_axis_list(a_axes), _as_axis_list(b_axes)
    if len(a_axes) != len(b_axes):
        raise ValueError("shape-mismatch for sum")
    _check_unique(a_axes, b_axes)
    for i, j in zip(a_axes, b_axes, strict=True):  # an axis out of bounds raises IndexError
        if a_array.shape[i] != b_array.shape[j]:
            raise ValueError("shape-mismatch for sum")
    a_axes = [strict_axis(at, a_array.ndim) for at in a_axes]
    b_axes = [strict_axis(at, b_array.ndim) for at in b_axes]
    _check_unique(a_axes, b_axes)  # negative and positive axes may be the same
    free_labels = count()
    a_labels = [-1 - a_axes.index(i) if i in a_axes else next(free_labels) for i in range(a_array.ndim)]
    b_labels = [-1 - b_axes.index(i) if i in b_axes else next(free_labels) for i in range(b_array.ndim)]
    labels = [label for label in (*a_labels, *b_labels) if label >= 0]
    shape = (*_drop_axes(a_array.shape, a_axes), *_drop_axes(b_array.shape, b_axes))
    like = View(shape, contiguous(shape))
    return mark_0d_array(contract(Term(a_array, a_labels), Term(b_array, b_labels), labels, dtype, like=like))


def _as_axis_list(axes: Any) -> list[int]:
    """Return an axis, or a sequence or array of axes, as a list. Bools stay, and `strict_axis` raises for them."""
    try:
        axes = list(axes)
    except TypeError:
        axes = [axes]
    return [axis if isinstance(axis, bool) else operator.index(axis) for axis in axes]


def _check_unique(*axes: list[Any]) -> None:
    if any(len(set(axis_list)) != len(axis_list) for axis_list in axes):
        raise ValueError("duplicate axes are not allowed in tensordot")


def multiply(a: DeviceArray, b: DeviceArray) -> DeviceArray:
    """Return the elementwise product as a pending array."""
    product: DeviceArray = call(np.multiply, (a, b))
    return product


@captured(operands=2)
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
    a_array, b_array = as_array(a, device), as_array(b, device)
    ndim = max(a_array.ndim, b_array.ndim)
    if not a_array.ndim or not b_array.ndim:
        return multiply(a_array, b_array)
    a_array = a_array.reshape((1,) * (ndim - a_array.ndim) + a_array.shape)
    b_array = b_array.reshape((1,) * (ndim - b_array.ndim) + b_array.shape)
    scaled = multiply(
        shapes.expand_dims(a_array, tuple(range(1, 2 * ndim, 2))),
        shapes.expand_dims(b_array, tuple(range(0, 2 * ndim, 2))),
    )
    return scaled.reshape(tuple(m * n for m, n in zip(a_array.shape, b_array.shape, strict=True)))


@captured(operands=2)
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
    a_array, b_array, dtype = _as_operands(a, b)
    if a_array.ndim < 1 or b_array.ndim < 1:
        raise ValueError("At least one array has zero dimension")
    a_parts, b_parts = _components(a_array, axisa, "axisa", dtype), _components(b_array, axisb, "axisb", dtype)
    if not len(a_parts) == len(b_parts) == 3:
        _check_vector_lengths(a_array.shape[axisa], b_array.shape[axisb])
        callers.warn_user(
            "Arrays of 2-dimensional vectors are deprecated. Use arrays of 3-dimensional vectors instead. "
            "(deprecated in NumPy 2.0)",
            DeprecationWarning,
        )
    if len(a_parts) == len(b_parts) == 2:
        return mark_0d_array(in_order(_minor(a_parts, b_parts, 0, 1), "C"))
    shape = (*np.broadcast_shapes(a_parts[0].shape, b_parts[0].shape), 3)
    out_axis = normalize_axis(axisc, len(shape), "axisc")
    vectors = empty(shape, dtype, a_array.device)
    for k in range(3):
        assign(vectors[..., k], _minor(a_parts, b_parts, (k + 1) % 3, (k + 2) % 3))
    return shapes.moveaxis(vectors, -1, out_axis)


def _check_vector_lengths(a_length: int, b_length: int) -> None:
    """Raise NumPy's error for vectors of these lengths. NumPy up to 2.4 accepts vectors of two elements."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.cross(np.broadcast_to(0.0, (a_length,)), np.broadcast_to(0.0, (b_length,)))


def _components(array: DeviceArray, axis: int, name: str, dtype: np.dtype) -> list[Node]:
    """Return the components of vectors along an axis, each as an array of the other axes."""
    moved = shapes.moveaxis(array, normalize_axis(axis, array.ndim, name), -1)
    return [cast(moved[..., k]._node, dtype) for k in range(min(moved.shape[-1], 4))]


def _minor(a: list[Node], b: list[Node], i: int, j: int) -> Node:
    """Return ``a[i] * b[j] - a[j] * b[i]``. The third component of a 2-d vector is zero."""
    plus = apply_ufunc(np.multiply, a[i], b[j]) if i < len(a) and j < len(b) else None
    minus = apply_ufunc(np.multiply, a[j], b[i]) if j < len(a) and i < len(b) else None
    difference: Node
    if minus is None:
        assert plus is not None
        return plus
    difference = apply_ufunc(np.negative, minus) if plus is None else apply_ufunc(np.subtract, plus, minus)
    return difference


@captured_growth(operands=1)
@with_device_lock("out")
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
    total: DeviceArray = reductions.sum(shapes.diagonal(as_array(a), offset, axis1, axis2), -1, dtype, out)
    return total
