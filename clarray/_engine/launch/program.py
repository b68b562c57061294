"""Programs of expressions, which planners make and the native implementation runs for all operands of a layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

from clarray._engine.expr.graph import inputs_of
from clarray._engine.expr.node import Node, NodeEvaluated
from clarray._engine.expr.view import Shape
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.launch.kernel_cache import KernelCache
from clarray._engine.runtime import Kernel, KernelStep
from clarray._engine.speedups import native

Plan = TypeVar("Plan", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class ExpressionProgram:
    """The launch that computes an expression. speedups/programs.cpp reads its fields.

    Parameters
    ----------
    steps : tuple of KernelStep
        A single step.
    strides : tuple of int
        Strides of the result in elements, if it is new memory.
    contiguous : bool
        Whether the strides are C order.
    most_size : int
        Number of elements of the largest result that the program may compute.
    temporaries : tuple of int
        Bytes of each temporary.
    """

    steps: tuple[KernelStep, ...]
    strides: Shape
    contiguous: bool
    most_size: int
    temporaries: Shape = ()


Sources = tuple[str, Sequence[Any]]  # the letters of arguments, and a value for each letter: see `runtime.steps`


def argument_sources(kernel: Kernel, **sources: Sources) -> tuple[str, tuple[Any, ...]]:
    """Return the sources of all arguments of a `KernelStep`, in the order in which the kernel declares them.

    Parameters
    ----------
    **sources : tuple of str and sequence
        The sources of each field or group.
    """
    keys = kernel.fields.keys
    if len(sources) != len(keys):
        raise TypeError(f"the kernel declares {keys}, the program has {tuple(sources)}")
    letters = ""
    values: list[Any] = []
    for key in keys:  # zip and chain would take 5 us instead of 1
        key_letters, key_values = sources[key]
        letters += key_letters
        values += key_values
    return letters, tuple(values)


def planned_at_once(plan: Plan) -> Plan:
    """Decorator for planners: return None if a re-entrant call evaluates a node of the plan meanwhile."""

    @wraps(plan)
    def call(*args: Any) -> ExpressionProgram | None:
        nodes = [arg for arg in args if isinstance(arg, Node)]
        before = [inputs_of(node) for node in nodes]
        try:
            program = plan(*args)
        except NodeEvaluated:
            return None
        return program if all(inputs_of(node) == inputs for node, inputs in zip(nodes, before, strict=True)) else None

    return call  # type: ignore[return-value]


def use_programs(cache: KernelCache) -> Any:
    """Return the native table of programs of a cache, and make it the table in use."""
    table = cache.value_for("the core's programs", native.Programs, cache.device)
    table.use()
    return table
