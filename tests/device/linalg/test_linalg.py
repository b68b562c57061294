"""clarray.linalg against numpy.linalg: products and norms, which stay on the device."""

from __future__ import annotations

import inspect
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clarray
from clarray._engine.runtime import current_device
from clarray.linalg.products import chain_order

from ..conftest import outcome

pytestmark = pytest.mark.usefixtures("quick_builds")

FP64 = current_device().capabilities.fp64
OTHERS = ["complex64"] + (["int32", "complex128"] if FP64 else [])
RTOL = {"f": 2e-6, "F": 2e-6, "d": 1e-14, "D": 1e-14}
SHAPE = (3, 4, 5)
ORDERS = [None, 2, 1, 0, math.inf, -math.inf, 3, "fro"]
MATRIX_ORDERS = [*ORDERS, -1, 2, -2, "nuc", "f", "what"]


def host(dtype: str, shape: tuple[int, ...] = SHAPE, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    values = random.uniform(-3, 3, shape)
    if dtype.startswith("c"):
        values = values + 1j * random.uniform(-3, 3, shape)
    return values.astype(dtype)


def check(body: Any, *arrays: np.ndarray) -> None:
    """The same as NumPy, within rounding, or the same error; nothing has run on the host."""
    theirs, expected = outcome(lambda xp: body(xp, *arrays), np)
    with clarray.profile() as p:
        ours, error = outcome(lambda xp: body(xp, *map(clarray.array, arrays)), clarray)
    if expected is not None:
        assert (type(error), str(error)) == (type(expected), str(expected))
        return
    if error is not None:
        raise error
    assert p.host_calls == 0
    assert isinstance(ours, clarray.DeviceArray | np.generic)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    close = RTOL.get(theirs.dtype.char, 0) * np.abs(theirs).max(initial=0)
    np.testing.assert_allclose(clarray.asnumpy(ours), theirs, rtol=0, atol=close)


def test_names_and_signatures_are_numpys() -> None:
    for module, theirs in ((clarray.linalg, np.linalg),):
        assert set(module.__all__) == set(theirs.__all__)
        for name in set(theirs.__all__) - {"LinAlgError"}:
            ours = inspect.signature(getattr(module, name)).parameters.values()
            wanted = inspect.signature(getattr(theirs, name)).parameters.values()
            assert [(p.name, p.kind, p.default) for p in ours] == [(p.name, p.kind, p.default) for p in wanted], name
    assert clarray.linalg.LinAlgError is np.linalg.LinAlgError


# Norms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "order"), [*(("float32", o) for o in ORDERS), *((dtype, o) for dtype in OTHERS for o in (None, 3))]
)
@pytest.mark.optimized
def test_norms_of_vectors(dtype: str, order: Any) -> None:
    x = host(dtype)
    x[0, :2] = 0
    for axis in (0, -1) if dtype == "float32" else (-1,):
        check(lambda xp, a, axis=axis: xp.linalg.norm(a, order, axis), x)
    if dtype == "float32":  # the axis is no matter of the dtype
        check(lambda xp, a: xp.linalg.norm(a, order, 1, keepdims=True), x)


@given(
    order=st.sampled_from([2, 1, math.inf]),
    axis=st.sampled_from([None, 0, -2, (0, 1), (2, 0), (0, 1, 2), ()]),
    keepdims=st.booleans(),
)
def test_vector_norm_takes_any_axes(order: Any, axis: Any, keepdims: bool) -> None:
    check(lambda xp, a: xp.linalg.vector_norm(a, axis=axis, ord=order, keepdims=keepdims), host("float32"))


@given(
    order=st.sampled_from(MATRIX_ORDERS),
    axis=st.sampled_from([(0, 1), (2, 0), (-1, -2), (1, 1), (0, 3), (0, 1, 2), 5, "x", None]),
    keepdims=st.booleans(),
)
def test_norms_of_matrices_and_errors(order: Any, axis: Any, keepdims: bool) -> None:
    x = host("float32")
    theirs, expected = outcome(lambda xp: xp.linalg.norm(x, order, axis, keepdims), np)
    ours, error = outcome(lambda xp: xp.linalg.norm(clarray.asarray(x), order, axis, keepdims), clarray)
    if expected is not None:
        assert (type(error), str(error)) == (type(expected), str(expected))
        return
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_allclose(ours.get(), theirs, rtol=2e-6)


