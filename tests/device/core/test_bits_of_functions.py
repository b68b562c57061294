"""A function's values have the same bits in every pass, though passes differ in the width of their vectors.

Runtimes have other code for scalars, for short and for long vectors, and passes with complex values have no vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.launch.host_tier import kernels_only
from clarray._engine.ops.ufuncs import supported_ufuncs

from .region_programs import have_same_bits

SIZE = 1003
DOMAINS = {"arcsin": (-1, 1), "arccos": (-1, 1), "arctanh": (-0.99, 0.99), "arccosh": (1, 4)}
FUNCTIONS = [
    (ufunc, dtype)
    for ufunc in supported_ufuncs
    for dtype in "efd"
    if ufunc.types and any(types.split("->")[0] == dtype * ufunc.nin for types in ufunc.types)
]

# What a pass computes of the function's value
PASSES: dict[str, Callable[[Any], Any]] = {
    "with complex values": lambda value: value + clarray.full(SIZE, 1j),
    "with float64": lambda value: value + clarray.full(SIZE, 0.5),
    "with int8": lambda value: value * clarray.full(SIZE, 1, np.int8),
    "of every other element": lambda value: value[::2],
    "of rows": lambda value: value.reshape(17, 59) * clarray.ones((17, 1)),
}


def operands(ufunc: np.ufunc, dtype: str) -> list[Any]:
    random = np.random.default_rng(0)
    low, high = DOMAINS.get(ufunc.__name__, (-4, 8))
    return [clarray.array(random.uniform(low, high, SIZE).astype(dtype)) for _ in range(ufunc.nin)]


@pytest.mark.parametrize(("ufunc", "dtype"), FUNCTIONS, ids=lambda each: getattr(each, "__name__", each))
def test_bits_do_not_depend_on_the_rest_of_the_pass(ufunc: np.ufunc, dtype: str) -> None:
    args = operands(ufunc, dtype)
    with np.errstate(all="ignore"), kernels_only():
        for output in range(ufunc.nout):

            def value(output: int = output) -> Any:
                result = ufunc(*args)
                return result[output] if ufunc.nout > 1 else result

            stored = value().evaluate()
            for name, compute in PASSES.items():
                in_pass, apart = (clarray.asnumpy(compute(each)) for each in (value(), stored))
                assert have_same_bits(in_pass, apart), name
