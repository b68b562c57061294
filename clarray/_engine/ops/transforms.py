"""Passes along an axis that an algorithm launches: the operations of nodes whose last launch waits for what follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._engine.values import dataclass

__all__ = ["Settle", "Transform"]

Settle = Callable[..., None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """A pass that is neither a reduction nor elementwise: each element of the result depends on a line of elements.

    Nothing here, nor where nodes are evaluated, knows what it computes: it carries what launches it, as a selection
    carries what computes it.

    Parameters
    ----------
    name : str
    axes : tuple of int
        Axes of the result that the lines lie along; those of reductions tell likewise that an operation is a pass.
    order : tuple of int
        The result's axes as they lie in memory, the last one closest together.
    beside : bool
        Whether arrays may be read beside what it stores.
    out_dtype : dtype
    code : tuple
        All that the pass is specialised on besides its operand: passes with equal codes are one.
    launch : callable
        ``launch(cache, code, finish, out)`` gives the launch that computes a `Finish` (`expr.transform_epilogue`) into
        the leaf `out`, which lies as its root does.
    finishes : bool
        Whether what follows may be done to its values as it stores them.
    settle : callable, optional
        ``settle(nodes, compute)`` sees to all pending nodes of such operations that one expression reads, before any of
        them is computed: they may become elementwise. `compute` makes a node memory.
    """

    name: str
    axes: tuple[int, ...]
    order: tuple[int, ...]
    beside: bool
    out_dtype: np.dtype
    code: tuple[Any, ...]
    launch: Callable[..., Any]
    finishes: bool = True
    settle: Settle | None = None
