"""A number that was read from host memory: a value of its own, and folded to the bits that NumPy gives."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import CONST
from clarray._engine.runtime import current_device

pytestmark = pytest.mark.usefixtures("quick_builds")

VALUES = {
    "float32": [0, -0.0, 1.5, -3.25, np.nan, np.inf, 1e-45, 3e38, 0.1],
    "float64": [0, -0.0, 1.5, np.nan, -np.inf, 1e300, 0.1],
    "int8": [0, 127, -128, 5],
    "int32": [0, 2**31 - 1, -(2**31), 46341],
    "int64": [0, -1, 2**31, 2**62],
    "uint64": [0, 2**64 - 1, 2],
    "float16": [0, 1.5, 65504, np.nan],
    "bool": [False, True],
}
NUMBERS = [2, -1, 0.1, -0.0, 1e39, 2**40, True, 300]
OPERATORS = [operator.add, operator.sub, operator.mul]
OPERATORS += [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


def number(x: Any, k: int) -> Any:
    """Return an element as a number of clarray's: ``x[k]`` of host memory is NumPy's scalar."""
    return x[k, ...][()]


def numbers_come_at_once() -> bool:
    """Whether what is launched is there when the call returns, in memory that the host sees."""
    device = current_device()
    return device.inline is not None and device.capabilities.host_memory


def outcome(function: Any, *args: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            return function(*args)
    except (TypeError, OverflowError) as error:
        return type(error)


@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("function", OPERATORS)
def test_operators_give_numpys_bits(dtype: str, function: Any) -> None:
    host = np.array(VALUES[dtype], dtype)
    x = clarray.array(host)
    places = range(len(host))
    pairs = [(number(x, i), number(x, j), host[i], host[j]) for i in places for j in places]
    pairs += [(number(x, i), n, host[i], n) for i in places for n in NUMBERS]
    pairs += [(n, number(x, i), n, host[i]) for i in places for n in NUMBERS]
    for a, b, p, q in pairs:
        ours, theirs = outcome(function, a, b), outcome(function, p, q)
        if isinstance(theirs, type):
            assert ours is theirs
            continue
        found, expected = clarray.asnumpy(ours), np.asarray(theirs)
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes() or (found != found and expected != expected)


@pytest.mark.parametrize("dtype", [*VALUES, "complex64"])
@pytest.mark.parametrize("function", [np.negative, np.absolute, np.square, np.sqrt, abs, operator.neg])
@pytest.mark.optimized
def test_functions_of_one_give_numpys_bits(dtype: str, function: Any) -> None:
    host = np.array(VALUES.get(dtype, [0, 3 + 4j]), dtype)
    x = clarray.array(host)
    for i in range(len(host)):
        ours, theirs = outcome(function, number(x, i)), outcome(function, host[i])
        if isinstance(theirs, type):
            assert ours is theirs
            continue
        found, expected = clarray.asnumpy(ours), np.asarray(theirs)
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes() or (found != found and expected != expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool", "complex64", "float16"])
def test_a_product_of_short_vectors_is_a_number(dtype: str) -> None:
    host = np.arange(1, 9).astype(dtype)
    x = clarray.array(host)
    clarray.synchronize()
    product = x[2:] @ (x + x)[:-2]
    assert (product._node.op is CONST) is numbers_come_at_once()
    total = product + number(x, 3)
    x[2] = 0
    expected = host[2:] @ (host + host)[:-2]
    for ours, theirs in ((product, expected), (total, expected + host[3])):
        found = clarray.asnumpy(ours)
        assert found.dtype == theirs.dtype
        assert found == theirs
    product[...] = 5
    assert clarray.asnumpy(product) == np.array(5, dtype)


@pytest.mark.kernels_alone
@pytest.mark.skipif(not numbers_come_at_once(), reason="what is launched is waited for later")
def test_a_step_of_a_triangular_solve_is_one_launch() -> None:
    lower, b, x = (clarray.array(np.arange(1, 1 + n * m).reshape(n, m) / 8) for n, m in ((5, 5), (1, 5), (1, 5)))
    clarray.synchronize()
    with clarray.profile() as p:
        x[0, 3] = np.sqrt(abs((b[0, 3] - lower[3, :3] @ x[0, :3]) / lower[3, 3]))
    assert p.launches == 1


def test_a_number_is_a_value_of_its_own() -> None:
    x = clarray.array(np.arange(4.0, dtype=np.float32))
    two = number(x, 2)
    pending = two + x
    x[2] = 9
    assert float(two) == 2
    two[...] = 5  # it has memory now: what was grown from it holds what it was
    assert pending.tolist() == [2, 3, 4, 5]
    assert x.tolist() == [0, 1, 9, 3]
    assert float(two) == 5
    assert two.base is None
    assert two.device is x.device


@pytest.mark.kernels_alone
@pytest.mark.skipif(not current_device().capabilities.host_memory, reason="numbers are read by launches")
def test_nothing_is_launched_for_a_number() -> None:
    x = clarray.array(np.arange(4.0, dtype=np.float32))
    clarray.synchronize()
    with clarray.profile() as p:
        x[1] = float(x[2]) + x.item(3)
        x[0] += x[1]
    assert p.launches == 0
    assert p.transfers == 6  # four are read, and two are written
    assert x.tolist() == [5, 5, 2, 3]
    assert type(x[0]) is np.float32


def test_explain_a_number() -> None:
    x = clarray.arange(3)
    clarray.synchronize()
    assert "0-d" in number(x, 1).explain()


def test_numbers_wait_for_what_is_queued() -> None:
    x = clarray.zeros(1 << 22, np.float32)
    for n in range(1, 6):
        x += 1
        assert float(x[-1]) == n
        x += 1
        x[-1] = n
        assert float(x[-1]) == n
        assert float(x[-2]) == 2 * n


@pytest.mark.parametrize("dtype", VALUES)
def test_a_number_in_memory_has_its_bits(dtype: str) -> None:
    host = np.array(VALUES[dtype], dtype)
    x = clarray.array(host)
    clarray.synchronize()
    for k in range(len(host)):
        one = number(x, k)
        pending = one + one
        evaluate(one._node)
        assert one._node.memory is not None
        assert one.get().tobytes() == host[k].tobytes()
        with np.errstate(all="ignore"):
            expected = host[k] + host[k]
        assert pending.get().tobytes() == expected.tobytes() or np.isnan(expected)
        x[k] = 1  # it is a value of its own
        assert one.get().tobytes() == host[k].tobytes()


NOT_FOLDED = {  # NumPy's numbers warn of these, so they stay expressions
    "divided by zero": lambda xp, v: 1.0 / v[0],
    "nothing over nothing": lambda xp, v: v[0] / v[0],
    "a remainder": lambda xp, v: v[1] % v[0],
    "a power": lambda xp, v: v[1] ** 0.5,
    "a function": lambda xp, v: xp.sin(v[1]),
    "a cast": lambda xp, v: (v[1] / v[0]).astype("float32"),
}


@pytest.mark.parametrize("into", ["an element", "a slice", "itself"])
@pytest.mark.parametrize("title", NOT_FOLDED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_that_are_not_folded_and_read_twice(title: str, into: str) -> None:
    """What others have been grown from is looked for in graphs without a single array."""

    def program(xp: Any) -> list[Any]:
        zero, three, x = number(xp.zeros(2), 0), number(xp.full(2, 3.0), 0), xp.zeros(4)
        made = NOT_FOLDED[title](xp, (zero, three))
        one, other = made * 2, made + three
        if into == "an element":
            x[0] = one
            x[1] = other
        elif into == "a slice":
            x[1:3] = one
            x[:2] = other * one
        else:
            evaluate_all(xp, one)
        return [x, one, other, made]

    def evaluate_all(xp: Any, *them: Any) -> None:
        for one in them if xp is clarray else ():
            one.evaluate()

    for ours, theirs in zip(program(clarray), program(np), strict=True):
        np.testing.assert_allclose(clarray.asnumpy(ours), theirs, rtol=1e-6)
