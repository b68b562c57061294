"""What the compiled core is told of an elementwise launch."""

from __future__ import annotations

from typing import Any

from clarray._engine.expr.layout import INT_LIMIT
from clarray._engine.expr.node import Node
from clarray._engine.expr.result_layout import result_strides
from clarray._engine.expr.view import Shape, contiguous, is_contiguous
from clarray._engine.fused.elementwise.launch import Flat, Strided, flat_kernel, kernel_of, strided_kernel
from clarray._engine.launch.core_launch import CoreLaunch, planned_at_once, use_launches
from clarray._engine.launch.first_calls import Awaited, setting
from clarray._engine.launch.kernel_cache import KernelCache, kernel_cache_of
from clarray._engine.runtime import Device
from clarray._engine.speedups import called_by_core


@called_by_core
@planned_at_once
def elementwise_for_core(
    device: Device, root: Node, offset: int, strides: Shape | None, flat: bool, every: bool
) -> CoreLaunch | None:
    """What the core keeps of a launch, by structure and layout; None where it leaves it to Python.

    Parameters
    ----------
    device : Device
        Whose lock is held.
    root : Node
        Pending, elementwise, its inputs memory and constants.
    offset : int
        Where it is computed to, in elements.
    strides : tuple of int or None
        How its elements shall lie there; None for the order that NumPy gives the result.
    flat : bool
        Whether all inputs, and the output, are contiguous or have one element.
    every : bool
        The launch shall be for loops of all extents; they are the axes as they come.
    """
    cache = kernel_cache_of(device)
    use_launches(cache)
    policy = cache.policies.elementwise
    itemsize = root.dtype.itemsize
    if strides is None:
        strides = contiguous(root.shape) if flat else result_strides(root)
    in_order = is_contiguous(root.shape, strides)
    most = INT_LIMIT - 1
    if policy.stream_bytes:  # from there on it is another kernel
        most = min(most, (policy.stream_bytes - 1) // itemsize)
    if not flat:
        made, _ = strided_kernel(cache, root, offset, strides, [])
        if _is_awaited(made):
            return None
        return CoreLaunch(
            kernel=kernel_of(made, root),
            device=device,
            work_group=policy.work_group,
            strides=strides,
            contiguous=in_order,
            inline_bytes=made.inline_bytes,
            most_size=most,
            vector=made.segment if every else 0,
            groups=made.groups[0],
            nbytes=made.nbytes,
            shifts=made.shifts,
            out_shift=made.out_shift,
            sizes=made.sizes,
            steps_at=made.steps_at,
            **_shares(cache),
        )
    found = flat_kernel(cache, root, offset, [])
    if found is None or root.size > most or _is_awaited(found):
        return None
    return CoreLaunch(
        kernel=kernel_of(found, root),
        device=device,
        work_group=policy.work_group,
        strides=strides,
        contiguous=in_order,
        inline_bytes=found.inline_bytes,
        most_size=most,
        vector=found.vector,
        element_bytes=found.element_bytes,
        **_shares(cache),
    )


def _shares(cache: KernelCache) -> dict[str, Any]:
    """What says how many groups share a launch's work units."""
    policy = cache.policies.elementwise
    return {
        "most_groups": cache.units * policy.groups_per_unit,
        "chunked": policy.chunked,
        "chunk_bytes": max(policy.chunk_bytes, 1),
    }


def _is_awaited(found: Flat | Strided) -> bool:
    """Whether the kernel may be there for neither queue yet; the core looks which one it is there for."""
    kernel = found.kernel
    return setting.on and isinstance(kernel, Awaited) and not (kernel.ready or kernel.launched)
