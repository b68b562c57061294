"""The plan of a snippet that runs as a kernel of its own: several outputs, or arrays passed whole.

The loops are those of a strided elementwise kernel, one element at a time.
"""

from __future__ import annotations

from clarray._engine.expr.layout import Space, access, index_type, reach
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import ElementwisePolicy


@dataclass(frozen=True, slots=True)
class SnippetPlan:
    """What the source is specialised on.

    Parameters
    ----------
    accesses : tuple of str
        Per distinct input: ``'const'`` or its access class along the inner loop.
    out_accesses : tuple of str
        Per output that is not passed whole.
    rank : int
        Loops.
    index : str
        C type of positions.
    policy : ElementwisePolicy
    """

    accesses: tuple[str, ...]
    out_accesses: tuple[str, ...]
    rank: int
    index: str
    policy: ElementwisePolicy


def snippet_plan(
    space: Space, size: int, kinds: tuple[str, ...], outputs: int, policy: ElementwisePolicy
) -> SnippetPlan:
    """Choose access classes and the width of positions.

    Parameters
    ----------
    space : Space
        Loops; the outputs are the first operands.
    size : int
        Elements of the loops.
    kinds : tuple of str
        Per distinct input: ``'const'``, ``'index'`` or ``'memory'``.
    outputs : int
        How many of the operands are outputs.
    """
    shape = space.shape or (1,)
    steps = [s[-1] if s else 0 for s in space.strides]
    placed = iter(steps[outputs:])
    accesses = []
    for kind in kinds:
        step = 0 if kind == "const" else next(placed)
        accesses.append(access(step) if kind == "memory" else kind)
    furthest = max([size, *(reach(shape, s) for s in space.strides if s)])
    outs = tuple(access(s) for s in steps[:outputs])
    return SnippetPlan(tuple(accesses), outs, len(shape), index_type(furthest, policy.chunked), policy)
