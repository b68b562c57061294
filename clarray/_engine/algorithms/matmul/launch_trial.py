"""Which tiles a device's tensor cores multiply: those it is said to be quick with, until a trial shows otherwise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clarray._engine.algorithms.matmul.plan import Matrix, Parts, Problem, fitting
from clarray._engine.algorithms.matmul.policy import MatmulPolicy
from clarray._engine.algorithms.matmul.policy_tensor import WarpTile
from clarray._engine.expr.node import contiguous_leaf
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.runtime import Capabilities, Device
from clarray._engine.runtime.capture import abort_capture

_FLOAT64 = np.dtype(np.float64)

# By device, of the policy that was asked for last: to find a policy by its value costs more than a small product.
_usable: dict[Device, tuple[MatmulPolicy, tuple[WarpTile, ...]]] = {}
_trusted: dict[tuple[Device, WarpTile], bool] = {}


MakeLaunch = Callable[..., Launch]  # `launch` has it, which is above this module


def tensor_tiles(cache: KernelCache) -> tuple[WarpTile, ...]:
    """The tiles for tensor cores that the policy has, the device has room for, and no trial has failed with."""
    policy = cache.policies.matmul
    known = _usable.get(cache.device)
    if known is not None and known[0] is policy:
        return known[1]
    device = cache.capabilities
    roomy = fitting(policy.tensor_tiles, _FLOAT64.itemsize, device.local_bytes, device.max_work_group)
    found = tuple([t for t in roomy if _is_for(device, t) and _trusted.get((cache.device, t), True)])
    _usable[cache.device] = policy, found
    return found


def _is_for(device: Capabilities, tile: WarpTile) -> bool:
    """Whether a device is said to be quick with an instruction; of one that does not tell, the trial decides."""
    one = tile.instruction
    if one.emulated:
        return device.fp64
    return device.may_be_nvidias(lambda found: found in one.capabilities)


def is_trusted(cache: KernelCache, tile: WarpTile, make_launch: MakeLaunch) -> bool:
    """Whether products by a tile compile and are right on this device: tried once in a process."""
    key = (cache.device, tile)
    found = _trusted.get(key)
    if found is None:
        abort_capture()
        found = _trusted[key] = _passes(cache, tile, make_launch)
        if not found:
            _usable.pop(cache.device, None)
    return found


def _passes(cache: KernelCache, tile: WarpTile, make_launch: MakeLaunch) -> bool:
    """Multiply whole numbers, a little more than a tile of them, with every stage used again and an end of k.

    The matrices lie as most do, so that the kernel is the one that is used next.
    """
    m, n, k = tile.rows + 3, tile.columns + 6, (tile.stages + 1) * tile.depth + 2
    random = np.random.default_rng(0)
    a, b = (random.integers(-9, 10, shape).astype(np.float64) for shape in ((m, k), (k, n)))
    device = cache.device
    x, y = (contiguous_leaf(device.upload(each), each.shape, _FLOAT64) for each in (a, b))
    found = np.empty((m, n))
    out = contiguous_leaf(device.allocate(found.nbytes), (m, n), _FLOAT64)
    parts = Parts(tile, 1, -(-k // tile.depth) * tile.depth)
    left, right = Matrix(k, 1, (), 0, 8), Matrix(1, n, (), 0, 8)
    launch = make_launch(cache, Problem(m, n, k, ()), left, right, _FLOAT64, parts, (x, y, out), 2 * tile.depth)
    try:
        launch.run()
        assert out.memory is not None
        device.read(out.memory, 0, found)
    except MemoryError:
        raise
    except Exception:  # what its compiler says no to, and what it will not launch
        return False
    return np.array_equal(found, a @ b)


__all__ = ["is_trusted", "tensor_tiles"]
