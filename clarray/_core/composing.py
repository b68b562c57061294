"""Pending expressions of several ufuncs. No intermediate step is evaluated, even for operands that are EAGER.

Operands are nodes, NumPy scalars, or Python scalars, which are weak (NEP 50).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.creation import as_array
from clarray._core.device_array import is_numpy_scalar
from clarray._core.host_data import device_dtype
from clarray._core.operands import scalar_node, weak_type
from clarray._engine.evaluate import device_of
from clarray._engine.expr import build
from clarray._engine.expr.node import Node
from clarray._engine.ops.promotion import resolve
from clarray._engine.ops.special import compose_loop, part_loop, select_loop
from clarray._engine.ops.ufuncs import find_loop
from clarray._engine.runtime import Device

__all__ = ["Operand", "apply_ufunc", "as_operand", "where", "compose_complex", "imag_part", "real_part"]

Operand = Any  # a Node, or a scalar

_BOOL = np.dtype(bool)


def as_operand(argument: Any, device: Device) -> Operand:
    """Return an argument as an operand: a Python scalar unchanged, the node of anything else."""
    return argument if weak_type(argument) is not None else as_array(argument, device)._node


def apply_ufunc(ufunc: np.ufunc, *operands: Operand, dtype: np.dtype | None = None) -> Operand:
    """Return the pending ``ufunc(*operands)`` in the dtypes that NumPy chooses. A scalar if all operands are scalars.

    Raises
    ------
    TypeError
        NumPy has no loop for the operands, or the device lacks a dtype.
    """
    operands = tuple(scalar_node(x, x.dtype) if is_numpy_scalar(x) else x for x in operands)
    nodes_in = [x for x in operands if isinstance(x, Node)]
    if not nodes_in:
        return ufunc(*operands).item()
    types = tuple(x.dtype if isinstance(x, Node) else type(x) for x in operands)
    in_dtypes, out_dtypes = resolve(ufunc, types, dtype)
    for loop_dtype in (*in_dtypes, *out_dtypes):
        _check(loop_dtype, nodes_in)
    nodes = tuple(x if isinstance(x, Node) else scalar_node(x, d) for x, d in zip(operands, in_dtypes, strict=True))
    return build.nary(find_loop(ufunc, in_dtypes, out_dtypes), nodes)


def _check(dtype: np.dtype, nodes: list[Node]) -> None:
    """Raise TypeError for a dtype that no operand has and that the device lacks."""
    if dtype.kind in "fc" and all(n.dtype != dtype for n in nodes):
        device_dtype(dtype, device_of(*nodes))


def where(mask: Node, a: Operand, b: Operand) -> Node:
    """Return the pending ``where(mask, a, b)`` in the dtype of the first node among `a` and `b`."""
    dtype = next(x.dtype for x in (a, b) if isinstance(x, Node))
    values = (ufunc_calls.cast(x, dtype) if isinstance(x, Node) else scalar_node(x, dtype) for x in (a, b))
    return build.nary(select_loop(dtype), (ufunc_calls.cast(mask, _BOOL), *values))


def real_part(value: Node) -> Node:
    """Return the pending real parts of complex values, or real values unchanged."""
    return build.nary(part_loop(value.dtype, 0), (value,)) if value.dtype.kind == "c" else value


def imag_part(value: Node) -> Node:
    """Return the pending imaginary parts of complex values."""
    return build.nary(part_loop(value.dtype, 1), (value,))


def compose_complex(real: Node, imag: Node) -> Node:
    """Return the pending complex values of real and imaginary parts of the same dtype."""
    return build.binary(compose_loop(real.dtype), real, imag)
