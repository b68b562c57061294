"""Expressions of several steps that are grown as one: no step between is evaluated, whoever owns the operands' memory.

Operands are nodes, NumPy's scalars, or Python's, which are weak (NEP 50).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.creation import as_array
from clarray._core.device_array import is_numpys_scalar
from clarray._core.host_data import device_dtype
from clarray._core.operands import scalar_node, weak_type
from clarray._engine.evaluate import device_of
from clarray._engine.expr import build
from clarray._engine.expr.node import Node
from clarray._engine.ops.promotion import resolve
from clarray._engine.ops.special import compose_loop, part_loop, select_loop
from clarray._engine.ops.ufuncs import find_loop
from clarray._engine.runtime import Device

__all__ = ["Operand", "applied", "as_operand", "where", "composed", "imag_part", "real_part"]

Operand = Any  # a Node, or a scalar

_BOOL = np.dtype(bool)


def as_operand(value: Any, device: Device) -> Operand:
    """What a user passed as an operand: a Python scalar as it is, the node of anything else."""
    return value if weak_type(value) is not None else as_array(value, device)._node


def applied(ufunc: np.ufunc, *operands: Operand, dtype: np.dtype | None = None) -> Operand:
    """Grow ``ufunc(*operands)`` in the dtypes NumPy chooses; of scalars alone it is a scalar.

    Raises
    ------
    TypeError
        NumPy has no such loop, or the device no such dtype.
    """
    operands = tuple(scalar_node(x, x.dtype) if is_numpys_scalar(x) else x for x in operands)
    given = [x for x in operands if isinstance(x, Node)]
    if not given:
        return ufunc(*operands).item()
    kinds = tuple(x.dtype if isinstance(x, Node) else type(x) for x in operands)
    in_dtypes, out_dtypes = resolve(ufunc, kinds, dtype)
    for each in (*in_dtypes, *out_dtypes):
        _check(each, given)
    nodes = tuple(x if isinstance(x, Node) else scalar_node(x, d) for x, d in zip(operands, in_dtypes, strict=True))
    return build.nary(find_loop(ufunc, in_dtypes, out_dtypes), nodes)


def _check(dtype: np.dtype, nodes: list[Node]) -> None:
    """Raise TypeError for a dtype that a step introduces and the device lacks."""
    if dtype.kind in "fc" and all(n.dtype != dtype for n in nodes):
        device_dtype(dtype, device_of([i for n in nodes for i in (n.inputs or (n,))]))


def where(mask: Node, a: Operand, b: Operand) -> Node:
    """Grow ``where(mask, a, b)``; one of both values at least is a node, the first of which gives the dtype."""
    dtype = next(x.dtype for x in (a, b) if isinstance(x, Node))
    values = (ufunc_calls.cast(x, dtype) if isinstance(x, Node) else scalar_node(x, dtype) for x in (a, b))
    return build.nary(select_loop(dtype), (ufunc_calls.cast(mask, _BOOL), *values))


def real_part(value: Node) -> Node:
    """Grow the real parts of complex values; any others are their own."""
    return build.nary(part_loop(value.dtype, 0), (value,)) if value.dtype.kind == "c" else value


def imag_part(value: Node) -> Node:
    """Grow the imaginary parts of complex values."""
    return build.nary(part_loop(value.dtype, 1), (value,))


def composed(real: Node, imag: Node) -> Node:
    """Grow the complex values of two parts of the same dtype."""
    return build.binary(compose_loop(real.dtype), real, imag)
