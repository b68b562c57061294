"""Launch products with few columns: a single kernel without temporary memory."""

from __future__ import annotations

from typing import Any, NamedTuple

from clarray._engine.algorithms.matmul.plan import StridedProduct, batch_numbers
from clarray._engine.algorithms.matmul.plan_narrow import narrow_plan
from clarray._engine.algorithms.matmul.source_narrow import narrow_source
from clarray._engine.expr.node import Node
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.launch.operands import leaf_arguments
from clarray._engine.runtime import Kernel


class PreparedNarrow(NamedTuple):
    """A kernel for a narrow product, with all its arguments that depend only on shapes and strides."""

    kernel: Kernel
    sizes: dict[str, Any]
    groups: int
    items: int
    nbytes: int
    inline: bool


def prepare_narrow(
    cache: KernelCache, product: StridedProduct, nodes: tuple[Node, Node, Node], stream: bool
) -> PreparedNarrow:
    """Prepare the kernel that multiplies two leaves into a third.

    Parameters
    ----------
    stream : bool
        Whether to store the result past the caches.
    """
    policy, wide = cache.policies.matmul, cache.capabilities.wide_registers
    a, b, target = nodes
    problem, left, right = product[:3]
    dtypes = (a.dtype, b.dtype, target.dtype)
    plan = narrow_plan(problem, (left, right), dtypes, policy, wide, stream, target.offset)
    blocks = -(-problem.m // plan.rows)
    units = problem.matrices * blocks
    sizes: dict[str, Any] = {"m": problem.m, "k": problem.k, "units": units, "blocks": blocks}
    sizes |= {"as": left.outer, "ak": left.inner, "bk": right.inner, "bn": right.outer}
    sizes["batch"] = batch_numbers(problem.batch, left.batch, right.batch)
    return PreparedNarrow(
        kernel=cache.kernel_for(("matmul", plan), narrow_source, plan, cache.capabilities),
        sizes=sizes,
        groups=min(-(-units // plan.items), cache.policies.elementwise.groups_per_unit * cache.units),
        items=plan.items,
        nbytes=sum(n.size * n.dtype.itemsize for n in nodes),
        inline=problem.m * problem.n * problem.k * problem.matrices <= policy.inline_work,
    )


def run_narrow(prepared: PreparedNarrow, a: Node, b: Node, target: Node) -> None:
    """Launch the kernel for leaves with the prepared shapes and strides."""
    kernel = prepared.kernel
    args = kernel.arguments(**leaf_arguments(a=a, b=b, c=target), **prepared.sizes)
    Launch(kernel, (prepared.groups,), (prepared.items,), args, prepared.inline, prepared.nbytes).run()


__all__ = ["PreparedNarrow", "prepare_narrow", "run_narrow"]
