"""JAX: device arrays become its arrays where it asks for them (`__jax_array__`); what its compiled functions say."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # else each process takes three quarters of a GPU's memory
jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

VALUES = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
OTHERS = np.array([2, 0.5, -1], np.float32)

CONVERTED: dict[str, Callable[[Any], Any]] = {
    "asarray": lambda x: jnp.asarray(x),
    "array": lambda x: jnp.array(x),
    "added": lambda x: jnp.asarray(OTHERS) + x,
    "compared": lambda x: jnp.asarray(OTHERS) < x,
    "multiplied": lambda x: jnp.asarray(OTHERS) @ x.T,
    "concatenate": lambda x: jnp.concatenate([x, x * 2]),
    "stack": lambda x: jnp.stack([x, jnp.ones((2, 3), "float32")]),
    "full": lambda x: jnp.full(3, x[0, 1]),
    "set": lambda x: jnp.zeros((2, 3), "float32").at[:].set(x),
    "constant of a compiled function": lambda x: jax.jit(lambda y: y * x)(jnp.asarray(OTHERS)),
    "sine of a converted array": lambda x: jnp.sin(jnp.asarray(x)),
    "gradient": lambda x: jax.grad(lambda y: (y**2 * x).sum())(jnp.asarray(OTHERS)),
}
COMPILED: dict[str, Callable[[Any], Any]] = {
    "sin": lambda x: jnp.sin(x),
    "sum": lambda x: jnp.sum(x, axis=0),
    "where": lambda x: jnp.where(x > 2, x, 0),
    "jit": lambda x: jax.jit(lambda y: y * 2)(x),
    "grad": lambda x: jax.grad(lambda y: (y**2).sum())(x),
}


@pytest.mark.parametrize("name", CONVERTED)
def test_converted(name: str) -> None:
    found, expected = CONVERTED[name](clarray.array(VALUES)), CONVERTED[name](jnp.asarray(VALUES))
    assert isinstance(found, jax.Array)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_dlpack() -> None:
    x = clarray.array(VALUES)
    np.testing.assert_array_equal(jnp.from_dlpack(x if x.device.capabilities.host_memory else x.get()), VALUES)


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_functions_say_what_to_write(name: str) -> None:
    """JAX itself no longer converts what it compiles functions for: its message says `jax.numpy.array()`."""
    with pytest.raises(ValueError, match=r"explicitly convert your object using jax\.numpy\.array\(\)"):
        COMPILED[name](clarray.array(VALUES))
    np.testing.assert_array_equal(COMPILED[name](jnp.array(clarray.array(VALUES))), COMPILED[name](jnp.array(VALUES)))


def test_what_was_converted_stays_as_it_was() -> None:
    x = clarray.array(VALUES)
    taken = [jnp.asarray(x), x.__jax_array__(), jnp.zeros((2, 3)) + x]
    x += 1
    x.evaluate()
    for one in taken:
        np.testing.assert_array_equal(one, VALUES)
    assert ((x + 1) * 2)._node.memory is None  # and the array goes on fusing


def test_the_left_operand_decides() -> None:
    """As between NumPy's arrays and JAX's, but that clarray's are asked first where they stand first."""
    x, y = clarray.array(VALUES), jnp.asarray(OTHERS)
    assert isinstance(x + y, clarray.DeviceArray)
    assert isinstance(y + x, jax.Array)
    np.testing.assert_array_equal(x + y, y + x)
    assert isinstance(clarray.asarray(y), clarray.DeviceArray)


def test_float64_is_what_jax_makes_of_it() -> None:
    x = clarray.arange(3, dtype="int64")
    assert jnp.asarray(x).dtype == jnp.asarray(np.arange(3)).dtype
