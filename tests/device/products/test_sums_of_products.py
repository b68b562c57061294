"""Products with vectors, whose sums a CPU adds in blocks: exact where they can be, else with a bound of no length."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.evaluate import kernel_cache_of
from clarray._engine.runtime import current_device

from ..conftest import policy_changed, policy_in_force

Form = Callable[[ModuleType, Any, Any, Any, Any], Any]

# Of matrices a and b of m rows and n columns, x of n elements and y of m.
FORMS: dict[str, Form] = {
    "A @ x": lambda xp, a, b, x, y: a @ x,
    "y @ A": lambda xp, a, b, x, y: y @ a,
    "x @ x": lambda xp, a, b, x, y: x @ b[0],
    "A.T @ y": lambda xp, a, b, x, y: a.T @ y,
    "x @ A.T": lambda xp, a, b, x, y: x @ a.T,
    "steps": lambda xp, a, b, x, y: a[:, ::2] @ x[::2],
    "steps of three": lambda xp, a, b, x, y: a[:, 1::3] @ x[1::3],
    "steps, one row": lambda xp, a, b, x, y: x[::2] @ b[0, ::2],
    "rows apart": lambda xp, a, b, x, y: a[::2, 1:] @ x[1:],
    "columns apart": lambda xp, a, b, x, y: y @ a[:, ::2],
    "some columns": lambda xp, a, b, x, y: y[1:] @ a[1:, 1:-1],
    "backwards": lambda xp, a, b, x, y: a[::-1, ::-1] @ x[::-1],
    "one backwards": lambda xp, a, b, x, y: a[:, ::-1] @ x,
    "columns backwards": lambda xp, a, b, x, y: y[::-1] @ a[:, ::-1],
    "repeated": lambda xp, a, b, x, y: xp.broadcast_to(x, a.shape) @ b[0],
    "one value": lambda xp, a, b, x, y: a @ xp.broadcast_to(x[:1], x.shape),
    "inner": lambda xp, a, b, x, y: xp.inner(a, x),
    "vdot": lambda xp, a, b, x, y: xp.vdot(a, b),
    "vecdot": lambda xp, a, b, x, y: xp.vecdot(a, b),
    "vecdot, one of them a row": lambda xp, a, b, x, y: xp.vecdot(x, a),
    "vecdot, axis 0": lambda xp, a, b, x, y: xp.vecdot(a, b, axis=0),
    "stack": lambda xp, a, b, x, y: xp.stack([a, b]) @ x,
    "vectors and stack": lambda xp, a, b, x, y: xp.vecdot(xp.stack([a, b]), x[None, None]),
    "tensordot": lambda xp, a, b, x, y: xp.tensordot(a, b),
    "einsum, columns": lambda xp, a, b, x, y: xp.einsum("ij,ij->j", a, b),
    "einsum, rows": lambda xp, a, b, x, y: xp.einsum("ij,j->i", a, x),
    "einsum, all": lambda xp, a, b, x, y: xp.einsum("ij,ij->", a, b),
    "einsum, three": lambda xp, a, b, x, y: xp.einsum("kij,j->ki", xp.stack([a, b]), x),
}

BITS = {"float16": 11, "float32": 24, "float64": 53}

# Around the ends of vectors, of blocks and of rows abreast, of the device's own policies and of the tiny ones.
SIZES = [
    *((2, 3), (3, 2), (5, 7), (4, 9), (1, 33), (9, 31), (8, 32), (33, 33), (34, 40), (35, 63), (63, 36)),
    *((4, 64), (5, 65), (66, 7), (67, 72), (3, 127), (130, 129), (9, 257), (259, 12), (71, 300)),
]
OF_NOTHING = [(0, 0), (0, 5), (5, 0), (1, 1), (1, 2)]

# Which of a, b, x and y has the large numbers: no more than one factor of a product.
LARGE = dict.fromkeys(FORMS, (0,))
LARGE |= dict.fromkeys(("x @ x", "steps, one row", "repeated"), (1,))
LARGE |= dict.fromkeys(("stack", "vectors and stack", "einsum, three"), (0, 1))

FEW = ["A @ x", "y @ A", "x @ x", "steps", "vecdot"]  # of which every policy and dtype has kernels of its own


@pytest.fixture(autouse=True)
def builds(request: pytest.FixtureRequest) -> None:
    """Compile the kernels of the few forms as a program has them, and the many others quickly."""
    parameters = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    if parameters.get("form") not in FEW:
        request.getfixturevalue("quick_builds")


def is_left_out(row: str, kind: str, form: str) -> bool:
    """Return whether this form of this dtype is left to `--exhaustive`."""
    if row == "tiny-gpu" or form in FEW or not current_device().capabilities.fp64:
        return False
    return kind == ("float32", "float64")[(list(FORMS).index(form) + (row == "own")) % 2]


def every_form() -> pytest.MarkDecorator:
    """Parametrise by policy, dtype and form: all forms as a CPU computes them, few elsewhere.

    Both policies of a CPU have each form, one with float32 and the other with float64. The other halves need
    `--exhaustive`.
    """
    rows, kinds = ("own", "tiny-cpu", "tiny-gpu"), tuple(BITS)
    full = [row != "tiny-gpu" and kind != "float16" for row in rows for kind in kinds]
    pairs = [(row, kind) for row in rows for kind in kinds]
    cases = [
        pytest.param(*pair, form, marks=pytest.mark.exhaustive if is_left_out(*pair, form) else [])
        for pair, all_ in zip(pairs, full, strict=True)
        for form in (FORMS if all_ else FEW)
    ]
    return pytest.mark.parametrize(("policy", "kind", "form"), cases, indirect=["policy", "kind"])


@pytest.fixture(params=BITS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name == "float64" and not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")
    return name


def numbers(shape: tuple[int, int], bits: int, seed: int = 1) -> list[np.ndarray]:
    """Whole numbers of so many bits: two matrices, and the two vectors that go with them."""
    rng = np.random.default_rng(seed)
    (m, n), limit = shape, 2**bits - 1
    return [rng.integers(-limit, limit, s, endpoint=True).astype(object) for s in ((m, n), (m, n), (n,), (m,))]


def called(form: Form, whole: list[np.ndarray], kind: str, scale: float = 1.0) -> Any:
    arrays = [clarray.array(w.astype(np.float64).astype(kind) * np.dtype(kind).type(scale)) for w in whole]
    return clarray.asnumpy(form(clarray, *arrays))


@every_form()
def test_whole_numbers(policy: str, kind: str, form: str) -> None:
    bits = 1 if kind == "float16" else 4
    for shape in SIZES:
        whole = numbers(shape, bits)
        if kind == "float16":
            whole = [w * (np.arange(w.size).reshape(w.shape) % 3 == 0) for w in whole]  # sums below 2048
        expected = np.asarray(FORMS[form](np, *whole)).astype(np.float64)
        found = called(FORMS[form], whole, kind)
        assert found.dtype == kind
        np.testing.assert_array_equal(found, expected, strict=False, err_msg=str(shape))


@pytest.mark.parametrize("form", ["A @ x", "y @ A", "A.T @ y", "vdot", "vecdot", "vecdot, axis 0"])
def test_of_nothing_and_of_one(policy: str, kind: str, form: str) -> None:
    for shape in OF_NOTHING:
        whole = numbers(shape, 2)
        arrays = [w.astype(kind) for w in whole]
        found, expected = called(FORMS[form], whole, kind), FORMS[form](np, *arrays)
        assert found.shape == np.shape(expected)
        np.testing.assert_array_equal(found, expected)


def deepest() -> int:
    """The most roundings that a product and the sums over it meet in its own dtype, before a state takes them."""
    policy = kernel_cache_of(current_device()).policies.products
    if policy.explicit:
        return max(policy.block_products, policy.column_loads)
    return 1 + (policy.loads * policy.max_width).bit_length()  # a GPU's tree


@every_form()
def test_errors_have_a_bound_without_the_length(policy: str, kind: str, form: str) -> None:
    """A block's sum is off by a rounding for each product in it at most, its state by next to nothing."""
    bits = BITS[kind]
    unit = 2.0**-bits
    computed = 2.0 ** -max(bits, 24)  # float16 is multiplied and added in float32
    for shape in SIZES:
        whole = numbers(shape, bits)
        found = called(FORMS[form], whole, kind, 2.0**-bits)
        exact = np.asarray(FORMS[form](np, *whole), object)
        magnitudes = np.asarray(FORMS[form](np, *map(abs, whole)), object)
        scale = 4**bits
        for f, x, size in zip(found.flat, exact.flat, magnitudes.flat, strict=True):
            error = off(float(f), x, scale)
            bound = 1.01 * (unit * abs(x) + deepest() * computed * size) / scale
            assert error <= bound, f"{shape}: {error:.3g}, bound {bound:.3g}"


