"""Contractions of two arrays: what every product of vectors, matrices and tensors comes down to.

Each axis has a label. A label of both arrays that the result lacks is summed over:

    batch   in both and in the result        rows     in the first and in the result
    summed  in both, not in the result       columns  in the second and in the result

With rows and columns it is a product of matrices, computed at once. Otherwise every element is used once, and the
product is an expression: a multiplication and a sum, fused with what the operands still are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

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


def contract(
    a: DeviceArray,
    a_labels: Labels,
    b: DeviceArray,
    b_labels: Labels,
    labels: Labels,
    dtype: np.dtype,
    target: DeviceArray | None = None,
    like: View | None = None,
) -> DeviceArray:
    """Multiply two arrays and sum over the labels that the result lacks.

    Parameters
    ----------
    a, b : DeviceArray
    a_labels, b_labels : sequence
        One label per axis, none twice in one operand; a label stands for one extent.
    labels : sequence
        Of the result, each one of the operands'.
    dtype : dtype
        Of the result: values are converted to it first, and float16 is summed in float32.
    target : DeviceArray, optional
        Where the result may be put, if that is as quick: of its shape and dtype.
    like : View, optional
        How an expression's result is to lie in memory; as its operands do if it is not given.

    Returns
    -------
    DeviceArray
        Pending, or in memory, or `target`.
    """
    a, a_labels = _without(a, a_labels, {*b_labels, *labels}, dtype)
    b, b_labels = _without(b, b_labels, {*a_labels, *labels}, dtype)
    extents = dict(zip((*a_labels, *b_labels), (*a.shape, *b.shape), strict=True))
    shape = tuple(extents[label] for label in labels)
    summed = [label for label in a_labels if label not in labels]
    rows = [label for label in labels if label not in b_labels]
    columns = [label for label in labels if label not in a_labels]
    m, n, k = (prod(extents[label] for label in each) for each in (rows, columns, summed))
    if 0 in shape or k == 0:
        return wrap(full(scalar_node(0, dtype), shape))
    policy = kernel_cache_of(a.device).policies.matmul
    own = [label for label in labels if label in rows or label in columns]
    turned = bool(own) and own[-1] in rows
    matrices = prod(shape) // (m * n)
    if not summed or not launchers.matmul.worthwhile(policy, *((n, m) if turned else (m, n)), k, dtype, matrices):
        node = _reduced(a, a_labels, b, b_labels, labels, summed, dtype)
        found: DeviceArray = evaluate_if_eager(node) if like is None else in_order(node, "K", like)
        return found
    if turned:
        a, a_labels, rows, b, b_labels, columns = b, b_labels, columns, a, a_labels, rows
    at = _run_before(own, len(own), columns)
    first = _run_before(own, at, rows)
    inner, outer = own[at:], own[first:at]
    batch = [label for label in labels if label not in own[first:]]
    made = _multiplied(a, a_labels, b, b_labels, labels, (batch, outer, inner, summed), extents, dtype, target)
    if like is None or (like.contiguous and made._node.contiguous):
        return made
    laid: DeviceArray = in_order(made._node, "K", like)
    return laid


def _run_before(labels: Labels, end: int, group: Labels) -> int:
    """Where the run of the group's labels that ends at `end` begins."""
    while end and labels[end - 1] in group:
        end -= 1
    return end


def _without(array: DeviceArray, own: Labels, needed: set[Any], dtype: np.dtype) -> tuple[DeviceArray, Labels]:
    """Sum over the axes that only this operand has."""
    axes = tuple(axis for axis, label in enumerate(own) if label not in needed)
    if not axes:
        return array, own
    ufunc = np.logical_or if dtype.kind == "b" else np.add
    wide = wide_dtype(dtype)  # as exact as NumPy, which sums float16 products in float32
    total = ufunc_reduce(ufunc, wrap(cast(array._node, wide)), axes, None if dtype.kind == "b" else wide)
    return total, [label for label in own if label in needed]


# Elements used once: an expression ------------------------------------------------------------


def _reduced(
    a: DeviceArray,
    a_labels: Labels,
    b: DeviceArray,
    b_labels: Labels,
    labels: Labels,
    summed: Labels,
    dtype: np.dtype,
) -> Node:
    order = _order(a_labels if a.size >= b.size else b_labels, labels, summed)
    loop = product_loop(dtype)
    left, right = (_entering(arranged(x, own, order), dtype) for x, own in ((a, a_labels), (b, b_labels)))
    node = build.binary(loop, left, right)
    if summed:
        ufunc = np.logical_or if dtype.kind == "b" else np.add
        axes = tuple(i for i, label in enumerate(order) if label in summed)
        op = reduction_op(fold_monoid(ufunc, node.dtype), axes, len(order), False)
        shape = tuple(n for i, n in enumerate(node.shape) if i not in axes)
        node = build.reduction(op, (node,), shape)
    return cast(node, dtype)


