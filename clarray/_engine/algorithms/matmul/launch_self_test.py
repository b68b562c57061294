"""Select tiles for tensor cores: a tile is used only if a test product on the device is correct."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clarray._engine.algorithms.matmul.plan import Matrix, Parts, Problem, StridedProduct, fitting_tiles, tile_limits
from clarray._engine.algorithms.matmul.policy import MatmulPolicy
from clarray._engine.algorithms.matmul.policy_tensor import WarpTile
from clarray._engine.expr.node import contiguous_leaf
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.runtime import Capabilities, Device
from clarray._engine.runtime.capture import abort_capture

_FLOAT64 = np.dtype(np.float64)

# The usable tiles per device for the last policy. It is compared by identity, because hashing a policy takes longer
# than a small product.
_usable: dict[Device, tuple[MatmulPolicy, tuple[WarpTile, ...]]] = {}
_self_tests: dict[tuple[Device, WarpTile], bool] = {}


MakeLaunch = Callable[..., Launch]  # passed by `launch`, which imports this module


def tensor_tiles(cache: KernelCache) -> tuple[WarpTile, ...]:
    """Return the policy's tiles for tensor cores that fit the device and have not failed their self-test."""
    policy = cache.policies.matmul
    entry = _usable.get(cache.device)
    if entry is not None and entry[0] is policy:
        return entry[1]
    device = cache.capabilities
    fitting = fitting_tiles(policy.tensor_tiles, _FLOAT64.itemsize, tile_limits(device))
    usable = tuple([t for t in fitting if _has_instruction(device, t) and _self_tests.get((cache.device, t), True)])
    _usable[cache.device] = policy, usable
    return usable


def _has_instruction(device: Capabilities, tile: WarpTile) -> bool:
    """Return whether a device may execute the instruction of a tile fast. If unknown, the self-test decides."""
    instruction = tile.instruction
    if instruction.emulated:
        return device.fp64
    return device.may_be_nvidias(lambda capability: capability in instruction.capabilities)


def passes_self_test(cache: KernelCache, tile: WarpTile, make_launch: MakeLaunch) -> bool:
    """Return whether products with a tile compile and are correct on this device. Test it once per process."""
    key = (cache.device, tile)
    passed = _self_tests.get(key)
    if passed is None:
        abort_capture()
        passed = _self_tests[key] = _run_self_test(cache, tile, make_launch)
        if not passed:
            _usable.pop(cache.device, None)
    return passed


def _run_self_test(cache: KernelCache, tile: WarpTile, make_launch: MakeLaunch) -> bool:
    """Multiply small integers and compare the product with NumPy's.

    The extents exceed a tile a little, reuse every stage, and end within a step of k. The operands are C-contiguous,
    as most are, so that the next product uses the same kernel.
    """
    m, n, k = tile.rows + 3, tile.columns + 6, (tile.stages + 1) * tile.depth + 2
    random = np.random.default_rng(0)
    a, b = (random.integers(-9, 10, shape).astype(np.float64) for shape in ((m, k), (k, n)))
    device = cache.device
    x, y = (contiguous_leaf(device.upload(values), values.shape, _FLOAT64) for values in (a, b))
    result = np.empty((m, n))
    out = contiguous_leaf(device.allocate(result.nbytes), (m, n), _FLOAT64)
    parts = Parts(tile, 1, -(-k // tile.depth) * tile.depth)
    left, right = Matrix(k, 1, (), 0, 8), Matrix(1, n, (), 0, 8)
    product = StridedProduct(Problem(m, n, k, ()), left, right, _FLOAT64)
    launch = make_launch(cache, product, parts, 2 * tile.depth, (x, y, out))
    try:
        launch.run()
        assert out.memory is not None
        device.read(out.memory, 0, result)
    except MemoryError:
        raise
    except Exception:  # the compiler rejects the kernel, or the driver does not launch it
        return False
    return np.array_equal(result, a @ b)


__all__ = ["passes_self_test", "tensor_tiles"]
