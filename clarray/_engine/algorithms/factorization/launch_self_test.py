"""Choose the pivot search of panels: by a warp instruction if the device has it and it passes a self-test."""

from __future__ import annotations

import numpy as np

from clarray._engine.algorithms.factorization.plan import INTS, FactorizationPlan, PanelPlan, panel_plan
from clarray._engine.algorithms.factorization.source import panel_source
from clarray._engine.launch.kernel_cache import KernelCache
from clarray._engine.runtime import Device
from clarray._engine.runtime.capture import abort_capture

_MIN_CAPABILITY = 8, 0  # of NVIDIA's architectures with `redux.sync`
_EXTRA_ROWS = 76  # rows of the test beyond the number of work-items

_self_tested: dict[tuple[Device, np.dtype, PanelPlan], bool] = {}


def pivot_search(cache: KernelCache, plan: FactorizationPlan) -> str:
    """Return the pivot search of panel kernels, see `FactorizationPolicy.search`."""
    search = cache.policies.factorization.search
    if search != "warps":
        return search
    has_instruction = cache.capabilities.may_be_nvidias(lambda capability: capability >= _MIN_CAPABILITY)
    return "warps" if has_instruction and _is_self_tested(cache, plan) else "items"


def _is_self_tested(cache: KernelCache, plan: FactorizationPlan) -> bool:
    key = (cache.device, plan.dtype, _tested_panel(cache, plan, "warps"))
    passed = _self_tested.get(key)
    if passed is None:
        abort_capture()
        passed = _self_tested[key] = passes_self_test(cache, plan, "warps")
    return passed


def _tested_panel(cache: KernelCache, plan: FactorizationPlan, search: str) -> PanelPlan:
    """Plan a panel in which some work-items have two rows."""
    policy, itemsize = cache.policies.factorization, plan.dtype.itemsize
    rows = 4 * policy.items // itemsize + _EXTRA_ROWS
    return panel_plan(rows, itemsize, policy, cache.capabilities.max_work_group, search)


def passes_self_test(cache: KernelCache, plan: FactorizationPlan, search: str) -> bool:
    """Return whether a panel of random numbers equals the product of its factors, and no multiplier exceeds 1."""
    dtype, device, form = plan.dtype, cache.device, _tested_panel(cache, plan, search)
    rows = form.items + _EXTRA_ROWS
    if not form.each:
        return False
    size, random = form.width, np.random.default_rng(0)
    panel = random.uniform(-1, 1, (size, rows))
    if dtype.kind == "c":
        panel = panel + 1j * random.uniform(-1, 1, panel.shape)
    panel = panel.astype(dtype)
    ints = np.zeros(INTS + 2 * size, np.int32)
    kernel = cache.kernel_for(("panel", plan, form), panel_source, plan, form, cache.capabilities)
    work, device_ints = device.upload(panel), device.upload(ints)
    operands = {"wp": work.buffer, "wo": 0, "ip": device_ints.buffer, "io": 0, "pitch": rows}
    args = kernel.arguments(rows=rows, size=size, begins=1, moves=INTS, spare=0, **operands)
    try:
        kernel.launch((1,), (form.items,), args, False, 2 * panel.nbytes)
        factors = np.empty_like(panel)
        device.read(work, 0, factors)
        device.read(device_ints, 0, ints)
    except MemoryError:
        raise
    except Exception:  # the compiler rejects the instruction, or the launch fails
        return False
    lower, upper = np.tril(factors.T, -1) + np.eye(rows, size), np.triu(factors.T[:size])
    rounding = 8 * size * np.finfo(dtype).eps
    # pivots are compared by the sum of the absolute real and imaginary parts
    multipliers = np.abs(lower.real) + np.abs(lower.imag)
    return bool(
        np.all(np.abs(lower @ upper - panel.T[_row_order(ints, rows, size)]) <= rounding)
        and np.all(multipliers <= (1 if dtype.kind == "f" else 2) + rounding)
    )


def _row_order(ints: np.ndarray, rows: int, size: int) -> np.ndarray:
    """Return the index that each row of a factorized panel had in the original."""
    sources, destinations = ints[INTS : INTS + size], ints[INTS + size :]
    order = np.arange(rows)
    displaced = np.flatnonzero(destinations >= 0)
    order[destinations[displaced]] = displaced
    order[:size] = sources
    return order


__all__ = ["passes_self_test", "pivot_search"]