def off(found: float, exact: int, scale: int) -> float:
    """How far a float is from ``exact / scale``."""
    top, bottom = found.as_integer_ratio()
    return abs(top * scale - exact * bottom) / (bottom * scale)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@every_form()
def test_sums_carry_their_range(policy: str, kind: str, form: str) -> None:
    """Terms near the largest number, of both signs and in any order, give the right number or the right infinity."""
    top = np.finfo(kind).maxexp - 1
    for shape in SIZES:
        whole = numbers(shape, 1)
        exact = np.asarray(FORMS[form](np, *whole)).astype(np.float64)
        expected = np.where(abs(exact) < 2, exact * 2.0**top, np.copysign(np.inf, exact)).astype(kind)
        arrays = [clarray.array(np.ldexp(w.astype(kind), top if n in LARGE[form] else 0)) for n, w in enumerate(whole)]
        np.testing.assert_array_equal(clarray.asnumpy(FORMS[form](clarray, *arrays)), expected, err_msg=str(shape))


SPECIAL: dict[str, Callable[[np.ndarray, np.ndarray], None]] = {
    "infinity": lambda a, x: a.__setitem__((1, 70), np.inf),
    "both infinities": lambda a, x: a.__setitem__((2, slice(3, 128, 100)), [np.inf, -np.inf]),
    "infinity times zero": lambda a, x: (a.__setitem__((2, 5), np.inf), x.__setitem__(5, 0))[0],
    "infinity in the vector": lambda a, x: x.__setitem__(64, -np.inf),
    "nan": lambda a, x: a.__setitem__((0, -1), np.nan),
    "nan in the vector": lambda a, x: x.__setitem__(0, np.nan),
    "negative zeros": lambda a, x: (a.fill(-0.0), x.fill(1.0))[0],
    "zeros of both signs": lambda a, x: (a.fill(0.0), x.__setitem__(slice(None, None, 2), -1))[0],
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.optimized
def test_special_values(policy: str, name: str) -> None:
    for n in (131, 129, 200):
        a = np.ones((7, n), np.float32)
        x = np.ones(n, np.float32)
        SPECIAL[name](a, x)
        wide, expected = clarray.array(a), a.astype(np.float64) @ x
        turned = clarray.array(np.ascontiguousarray(a.T))
        device_x = clarray.array(x)
        each = clarray.stack([row @ device_x for row in wide])
        for found in (wide @ device_x, device_x @ turned, turned.T @ device_x, clarray.vecdot(wide, device_x), each):
            host = clarray.asnumpy(found)
            np.testing.assert_array_equal(host, expected)
            assert not np.signbit(host[host == 0]).any()  # a sum begins with 0.0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nothing_beside_a_view_is_summed(policy: str, kind: str) -> None:
    """The end of a row is loaded with elements before it, and the end of a strip of columns as well."""
    for m, n in SIZES:
        host = np.full((m + 2, n + 4), np.nan, kind)
        host[1:-1, 2:-2] = 1
        inside = clarray.array(host)[1:-1, 2:-2]
        ones = [clarray.ones(k, kind) for k in (n, m)]
        assert (clarray.asnumpy(inside @ ones[0]) == n).all()
        assert (clarray.asnumpy(ones[1] @ inside) == m).all()
        assert (clarray.asnumpy(clarray.vecdot(inside, inside)) == n).all()


def same_bits(a: Any, b: Any) -> bool:
    one, other = clarray.asnumpy(a), clarray.asnumpy(b)
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()


def normal(*shape: int, kind: str = "float32") -> Any:
    return clarray.array(np.random.default_rng(3).standard_normal(shape).astype(kind))


@pytest.mark.parametrize("policy", ["cpu", "tiny-cpu"], indirect=True)
@pytest.mark.optimized
def test_a_row_has_the_same_sum_wherever_it_is(policy: str) -> None:
    """Blocks are counted from a row's beginning: alone, among others, of a view, and of what is still pending."""
    for m, n in ((3, 40), (9, 100), (41, 129), (8, 333)):
        a, x = normal(m, n), normal(n)
        whole = a @ x
        assert same_bits(whole, clarray.vecdot(a, x))
        assert same_bits(whole, clarray.stack([row @ x for row in a]))
        apart = clarray.zeros((m, 2 * n), "float32")
        apart[:, ::2] = a
        assert same_bits(whole, apart[:, ::2] @ x)
        assert same_bits(whole[2:], a[2:] @ x)


@pytest.mark.parametrize("policy", ["cpu", "tiny-cpu"], indirect=True)
@pytest.mark.optimized
def test_pending_operands_give_the_same_bits(policy: str) -> None:
    a, b, x = normal(37, 133), normal(37, 133), normal(133)
    y = normal(37)
    counts = clarray.array(np.arange(37 * 133).reshape(37, 133) % 1001)  # wider than what is computed in
    for pending in (lambda: a + b, lambda: a * 3, lambda: counts.astype("float32"), lambda: clarray.sqrt(abs(a))):
        evaluated = pending().evaluate()
        assert same_bits(pending() @ x, evaluated @ x)
        assert same_bits(y @ pending(), y @ evaluated)
        assert same_bits(pending() @ x + 1, (evaluated @ x).evaluate() + 1)
        assert same_bits(clarray.vecdot(pending(), x), clarray.vecdot(evaluated, x))


@pytest.mark.optimized
def test_the_number_of_parts_changes_nothing(kind: str) -> None:
    """However many work-groups a sum is divided between, it has the same blocks; adding those is as good as exact."""
    with policy_in_force("tiny-cpu"):
        x, y, a = normal(1000, kind=kind), normal(1000, kind=kind)[::-1].copy(), normal(1000, 5, kind=kind)
        found = []
        for groups in (1, 2, 3, 7):
            with policy_changed("products", groups_per_unit=groups):
                cache = kernel_cache_of(current_device())
                cache.prepared.clear()
                found.append((x @ y, y @ a, a.T @ x))
                for each in found[-1]:
                    each.evaluate()
        for other in found[1:]:
            assert all(map(same_bits, found[0], other))


@pytest.mark.optimized
def test_only_products_of_linear_algebra_are_summed_in_blocks(policy: str) -> None:
    """What NumPy rounds before it sums is rounded: multiplications that a program writes."""
    a, b = normal(5, 3000), normal(3000)
    host, other = clarray.asnumpy(a), clarray.asnumpy(b)
    rounded = (host * other).astype(np.float64)
    unit, size = 2.0**-24, abs(rounded).sum(1)
    policies = kernel_cache_of(current_device()).policies.reduce
    slack = 0 if policies.explicit else unit * 6 * size
    error = abs(clarray.asnumpy((a * b).sum(1)).astype(np.float64) - rounded.sum(1))
    assert (error <= unit * 1.01 * abs(rounded.sum(1)) + slack + 2.0**-48 * size).all()


@pytest.mark.parametrize("policy", ["cpu", "tiny-cpu"], indirect=True)
@pytest.mark.optimized
def test_which_length_comes_first_changes_nothing(policy: str, kind: str) -> None:
    """One launch serves all lengths of two vectors, and has been prepared for the first of them."""
    x, y = normal(700, kind=kind), normal(700, kind=kind)[::-1].copy()
    cache = kernel_cache_of(current_device())
    found: dict[int, list[bytes]] = {}
    for lengths in ((5, 40, 700), (700, 40, 5), (40, 5, 700)):
        cache.prepared.clear()
        for n in lengths:
            found.setdefault(n, []).append(clarray.asnumpy(x[:n] @ y[:n]).tobytes())
    assert all(len(set(each)) == 1 for each in found.values())


NUMBER_FIRST: dict[str, Callable[[Any, Any, Any], Any]] = {
    "2a @ v": lambda a, v, w: (2 * a) @ v,
    "(1 - a) @ v": lambda a, v, w: (1 - a) @ v,
    "(1 / a) @ v": lambda a, v, w: (1 / (a + 1)) @ v,
    "exp(-a**2 / 2) @ v": lambda a, v, w: np.exp(-0.5 * a**2) @ v,
    "v @ 2a.T": lambda a, v, w: v @ (2 * a.T),
    "max": lambda a, v, w: (2 * a - v).max(1),
    "mean": lambda a, v, w: (2 * a - v).mean(1),
    "sum of squares": lambda a, v, w: ((3 * v - 2 * a) ** 2).sum(1),
    "any": lambda a, v, w: (2 * a < v / 50).any(1),
    "min of three": lambda a, v, w: (2 * v - 3 * a + 4 * w).min(1),
    "argmax": lambda a, v, w: (2 * a - v).argmax(1),
    "columns": lambda a, v, w: (2 * a.T - v[:, None]).sum(0),
}


@pytest.mark.parametrize("rows", [3, 4, 37])
@pytest.mark.parametrize("length", [5, 31, 32, 33, 150])
@pytest.mark.parametrize("name", NUMBER_FIRST)
def test_numbers_before_what_differs_from_row_to_row(name: str, length: int, rows: int) -> None:
    """Numbers have names as arrays have, but no strides: what is the same in all rows is found by these."""
    random = np.random.default_rng(length)
    a, v, w = (random.integers(0, 50, shape).astype(np.float32) for shape in ((rows, length), length, length))
    given = [clarray.asarray(each) for each in (a, v, w)]
    found, expected = np.asarray(NUMBER_FIRST[name](*given)), NUMBER_FIRST[name](a, v, w)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
