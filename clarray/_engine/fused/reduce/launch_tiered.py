"""Launches of reductions that NumPy may compute on the host tier: see `clarray._engine.launch.host_tier`."""

from __future__ import annotations

from functools import partial

from clarray._engine.expr.epilogues import Epilogue
from clarray._engine.expr.graph import signature_of
from clarray._engine.expr.node import Node, leaf
from clarray._engine.expr.view import Shape
from clarray._engine.fused.reduce.launch import reduction_launches
from clarray._engine.launch.host_tier import HostLaunch, TieredKernel, may_compute_on_host, setting
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.runtime import Memory


def reduction_passes(
    cache: KernelCache, epilogue: Epilogue, memory: Memory, offset: int, strides: Shape
) -> list[Launch] | list[HostLaunch]:
    """Return the launches that write an epilogue's root to memory, or the host launch that replaces them."""
    root = epilogue.root
    tiered_kernel = tiered_reduction(cache, root)
    if tiered_kernel is not None and not tiered_kernel.ready and len(strides) == len(root.shape):
        target = leaf(memory, root.shape, strides, offset, root.dtype)
        if tiered_kernel.use_host_tier(root, target, max(root.size, epilogue.reduced.args[0].size)):
            make_launches = partial(reduction_launches, cache, epilogue, memory, offset, strides)
            return [HostLaunch(tiered_kernel, root, target, make_launches, "tasks")]
    launches = reduction_launches(cache, epilogue, memory, offset, strides)
    if tiered_kernel is not None:
        tiered_kernel.record_launch(launches[0])
    return launches


def tiered_reduction(cache: KernelCache, root: Node) -> TieredKernel | None:
    """Return the tiered kernel of a structure. None if NumPy never computes it."""
    if not setting.on:
        return None
    key = ("host tier", signature_of(root))
    if key in cache.rendered:
        tiered_kernel: TieredKernel | None = cache.rendered[key]
        return tiered_kernel
    return cache.store_rendered(key, TieredKernel() if may_compute_on_host(cache.capabilities, root) else None)