@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])
def test_matrix_norm(order: Any) -> None:
    x = host("complex64")
    for keepdims in (False, True):
        theirs = np.linalg.matrix_norm(x, ord=order, keepdims=keepdims)
        ours = clarray.linalg.matrix_norm(clarray.asarray(x), ord=order, keepdims=keepdims)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours.get(), theirs, rtol=2e-6)


def test_norms_of_nothing() -> None:
    for shape in ((0,), (0, 3), (3, 0)):
        x = np.zeros(shape, np.float32)
        for order in (None, 1, 2, -math.inf, 0):
            check(lambda xp, a, order=order: xp.linalg.norm(a, order, 0), x)
            check(lambda xp, a, order=order: xp.linalg.vector_norm(a, ord=order), x)
        assert float(clarray.linalg.vector_norm(clarray.array(x), ord=math.inf)) == 0  # as NumPy has it from 2.3 on


@pytest.mark.optimized
def test_norms_of_special_values() -> None:
    for value in (math.nan, math.inf):
        x = np.array([1, value, -2, 0], np.float32)
        for order in (None, 1, 0, math.inf, -math.inf, 3):
            np.testing.assert_array_equal(clarray.linalg.norm(clarray.array(x), order), np.linalg.norm(x, order))


@pytest.mark.kernels_alone
def test_a_norm_is_one_pass_over_what_is_pending() -> None:
    x = clarray.array(host("float32", (512, 256)))
    for norm in (lambda a: clarray.linalg.norm(a), lambda a: clarray.linalg.norm(a, 3, axis=1)):
        norm(x * 2 - 1).evaluate()
        with clarray.profile() as p:
            norm(x * 2 - 1).evaluate()
        assert p.launches <= 2  # a reduction, and the combination of its parts
        assert p.allocated_bytes <= x.nbytes // 4


@pytest.mark.optimized
def test_a_norm_of_many_float32_is_more_accurate_than_numpys() -> None:
    x = np.random.default_rng(3).standard_normal(1 << 20).astype(np.float32)
    exact = math.sqrt(math.fsum(float(v) * float(v) for v in x))
    assert abs(float(clarray.linalg.norm(clarray.asarray(x))) - exact) <= 2 * np.spacing(np.float32(exact))


def test_float16_is_summed_in_float32() -> None:
    x = clarray.array(np.full(5000, 300, np.float16))  # NumPy's sum of squares is infinite
    found = clarray.linalg.norm(x)
    assert found.dtype == np.float16
    assert float(found) == float(np.float16(300 * math.sqrt(5000)))
    assert float(clarray.linalg.norm(x[:100], 1)) == 30000


def test_norms_of_a_selection() -> None:
    check(lambda xp, a: xp.linalg.norm(a[a > 0], 3), host("float32"))


# Products -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_products(dtype: str) -> None:
    a, b = host(dtype, (3, 4, 5)), host(dtype, (3, 5, 4), 1)
    check(lambda xp, a, b: xp.linalg.matmul(a, b), a, b)
    check(lambda xp, a, b: xp.linalg.tensordot(a, b, axes=([0, 2], [0, 1])), a, b)
    check(lambda xp, a, b: xp.linalg.vecdot(a, b.swapaxes(1, 2)), a, b)
    check(lambda xp, a, b: xp.linalg.vecdot(a, b.swapaxes(1, 2), axis=1), a, b)
    check(lambda xp, a, b: xp.linalg.outer(a[0, 0], b[1, 1]), a, b)
    check(lambda xp, a, b: xp.linalg.outer(a, b), a, b)
    check(lambda xp, a: xp.linalg.trace(a, offset=-1), a)
    check(lambda xp, a: xp.linalg.diagonal(a, offset=1), a)
    check(lambda xp, a: xp.linalg.matrix_transpose(a), a)


