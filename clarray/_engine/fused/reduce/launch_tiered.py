"""First calls of reductions: see `clarray._engine.launch.host_tier`."""

from __future__ import annotations

from functools import partial

from clarray._engine.expr.node import Node, leaf
from clarray._engine.expr.view import Shape
from clarray._engine.fused.reduce.launch import reduction_launches
from clarray._engine.fused.reduce.prepare import TASKS
from clarray._engine.fused.reduce.source import Epilogue
from clarray._engine.launch.host_tier import Awaited, OnHost, are_used, setting
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.runtime import Memory


def reduction_passes(
    cache: KernelCache, epilogue: Epilogue, memory: Memory, offset: int, strides: Shape
) -> list[Launch] | list[OnHost]:
    """What computes an epilogue's root into memory, as `reduction_launches` does."""
    root = epilogue.root
    awaited = awaited_reduction(cache, root)
    if awaited is not None and not awaited.ready and len(strides) == len(root.shape):
        target = leaf(memory, root.shape, strides, offset, root.dtype)
        if awaited.is_awaited(root, target, max(root.size, epilogue.reduced.args[0].size)):
            launches = partial(reduction_launches, cache, epilogue, memory, offset, strides)
            return [OnHost(awaited, root, target, launches, TASKS)]
    made = reduction_launches(cache, epilogue, memory, offset, strides)
    if awaited is not None:
        awaited.launch(made[0])
    return made


def awaited_reduction(cache: KernelCache, root: Node) -> Awaited | None:
    """What is known of the first calls of a structure; None where there are none."""
    if not setting.on:
        return None
    key = ("first calls", root.sig)
    if key in cache.rendered:
        found: Awaited | None = cache.rendered[key]
        return found
    return cache.keep_rendered(key, Awaited() if are_used(cache.capabilities, root) else None)
