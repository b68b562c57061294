"""Operands of algorithms that go through their elements in one loop."""

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
    """Elements per load, whether in vector types, the C type of positions, and whether vectors are aligned."""

    vector: int
    explicit: bool
    index: str
    aligned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatOperands:
    """A value as one loop over its distinct inputs.

    Parameters
    ----------
    value : Node
        What is read: the value given, or a contiguous copy of it.
    operands : Operands
    accesses : tuple of str
        Per distinct input.
    shifts : tuple of int
        Added to the offsets of the inputs that are no constants.
    steps : list of int
        Strides of those with a run-time stride, in order.
    whole : bool
        Whether contiguous inputs start where vectors are aligned.
    furthest : int
        Largest distance from an input's first element.
    """

    value: Node
    operands: Operands
    accesses: tuple[str, ...]
    shifts: Shape
    steps: list[int]
    whole: bool
    furthest: int

    def loads(self, policy: ReducePolicy) -> Loads:
        """How a kernel that only reads loads its elements."""
        dtypes = self.operands.dtypes(self.value)
        explicit = explicit_width(dtypes, policy.explicit)
        vector = vector_width(dtypes, policy.vector_bytes, policy.max_width)
        if not policy.explicit and STRIDED in self.accesses:
            vector = 1  # neighbouring work-items take neighbouring elements
        index = index_type(self.furthest, policy.chunked)
        return Loads(vector, explicit, index, self.whole and not policy.chunked)


def flat_operands_of(value: Node, ordered: bool) -> FlatOperands:
    """Make a value one loop: as it is, computed while it is read, or else by way of a copy.

    Parameters
    ----------
    ordered : bool
        Whether the loop must go through the elements in C order.
    """
    materialize_shared(value)
    found = _line(value, ordered)
    if found is not None:
        return found
    if value.memory is None:
        evaluate(value)
        found = _line(value, ordered)
        if found is not None:
            return found
    memory = device_of((value,)).allocate(value.size * value.dtype.itemsize)
    copy = contiguous_leaf(memory, value.shape, value.dtype)
    write(copy, value)
    found = _line(copy, ordered)
    assert found is not None
    return found


def _line(value: Node, ordered: bool) -> FlatOperands | None:
    operands = collect_operands(value)
    strides = operands.strides(len(value.shape))
    if ordered:
        # an output in C order comes first, as the one whose order the loop follows
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