@pytest.mark.optimized
def test_trace_sums_in_numpys_dtype() -> None:
    check(lambda xp, a: xp.linalg.trace(a), np.ones((2, 3, 3), bool))
    check(lambda xp, a: xp.linalg.trace(a, dtype=np.int8), np.full((3, 3), 100, np.int16))


def test_cross() -> None:
    a, b = host("float32", (2, 3)), host("float32", (4, 1, 3), 1)
    check(lambda xp, a, b: xp.linalg.cross(a, b), a, b)
    check(lambda xp, a, b: xp.linalg.cross(a.T, a.T, axis=0), a, b)
    check(lambda xp, a, b: xp.linalg.cross(a[:, :2], a[:, :2]), a, b)


@pytest.mark.parametrize("power", [0, 1, 2, 3, 4, 7])
def test_matrix_power(power: int) -> None:
    check(lambda xp, a: xp.linalg.matrix_power(a, power), host("float32", (2, 4, 4)))
    check(lambda xp, a: xp.linalg.matrix_power(a, power), host("int32", (4, 4)))


def test_matrix_power_of_inverses_and_errors() -> None:
    x = host("float32", (2, 4, 4))
    found = clarray.linalg.matrix_power(clarray.asarray(x), -3).get()
    exact = np.linalg.matrix_power(x, -3)
    assert found.dtype == exact.dtype
    np.testing.assert_allclose(found, exact, atol=1e-4 * np.abs(exact).max())
    check(lambda xp, a: xp.linalg.matrix_power(a, 1.5), x)
    check(lambda xp, a: xp.linalg.matrix_power(a[:, :3], 2), x)
    check(lambda xp, a: xp.linalg.matrix_power(a[0, 0], 2), x)


CHAINS = st.lists(st.integers(1, 9), min_size=3, max_size=6)


def multiplications(extents: list[int], splits: dict[tuple[int, int], int], first: int, last: int) -> int:
    if first == last:
        return 0
    at = splits[first, last]
    inner = extents[first] * extents[at + 1] * extents[last + 1]
    return inner + multiplications(extents, splits, first, at) + multiplications(extents, splits, at + 1, last)


def fewest(extents: list[int]) -> int:
    """By trying every order."""
    if len(extents) == 2:
        return 0
    return min(
        fewest(extents[: k + 1]) + fewest(extents[k:]) + extents[0] * extents[k] * extents[-1]
        for k in range(1, len(extents) - 1)
    )


@given(CHAINS)
def test_a_chain_takes_the_fewest_multiplications(extents: list[int]) -> None:
    assert multiplications(extents, chain_order(extents), 0, len(extents) - 2) == fewest(extents)


def test_multi_dot() -> None:
    extents = [4, 7, 2, 5, 3]
    arrays = [host("float32", shape, i) for i, shape in enumerate(pairwise(extents))]
    for first in range(3):
        check(lambda xp, *a: xp.linalg.multi_dot(list(a)), *arrays[first:])
    vector, column = arrays[0][0], arrays[-1][:, 0]
    check(lambda xp, *a: xp.linalg.multi_dot(a), vector, *arrays[1:])
    check(lambda xp, *a: xp.linalg.multi_dot(a), *arrays[:-1], column)
    check(lambda xp, *a: xp.linalg.multi_dot(a), vector, *arrays[1:-1], column)
    check(lambda xp, *a: xp.linalg.multi_dot(a), arrays[0])
    check(lambda xp, *a: xp.linalg.multi_dot(a), arrays[0], vector, arrays[1])
    check(lambda xp, *a: xp.linalg.multi_dot(a), arrays[0], arrays[0], arrays[1])
    out = clarray.empty((4, 3), np.float32)
    assert clarray.linalg.multi_dot(arrays, out=out) is out
    np.testing.assert_allclose(out, np.linalg.multi_dot(arrays), rtol=1e-5)
