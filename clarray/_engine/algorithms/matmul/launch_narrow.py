"""Launches of products with few columns: one kernel, no memory but the result's."""

from __future__ import annotations

from typing import Any, NamedTuple

from clarray._engine.algorithms.matmul.plan import Matrix, Problem, batch_numbers
from clarray._engine.algorithms.matmul.plan_narrow import narrow_plan
from clarray._engine.algorithms.matmul.source_narrow import narrow_source
from clarray._engine.expr.node import Node
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.launch.operands import leaf_arguments
from clarray._engine.runtime import Kernel


class Narrow(NamedTuple):
    """The launch of a narrow product, with every argument that follows from shapes and strides."""

    kernel: Kernel
    sizes: dict[str, Any]
    groups: int
    items: int
    nbytes: int
    inline: bool


def prepare_narrow(
    cache: KernelCache,
    problem: Problem,
    matrices: tuple[Matrix, Matrix],
    nodes: tuple[Node, Node, Node],
    wide: bool,
    stream: bool,
) -> Narrow:
    """Plan the product of two leaves into a third."""
    policy = cache.policies.matmul
    a, b, target = nodes
    plan = narrow_plan(problem, matrices, (a.dtype, b.dtype, target.dtype), policy, wide, stream, target.offset)
    left, right = matrices
    blocks = -(-problem.m // plan.rows)
    units = problem.matrices * blocks
    sizes: dict[str, Any] = {"m": problem.m, "k": problem.k, "units": units, "blocks": blocks}
    sizes |= {"as": left.outer, "ak": left.inner, "bk": right.inner, "bn": right.outer}
    sizes["batch"] = batch_numbers(problem.batch, left.batch, right.batch)
    return Narrow(
        kernel=cache.kernel_for(("matmul", plan), narrow_source, plan, cache.capabilities),
        sizes=sizes,
        groups=min(-(-units // plan.items), cache.policies.elementwise.groups_per_unit * cache.units),
        items=plan.items,
        nbytes=sum(n.size * n.dtype.itemsize for n in nodes),
        inline=problem.m * problem.n * problem.k * problem.matrices <= policy.inline_work,
    )


def run_narrow(found: Narrow, a: Node, b: Node, target: Node) -> None:
    """Multiply."""
    args = found.kernel.arguments(**leaf_arguments(a=a, b=b, c=target), **found.sizes)
    Launch(found.kernel, (found.groups,), (found.items,), args, found.inline, found.nbytes).run()


__all__ = ["Narrow", "prepare_narrow", "run_narrow"]
