"""Plan snippets that run as separate kernels: snippets with several outputs, or with arrays passed as pointers.

The loops are those of a strided elementwise kernel, one element at a time.
"""

from __future__ import annotations

from clarray._engine.expr.layout import Space, access, index_type, reach
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import ElementwisePolicy


@dataclass(frozen=True, slots=True)
class SnippetPlan:
    """The specialization of the kernel of a snippet.

    Parameters
    ----------
    accesses : tuple of str
        The access class of each distinct input along the inner loop, or ``'const'``.
    out_accesses : tuple of str
        The access class of each output that is not passed whole.
    rank : int
        Number of loops.
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
        The loops. The outputs are the first operands.
    size : int
        Number of iterations.
    kinds : tuple of str
        The kind of each distinct input: ``'const'``, ``'index'`` or ``'memory'``.
    outputs : int
        Number of operands that are outputs.
    """
    shape = space.shape or (1,)
    steps = [s[-1] if s else 0 for s in space.strides]
    input_steps = iter(steps[outputs:])
    accesses = []
    for kind in kinds:
        step = 0 if kind == "const" else next(input_steps)
        accesses.append(access(step) if kind == "memory" else kind)
    furthest = max([size, *(reach(shape, s) for s in space.strides if s)])
    outs = tuple(access(s) for s in steps[:outputs])
    return SnippetPlan(tuple(accesses), outs, len(shape), index_type(furthest, policy.chunked), policy)
