"""Operations of nodes that an algorithm computes by passes along axes, the last of which fuses its epilogue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._engine.fast_dataclass import dataclass

__all__ = ["Simplify", "Transform"]

Simplify = Callable[..., None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """A pass that is neither a reduction nor elementwise: each element of the result depends on a line of elements.

    Neither this module nor the evaluation of nodes depends on the algorithm: a transform has its launch function as a
    field.

    Parameters
    ----------
    name : str
    axes : tuple of int
        Axes of the result along the lines. Reductions have this attribute too: it marks an operation as a pass.
    order : tuple of int
        The result's axes in memory order, outermost first.
    epilogue_inputs : bool
        Whether the epilogue may read arrays.
    out_dtype : dtype
    code : tuple
        Cache key of the pass without its operand: passes with equal codes are equal.
    launch : callable
        ``launch(cache, code, epilogue, out)`` returns the launch that computes an
        `expr.epilogues.TransformEpilogue` into the leaf `out`, which has the memory order of its root.
    has_epilogue : bool
        Whether elementwise operations may be fused into its last pass.
    simplify : callable, optional
        ``simplify(nodes, compute)`` gets all pending nodes of such operations that one expression reads, before any of
        them is evaluated, and may turn them into elementwise operations. `compute` evaluates a node.
    take_view : callable, optional
        Of a view of a pending value, which never is a pass: returns the view of a view of the operand.
    key : tuple, optional
        Of a view by a key: the key.
    added_axes : tuple of int, optional
        Of a view that only adds axes of length 1: these axes, ascending.
    """

    name: str
    axes: tuple[int, ...]
    order: tuple[int, ...]
    epilogue_inputs: bool
    out_dtype: np.dtype
    code: tuple[Any, ...]
    launch: Callable[..., Any]
    has_epilogue: bool = True
    simplify: Simplify | None = None
    take_view: Callable[[Any], Any] | None = None
    key: Any = None
    added_axes: tuple[int, ...] | None = None
