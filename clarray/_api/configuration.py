"""Versions, devices and settings on one screen: `show_config`."""

from __future__ import annotations

from clarray._api.doctor.system import versions
from clarray._core.host_policy import SETTINGS, config
from clarray._engine.evaluate import kernel_cache_of
from clarray._engine.launch.host_tier import setting
from clarray._engine.launch.tuned_files import tuned_path
from clarray._engine.runtime import Device, current_device, describe_devices
from clarray._engine.runtime.host_memory import format_bytes
from clarray._engine.tuning.search_space import ALGORITHMS

__all__ = ["show_config"]


def show_config(details: bool = False) -> None:
    """Print versions, devices and settings.

    Parameters
    ----------
    details : bool, optional
        Whether to print the capabilities of the current device and the policy of each algorithm as well.

    Examples
    --------
    >>> import clarray
    >>> clarray.show_config()
    Versions
      clarray                   ...
    """
    chosen = current_device()
    print("Versions")
    _print_rows(versions())
    print("Devices")
    print(*describe_devices(chosen), sep="\n")
    memory = chosen.pool.info()
    policies = kernel_cache_of(chosen).policies
    used = f"{format_bytes(memory.used)} used, {format_bytes(memory.pooled)} pooled, of {format_bytes(memory.limit)}"
    print("Device in use")
    _print_rows(
        {
            "memory": used,
            "compiled programs": str(chosen.program_cache.folder),
            "tuning row": f"{policies.name!r}, {policies.source}",
            "tuning results": str(tuned_path(chosen)),
            "small first calls": "by NumPy, of exact values on a CPU" if setting.on else "by kernels",
        }
    )
    print("clarray.config")
    _print_rows({name: repr(getattr(config, name)) for name in (*SETTINGS, "memory_limit")})
    if details:
        _print_details(chosen)


def _print_rows(rows: dict[str, str]) -> None:
    for name, value in rows.items():
        print(f"  {name:25} {value}")


def _print_details(device: Device) -> None:
    cache = kernel_cache_of(device)
    print("Capabilities")
    _print_rows({n: str(getattr(cache.capabilities, n)) for n in cache.capabilities.__dataclass_fields__})
    print(f"Policies ({cache.policies.measured or 'untuned'})")
    for algorithm in ALGORITHMS:
        print(f"  {algorithm:25} {getattr(cache.policies, algorithm)}")