def _entering(array: DeviceArray, dtype: np.dtype) -> Node:
    """An operand as it is multiplied: rounded to a narrower dtype first where there is one."""
    node = array._node
    return node if np.can_cast(node.dtype, dtype, "safe") else cast(node, dtype)


def _order(longer: Labels, labels: Labels, summed: Labels) -> list[Any]:
    """The result's labels with the summed ones among them where the larger operand has them, if it can be."""
    kept = [label for label in longer if label in labels]
    if kept != [label for label in labels if label in longer]:
        return [*labels, *summed]
    order = list(labels)
    at = 0
    for label in longer:
        if label in order:
            at = order.index(label) + 1
        else:
            order.insert(at, label)
            at += 1
    return order


def arranged(array: DeviceArray, own: Labels, order: Labels) -> DeviceArray:
    """An array with its axes in `order`, and axes of one element where it has none, but none in front."""
    present = [label for label in order if label in own]
    if list(own) != present:
        array = shapes.transpose(array, [list(own).index(label) for label in present])
    if not present:
        return array
    first = list(order).index(present[0])
    missing = [i for i, label in enumerate(order[first:]) if label not in own]
    return shapes.expand_dims(array, tuple(missing)) if missing else array


# Elements used again and again: a product of matrices -----------------------------------------


def _multiplied(
    a: DeviceArray,
    a_labels: Labels,
    b: DeviceArray,
    b_labels: Labels,
    labels: Labels,
    groups: tuple[list[Any], list[Any], list[Any], list[Any]],
    extents: dict[Any, int],
    dtype: np.dtype,
    target: DeviceArray | None,
) -> DeviceArray:
    batch, rows, columns, summed = groups
    repeated = tuple(extents[label] for label in batch)
    left = _matrices(a, a_labels, batch, rows, summed, repeated, dtype)
    right = _matrices(b, b_labels, batch, summed, columns, repeated, dtype)
    found = [*batch, *rows, *columns]
    shape = tuple(extents[label] for label in found)
    flat = (*repeated, left.shape[-2], right.shape[-1])
    if target is not None and found == list(labels) and _fit(target, left, right):
        memory = target._node.memory
        assert memory is not None
        view = shapes.reshape(target, flat)._node
        with memory.device.lock:
            flush_readers(memory)
            launchers.matmul.matmul(left, right, view)
        return target
    device = a.device
    leaf = contiguous_leaf(device.allocate(prod(flat) * dtype.itemsize), flat, dtype)
    launchers.matmul.matmul(left, right, leaf)
    made = shapes.reshape(wrap(leaf), shape)
    if found != list(labels):
        made = shapes.transpose(made, [found.index(label) for label in labels])
    return wrap(made._node)


def _fit(target: DeviceArray, left: Node, right: Node) -> bool:
    """Whether a product can be computed where its result is wanted."""
    leaf = target._node
    return (
        leaf.memory is not None
        and leaf.contiguous
        and not any(overlaps(operand, leaf) or operand.memory is leaf.memory for operand in (left, right))
    )


def _matrices(
    array: DeviceArray,
    own: Labels,
    batch: Labels,
    first: Labels,
    second: Labels,
    repeated: tuple[int, ...],
    dtype: np.dtype,
) -> Node:
    """An operand as a leaf (batch..., first, second): a view where that is possible."""
    node = array._node
    integers = node.dtype.kind in "iu" and dtype.kind in "iu"
    if not integers and not np.can_cast(node.dtype, dtype, "safe"):
        array = wrap(evaluate(cast(node, dtype)))
    order = [*(label for label in batch if label in own), *first, *second]
    if list(own) != order:
        array = shapes.transpose(array, [list(own).index(label) for label in order])
    at = len(order) - len(first) - len(second)
    split = at + len(first)
    shape = array.shape
    flat = (*shape[:at], prod(shape[at:split]), prod(shape[split:]))
    if flat != shape:
        array = shapes.reshape(array, flat)
    if at < len(batch):
        missing = tuple(i for i, label in enumerate(batch) if label not in own)
        array = shapes.expand_dims(array, missing)
    whole = (*repeated, *flat[-2:])
    return evaluate((array if array.shape == whole else shapes.broadcast_to(array, whole))._node)


def conjugate(array: DeviceArray) -> DeviceArray:
    """The complex conjugate, as an expression; anything real as it is."""
    if array.dtype.kind != "c":
        return array
    dtype = array.dtype
    return wrap(build.unary(find_loop(np.conjugate, (dtype,), (dtype,)), array._node))


__all__ = ["conjugate", "contract"]
