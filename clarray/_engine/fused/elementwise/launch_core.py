"""What the compiled core is told of an elementwise launch, so that it can make the next one like it."""

from __future__ import annotations

from typing import Any

from clarray._engine.expr.layout import INT_LIMIT
from clarray._engine.expr.node import Node
from clarray._engine.expr.result_layout import result_strides
from clarray._engine.expr.view import Shape, contiguous, is_contiguous
from clarray._engine.fused.elementwise.launch import flat_kernel, prepare_strided
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._engine.runtime import Device
from clarray._engine.speedups import called_by_core, core


@called_by_core
def prepared_for_core(
    device: Device, root: Node, offset: int, strides: Shape | None, flat: bool
) -> tuple[Any, ...] | None:
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

    Returns
    -------
    tuple or None
        In the order in which `prepare` in speedups/evaluate.cpp reads it.
    """
    cache = kernel_cache_of(device)
    cache.value_for("the core's launches", core.Launches, device).use()
    policy = cache.policies.elementwise
    itemsize = root.dtype.itemsize
    vector = element_bytes = groups = nbytes = out_shift = 0
    shifts: Shape = ()
    sizes: Shape = ()
    if strides is None:
        strides = contiguous(root.shape) if flat else result_strides(root)
    if flat:
        found = flat_kernel(cache, root, offset, [])
        if found is None or 0 < policy.stream_bytes <= root.size * itemsize:
            return None
        kernel, vector, element_bytes, _, inline_bytes = found
    else:
        made = prepare_strided(cache, root, offset, strides)
        kernel, shifts, out_shift, sizes = made.kernel, made.shifts, made.out_shift, made.sizes
        (groups,), nbytes, inline_bytes = made.groups, made.nbytes, made.inline_bytes
    most = INT_LIMIT - 1
    if policy.stream_bytes:  # from there on it is another kernel
        most = min(most, (policy.stream_bytes - 1) // itemsize)
    return (
        kernel,
        device.pool._bins,
        (policy.work_group,),
        vector,
        groups,
        most,
        element_bytes,
        nbytes,
        policy.chunked,
        device.inline is not None,
        cache.units * policy.groups_per_unit,
        max(policy.chunk_bytes, 1),
        policy.work_group,
        inline_bytes,
        device.pool._global_bytes,
        shifts,
        sizes,
        out_shift,
        strides,
        is_contiguous(root.shape, strides),
    )
