"""Who finds a panel's pivots: warps by an instruction, where the device has it and a trial shows that it works."""

from __future__ import annotations

import numpy as np

from clarray._engine.algorithms.factorization.plan import INTS, FactorizationPlan, PanelPlan, panel_plan
from clarray._engine.algorithms.factorization.source import panel_source
from clarray._engine.launch.kernel_cache import KernelCache
from clarray._engine.runtime import Device
from clarray._engine.runtime.capture import abort_capture

_LEAST_CAPABILITY = 8, 0  # of NVIDIA's architectures with `redux.sync`
_MORE = 76  # rows of the trial than work-items

_trusted: dict[tuple[Device, np.dtype, PanelPlan], bool] = {}


def pivot_search(cache: KernelCache, plan: FactorizationPlan) -> str:
    """How the kernels of panels find the largest of a column; see `FactorizationPolicy.search`."""
    wanted = cache.policies.factorization.search
    if wanted != "warps":
        return wanted
    has_instruction = cache.capabilities.may_be_nvidias(lambda found: found >= _LEAST_CAPABILITY)
    return "warps" if has_instruction and _is_trusted(cache, plan) else "items"


def _is_trusted(cache: KernelCache, plan: FactorizationPlan) -> bool:
    key = (cache.device, plan.dtype, _shape(cache, plan, "warps"))
    found = _trusted.get(key)
    if found is None:
        abort_capture()
        found = _trusted[key] = passes(cache, plan, "warps")
    return found


def _shape(cache: KernelCache, plan: FactorizationPlan, search: str) -> PanelPlan:
    """Of a panel some of whose items have two rows."""
    policy, itemsize = cache.policies.factorization, plan.dtype.itemsize
    rows = 4 * policy.items // itemsize + _MORE
    return panel_plan(rows, itemsize, policy, cache.capabilities.max_work_group, search)


def passes(cache: KernelCache, plan: FactorizationPlan, search: str) -> bool:
    """Whether a panel of random numbers is the product of its factors, none of which is larger than its pivot."""
    dtype, device, shape = plan.dtype, cache.device, _shape(cache, plan, search)
    rows = shape.items + _MORE
    if not shape.each:
        return False
    size, random = shape.width, np.random.default_rng(0)
    panel = random.uniform(-1, 1, (size, rows))
    if dtype.kind == "c":
        panel = panel + 1j * random.uniform(-1, 1, panel.shape)
    panel = panel.astype(dtype)
    ints = np.zeros(INTS + 2 * size, np.int32)
    kernel = cache.kernel_for(("panel", plan, shape), panel_source, plan, shape, cache.capabilities)
    work, told = device.upload(panel), device.upload(ints)
    place = {"wp": work.buffer, "wo": 0, "ip": told.buffer, "io": 0, "pitch": rows}
    args = kernel.arguments(rows=rows, size=size, begins=1, moves=INTS, spare=0, **place)
    try:
        kernel.launch((1,), (shape.items,), args, False, 2 * panel.nbytes)
        found = np.empty_like(panel)
        device.read(work, 0, found)
        device.read(told, 0, ints)
    except MemoryError:
        raise
    except Exception:  # what its compiler says no to, and what it will not launch
        return False
    lower, upper = np.tril(found.T, -1) + np.eye(rows, size), np.triu(found.T[:size])
    rounding = 8 * size * np.finfo(dtype).eps
    weights = np.abs(lower.real) + np.abs(lower.imag)
    return bool(
        np.all(np.abs(lower @ upper - panel.T[_order(ints, rows, size)]) <= rounding)
        and np.all(weights <= (1 if dtype.kind == "f" else 2) + rounding)
    )


def _order(ints: np.ndarray, rows: int, size: int) -> np.ndarray:
    """Where each row of a factorized panel stood before."""
    comes, goes = ints[INTS : INTS + size], ints[INTS + size :]
    order = np.arange(rows)
    moved = np.flatnonzero(goes >= 0)
    order[goes[moved]] = moved
    order[:size] = comes
    return order


__all__ = ["passes", "pivot_search"]
