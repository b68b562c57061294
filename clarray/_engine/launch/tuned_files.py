"""The results of tuning in the user's cache: one file per device, driver and version of clarray."""

from __future__ import annotations

from pathlib import Path

from clarray._engine.runtime import Device
from clarray._engine.runtime.cache import DiskCache, cache_key, disk_cache
from clarray._engine.tuning.tuned import Tuned

__all__ = ["forget", "load_tuned", "store_tuned", "tuned_path"]


def _cache() -> DiskCache:
    return disk_cache("tuning")


def _key(device: Device) -> str:
    return cache_key("tuning", device.identity)


def tuned_path(device: Device) -> Path:
    """Return the path of a device's tuning results."""
    return _cache().folder / _key(device)


def load_tuned(device: Device) -> Tuned | None:
    """Return the tuning results of a device. None if there are none, or if their file cannot be used."""
    return Tuned.from_json(_cache().load_json(_key(device)), device.identity)


def store_tuned(device: Device, tuned: Tuned) -> bool:
    """Store tuning results, and return whether they can be read back."""
    _cache().store_json(_key(device), tuned.to_json())
    return load_tuned(device) == tuned


def forget(device: Device) -> None:
    """Delete the tuning results of a device."""
    _cache().discard(_key(device))
