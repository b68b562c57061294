"""``alpha * a @ b + beta * d`` into a matrix, and of what is Hermitian half of it, by every kind of tile."""

from __future__ import annotations

import numpy as np
import pytest

import clarray
from clarray._engine.algorithms.matmul.launch import scaled_product
from clarray._engine.expr.node import Node, transposed_leaf, view_leaf
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._engine.runtime import current_device

from ..conftest import policy_in_force
from ..linalg.test_small_matrices import stack

FP64 = current_device().capabilities.fp64
DTYPES = ["float32", "complex64", *(["float64", "complex128"] if FP64 else [])]
# one tile, edges of tiles, whole ones; and a row's elements that no vector starts at
SHAPES = [(1, 1), (8, 8), (13, 7), (33, 45), (40, 36)]


def into(target: np.ndarray, *operands: Node, alpha: float, beta: float, other: Node, **how: bool) -> np.ndarray:
    """The product, written within a larger matrix, of which nothing else may change."""
    rows, columns = target.shape
    whole = clarray.array(np.full((rows + 1, columns + 3), 7, target.dtype))
    place = view_leaf(whole._node, (rows, columns), (columns + 3, 1), 2)
    scaled_product(kernel_cache_of(current_device()), *operands, place, other, **how).run(
        *operands, place, alpha, beta, other
    )
    found = np.asarray(whole).reshape(-1).copy()
    within = np.zeros(found.shape, bool)
    np.lib.stride_tricks.as_strided(
        within[2:], target.shape, tuple(step * within.itemsize for step in (columns + 3, 1))
    )[...] = True
    assert (found[~within] == 7).all()
    return found[within].reshape(target.shape)


@pytest.mark.parametrize("row", ["tiny-gpu", "tiny-stages", "tiny-warps", "gpu"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_forms(row: str, dtype: str) -> None:
    with policy_in_force(row):
        for m, k in SHAPES[1:3] if row == "gpu" else SHAPES:
            a, d = stack(dtype, (m, k)), stack(dtype, (m, m), 1)
            d = d + d.conj().T
            one, other = clarray.array(a), clarray.array(d)
            gram, bound = a.conj() @ a.T, 100 * np.finfo(dtype).eps * k
            for mirrored in (False, True):
                for beta in (0.0, 0.5):
                    found = into(
                        d,
                        one._node,
                        one.T._node,
                        alpha=2,
                        beta=beta,
                        other=other._node,
                        adjoint=True,
                        mirrored=mirrored,
                    )
                    np.testing.assert_allclose(found, 2 * gram + beta * d, rtol=0, atol=bound * 4)
                    if mirrored:
                        np.testing.assert_array_equal(found, found.conj().T)
            wide = stack(dtype, (m, k), 2)
            found = into(wide, other._node, one._node, alpha=-1, beta=1, other=clarray.array(wide)._node)
            np.testing.assert_allclose(found, wide - d @ a, rtol=0, atol=bound * 10 * m)


@pytest.mark.parametrize("row", ["tiny-gpu", "tiny-stages"])
def test_what_is_not_asked_for_is_not_read(row: str) -> None:
    """Neither what is added nothing of, nor what lies above the diagonal of the target."""
    a, nothing = stack("float64" if FP64 else "float32", (20, 20)), np.full((20, 20), np.nan)
    d, other = clarray.array(a), clarray.array(nothing.astype(a.dtype))
    with policy_in_force(row):
        found = into(a, d._node, d.T._node, alpha=1, beta=0, other=other._node, mirrored=True)
    np.testing.assert_allclose(found, a @ a.T, atol=1e-4)


@pytest.mark.parametrize("row", ["tiny-gpu", "tiny-stages", "tiny-warps", "gpu"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_stacks(row: str, dtype: str) -> None:
    """Each matrix where it lies: of each stack at other distances, and nothing else is written."""
    count, m, k = 3, 13, 7
    a, d = stack(dtype, (count, m, k)), stack(dtype, (count, m, m), 1)
    d = d + d.conj().swapaxes(1, 2)
    gram = a.conj() @ a.swapaxes(1, 2)
    with policy_in_force(row):
        for apart, pitch in ((m * (m + 3) + 5, m + 3), (16 * 17, 16)):
            left = clarray.array(np.pad(a, ((0, 0), (0, 2), (0, 1))))._node
            one = view_leaf(left, (count, m, k), left.strides, 0)
            other = clarray.array(np.pad(d, ((0, 0), (0, 3), (0, 3))))._node
            beside = view_leaf(other, (count, m, m), other.strides, 0)
            for mirrored in (False, True):
                room = clarray.array(np.full(count * apart + 2, 7, dtype))
                place = view_leaf(room._node, (count, m, m), (apart, pitch, 1), 0)
                scaled_product(
                    kernel_cache_of(current_device()),
                    one,
                    transposed_leaf(one),
                    place,
                    beside,
                    adjoint=True,
                    mirrored=mirrored,
                ).run(one, transposed_leaf(one), place, 2.0, 0.5, beside)
                found, steps = np.asarray(room), np.array([apart, pitch, 1]) * room.itemsize
                within = np.lib.stride_tricks.as_strided(found, (count, m, m), steps)
                np.testing.assert_allclose(within, 2 * gram + 0.5 * d, rtol=0, atol=400 * np.finfo(dtype).eps * k)
                taken = np.zeros(found.shape, bool)
                np.lib.stride_tricks.as_strided(taken, (count, m, m), (apart, pitch, 1))[...] = True
                assert (found[~taken] == 7).all()
