"""Prepare the operands of algorithms that process elements in a single loop."""

from __future__ import annotations

from clarray._engine.evaluate import evaluate, materialize_shared
from clarray._engine.expr.layout import (
    STRIDED,
    Shape,
    collapse,
    explicit_width,
    furthest,
    index_type,
    vector_width,
)
from clarray._engine.expr.node import Node, contiguous_leaf
from clarray._engine.expr.view import contiguous
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.launch.kernel_cache import device_of
from clarray._engine.launch.operands import Operands, collect_operands, stride_arguments
from clarray._engine.tuning import ReducePolicy
from clarray._engine.writing import write


@dataclass(frozen=True, slots=True)
class Loads:
    """The loads of a kernel.

    Parameters
    ----------
    vector : int
        Elements per load.
    explicit : bool
        Whether the kernel uses vector types.
    index : str
        C type of positions.
    aligned : bool
        Whether vectors are aligned.
    """

    vector: int
    explicit: bool
    index: str
    aligned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatOperands:
    """A value as a single loop over its distinct inputs.

    Parameters
    ----------
    value : Node
        The operand, or a contiguous copy of it.
    operands : Operands
    accesses : tuple of str
        The access class of each distinct input.
    shifts : tuple of int
        Increments of the offsets of the inputs that are no constants.
    steps : list of int
        Strides of the inputs with a run-time stride, in order.
    whole : bool
        Whether contiguous inputs start at aligned addresses.
    furthest : int
        Largest distance of an element from the first element of its input.
    """

    value: Node
    operands: Operands
    accesses: tuple[str, ...]
    shifts: Shape
    steps: list[int]
    whole: bool
    furthest: int

    def loads(self, policy: ReducePolicy) -> Loads:
        """Choose the loads of a kernel without an output array."""
        dtypes = self.operands.dtypes(self.value)
        explicit = explicit_width(dtypes, policy.explicit)
        vector = vector_width(dtypes, policy.vector_bytes, policy.max_width)
        if not policy.explicit and STRIDED in self.accesses:
            vector = 1  # so that neighbouring work-items load neighbouring elements
        index = index_type(self.furthest, policy.chunked)
        return Loads(vector, explicit, index, self.whole and not policy.chunked)


def flat_operands_of(value: Node, ordered: bool) -> FlatOperands:
    """Describe a value as a single loop. Copy it if its strides need several loops.

    Parameters
    ----------
    ordered : bool
        Whether the loop must process the elements in C order.
    """
    materialize_shared(value)
    line = _single_loop(value, ordered)
    if line is not None:
        return line
    if value.memory is None:
        evaluate(value)
        line = _single_loop(value, ordered)
        if line is not None:
            return line
    memory = device_of(value).allocate(value.size * value.dtype.itemsize)
    copy = contiguous_leaf(memory, value.shape, value.dtype)
    write(copy, value)
    line = _single_loop(copy, ordered)
    assert line is not None
    return line


def _single_loop(value: Node, ordered: bool) -> FlatOperands | None:
    operands = collect_operands(value)
    strides = operands.strides(len(value.shape))
    if ordered:
        # the loop follows the order of the first operand, so an output in C order comes first
        strides = (contiguous(value.shape), *strides)
    space = collapse(value.shape, strides)
    if len(space.shape) > 1 or (ordered and space.offsets[0]):
        return None
    first = int(ordered)
    shifts = space.offsets[first:]
    steps = [s or (0,) for s in space.strides[first:]]
    accesses = operands.accesses([step for (step,) in steps])
    return FlatOperands(
        value=value,
        operands=operands,
        accesses=accesses,
        shifts=shifts,
        steps=stride_arguments(accesses, steps),
        whole=operands.rows_aligned(steps, operands.shifted_offsets(shifts)),
        furthest=furthest((value.size + 1,), steps, value.size),
    )
