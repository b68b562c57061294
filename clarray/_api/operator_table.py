"""The table of arrays' operators and their ufuncs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._api.operators import augmented, binary, binary_any, matmul, matmul_in_place, power, unary

__all__ = ["operator_methods", "operator_names"]

_BINARY: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}
_BINARY_ANY: dict[str, np.ufunc] = {"divmod": np.divmod, "matmul": np.matmul}
_COMPARISONS: dict[str, np.ufunc] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
_UNARY: dict[str, np.ufunc] = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}


def operator_methods() -> dict[str, Callable[..., Any]]:
    """Return the methods that Python calls for operators."""
    methods: dict[str, Callable[..., Any]] = {}
    for name, ufunc in _BINARY.items():
        methods[f"__{name}__"] = binary(ufunc)
        methods[f"__r{name}__"] = binary(ufunc, reflected=True)
        methods[f"__i{name}__"] = augmented(ufunc, methods[f"__{name}__"])
    for name, any_ufunc in _BINARY_ANY.items():
        methods[f"__{name}__"] = binary_any(any_ufunc)
        methods[f"__r{name}__"] = binary_any(any_ufunc, reflected=True)
    methods["__pow__"], methods["__ipow__"] = power()
    methods["__matmul__"] = matmul
    methods["__imatmul__"] = matmul_in_place
    methods |= {f"__{name}__": binary(ufunc) for name, ufunc in _COMPARISONS.items()}
    methods |= {f"__{name}__": unary(ufunc) for name, ufunc in _UNARY.items()}
    return methods


def operator_names() -> dict[str, str]:
    """Return the name of each operator's ufunc."""
    ufuncs = {f"__{side}{name}__": ufunc for side in ("", "r", "i") for name, ufunc in (_BINARY | _BINARY_ANY).items()}
    ufuncs |= {f"__{name}__": ufunc for name, ufunc in (_COMPARISONS | _UNARY).items()}
    return {name: ufunc.__name__ for name, ufunc in ufuncs.items()}
