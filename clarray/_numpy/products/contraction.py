"""Contractions of two arrays, of which all products of vectors, matrices and tensors are special cases.

Each axis has a label. A contraction sums over the labels of both arrays that the result lacks:

    batch   in both and in the result        rows     in the first and in the result
    summed  in both, not in the result       columns  in the second and in the result

A contraction with rows and columns is a product of matrices, evaluated at once. Otherwise every element is used
once, and the contraction is a pending multiplication and sum, fused with the pending operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from clarray._core.device_array import DeviceArray, wrap
from clarray._core.operands import scalar_node
from clarray._core.ufunc_calls import cast, evaluate_if_eager, full, in_order
from clarray._engine.algorithms import launchers
from clarray._engine.evaluate import evaluate, kernel_cache_of
from clarray._engine.expr import build
from clarray._engine.expr.node import Node, contiguous_leaf
from clarray._engine.expr.view import View
from clarray._engine.ops.dtypes import wide_dtype
from clarray._engine.ops.monoids import fold_monoid, reduction_op
from clarray._engine.ops.ufuncs import find_loop
from clarray._engine.writing import flush_readers, overlaps
from clarray._numpy.manipulation import shapes
from clarray._numpy.products.vectors import product_loop
from clarray._numpy.reduction.reduce_calls import ufunc_reduce

Labels = Sequence[Any]


class Term(NamedTuple):
    """An operand of a contraction, with one label per axis. No label occurs twice."""

    array: DeviceArray
    labels: Labels


class _Groups(NamedTuple):
    """The labels of a product of matrices, by their part in it."""

    batch: list[Any]
    rows: list[Any]
    columns: list[Any]
    summed: list[Any]


def contract(
    a: Term,
    b: Term,
    labels: Labels,
    dtype: np.dtype,
    target: DeviceArray | None = None,
    like: View | None = None,
) -> DeviceArray:
    """Multiply two arrays and sum over the labels that the result lacks.

    Parameters
    ----------
    a, b : Term
        The operands. Axes with the same label have the same extent.
    labels : sequence
        Labels of the result. Each is a label of an operand.
    dtype : dtype
        Dtype of the result. Values are converted to it first, and float16 is summed in float32.
    target : DeviceArray, optional
        Output array of the result's shape and dtype. It is used only if that costs nothing.
    like : View, optional
        Memory layout of the result. By default, a pending result has its operands' layout.

    Returns
    -------
    DeviceArray
        `target`, another array in memory, or a pending array.
    """
    a = _sum_unshared_axes(a, {*b.labels, *labels}, dtype)
    b = _sum_unshared_axes(b, {*a.labels, *labels}, dtype)
    extents = dict(zip((*a.labels, *b.labels), (*a.array.shape, *b.array.shape), strict=True))
    shape = tuple(extents[label] for label in labels)
    summed = [label for label in a.labels if label not in labels]
    rows = [label for label in labels if label not in b.labels]
    columns = [label for label in labels if label not in a.labels]
    m, n, k = (prod(extents[label] for label in group) for group in (rows, columns, summed))
    if 0 in shape or k == 0:
        return wrap(full(scalar_node(0, dtype), shape))
    policy = kernel_cache_of(a.array.device).policies.matmul
    unshared = [label for label in labels if label in rows or label in columns]
    swapped = bool(unshared) and unshared[-1] in rows
    matrices = prod(shape) // (m * n)
    if not summed or not launchers.matmul.worthwhile(policy, *((n, m) if swapped else (m, n)), k, dtype, matrices):
        node = _contract_pending(a, b, labels, summed, dtype)
        pending: DeviceArray = evaluate_if_eager(node) if like is None else in_order(node, "K", like)
        return pending
    if swapped:
        a, rows, b, columns = b, columns, a, rows
    split = _run_start(unshared, len(unshared), columns)
    first = _run_start(unshared, split, rows)
    batch = [label for label in labels if label not in unshared[first:]]
    groups = _Groups(batch, unshared[first:split], unshared[split:], summed)
    product = _multiply_matrices(a, b, labels, groups, extents, dtype, target)
    if like is None or (like.contiguous and product._node.contiguous):
        return product
    reordered: DeviceArray = in_order(product._node, "K", like)
    return reordered


def _run_start(labels: Labels, end: int, group: Labels) -> int:
    """Return the start of the run of the group's labels that ends at `end`."""
    while end and labels[end - 1] in group:
        end -= 1
    return end


def _sum_unshared_axes(term: Term, needed: set[Any], dtype: np.dtype) -> Term:
    """Sum over the axes whose labels neither the other operand nor the result has."""
    array, labels = term
    axes = tuple(axis for axis, label in enumerate(labels) if label not in needed)
    if not axes:
        return term
    ufunc = np.logical_or if dtype.kind == "b" else np.add
    wide = wide_dtype(dtype)  # as exact as NumPy, which sums float16 products in float32
    total = ufunc_reduce(ufunc, wrap(cast(array._node, wide)), axes, None if dtype.kind == "b" else wide)
    return Term(total, [label for label in labels if label in needed])


# Elements used once: an expression ------------------------------------------------------------


def _contract_pending(a: Term, b: Term, labels: Labels, summed: Labels, dtype: np.dtype) -> Node:
    order = _loop_order((a if a.array.size >= b.array.size else b).labels, labels, summed)
    loop = product_loop(dtype)
    a_factor, b_factor = (_factor(_arrange_axes(term, order), dtype) for term in (a, b))
    node = build.binary(loop, a_factor, b_factor)
    if summed:
        ufunc = np.logical_or if dtype.kind == "b" else np.add
        axes = tuple(i for i, label in enumerate(order) if label in summed)
        op = reduction_op(fold_monoid(ufunc, node.dtype), axes, len(order), False)
        shape = tuple(n for i, n in enumerate(node.shape) if i not in axes)
        node = build.reduction(op, (node,), shape)
    return cast(node, dtype)


def _factor(array: DeviceArray, dtype: np.dtype) -> Node:
    """Return an operand of the multiplication, rounded first if the product's dtype is narrower."""
    node = array._node
    return node if np.can_cast(node.dtype, dtype, "safe") else cast(node, dtype)


def _loop_order(larger: Labels, labels: Labels, summed: Labels) -> list[Any]:
    """Insert the summed labels into the result's in the larger operand's order. Append them if the orders differ."""
    common = [label for label in larger if label in labels]
    if common != [label for label in labels if label in larger]:
        return [*labels, *summed]
    order = list(labels)
    position = 0
    for label in larger:
        if label in order:
            position = order.index(label) + 1
        else:
            order.insert(position, label)
            position += 1
    return order


def _arrange_axes(term: Term, order: Labels) -> DeviceArray:
    """Bring an array's axes into an order, with axes of length 1 for missing labels, except leading ones."""
    array, labels = term
    present = [label for label in order if label in labels]
    if list(labels) != present:
        array = shapes.transpose(array, [list(labels).index(label) for label in present])
    if not present:
        return array
    first = list(order).index(present[0])
    missing = [i for i, label in enumerate(order[first:]) if label not in labels]
    return shapes.expand_dims(array, tuple(missing)) if missing else array


# Elements used repeatedly: a product of matrices ----------------------------------------------


def _multiply_matrices(
    a: Term,
    b: Term,
    labels: Labels,
    groups: _Groups,
    extents: dict[Any, int],
    dtype: np.dtype,
    target: DeviceArray | None,
) -> DeviceArray:
    batch, rows, columns, summed = groups
    batch_shape = tuple(extents[label] for label in batch)
    a_matrices = _as_matrices(a, groups, (rows, summed), batch_shape, dtype)
    b_matrices = _as_matrices(b, groups, (summed, columns), batch_shape, dtype)
    computed = [*batch, *rows, *columns]
    shape = tuple(extents[label] for label in computed)
    flat = (*batch_shape, a_matrices.shape[-2], b_matrices.shape[-1])
    if target is not None and computed == list(labels) and _is_fitting_target(target, a_matrices, b_matrices):
        memory = target._node.memory
        assert memory is not None
        view = shapes.reshape(target, flat)._node
        with memory.device.lock:
            flush_readers(memory)
            launchers.matmul.matmul(a_matrices, b_matrices, view)
        return target
    device = a.array.device
    leaf = contiguous_leaf(device.allocate(prod(flat) * dtype.itemsize), flat, dtype)
    launchers.matmul.matmul(a_matrices, b_matrices, leaf)
    product = shapes.reshape(wrap(leaf), shape)
    if computed != list(labels):
        product = shapes.transpose(product, [computed.index(label) for label in labels])
    return wrap(product._node)


def _is_fitting_target(target: DeviceArray, a: Node, b: Node) -> bool:
    """Return whether the kernel can write the product to `target` while it reads the operands."""
    leaf = target._node
    return (
        leaf.memory is not None
        and leaf.contiguous
        and not any(overlaps(operand, leaf) or operand.memory is leaf.memory for operand in (a, b))
    )


def _as_matrices(
    term: Term,
    groups: _Groups,
    sides: tuple[Labels, Labels],
    batch_shape: tuple[int, ...],
    dtype: np.dtype,
) -> Node:
    """Return an operand as a leaf with the axes ``(batch..., sides[0], sides[1])``, as a view if possible."""
    array, labels = term
    node = array._node
    integers = node.dtype.kind in "iu" and dtype.kind in "iu"
    if not integers and not np.can_cast(node.dtype, dtype, "safe"):
        array = wrap(evaluate(cast(node, dtype)))
    first, second = sides
    order = [*(label for label in groups.batch if label in labels), *first, *second]
    if list(labels) != order:
        array = shapes.transpose(array, [list(labels).index(label) for label in order])
    start = len(order) - len(first) - len(second)
    split = start + len(first)
    shape = array.shape
    flat = (*shape[:start], prod(shape[start:split]), prod(shape[split:]))
    if flat != shape:
        array = shapes.reshape(array, flat)
    if start < len(groups.batch):
        missing = tuple(i for i, label in enumerate(groups.batch) if label not in labels)
        array = shapes.expand_dims(array, missing)
    full_shape = (*batch_shape, *flat[-2:])
    return evaluate((array if array.shape == full_shape else shapes.broadcast_to(array, full_shape))._node)


def conjugate(array: DeviceArray) -> DeviceArray:
    """Return the complex conjugate as a pending array, or a real array unchanged."""
    if array.dtype.kind != "c":
        return array
    dtype = array.dtype
    return wrap(build.unary(find_loop(np.conjugate, (dtype,), (dtype,)), array._node))


__all__ = ["Term", "conjugate", "contract"]
