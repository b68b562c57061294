"""The results of tuning in the user's cache: one file per device, driver and version of clarray."""

from __future__ import annotations

from pathlib import Path

from clarray._engine.runtime import Device
from clarray._engine.runtime.cache import DiskCache, cache_of, key_of
from clarray._engine.tuning.tuned import Tuned

__all__ = ["forget", "tuned_of", "keep", "place_of"]


def _cache() -> DiskCache:
    return cache_of("tuning")


def _key(device: Device) -> str:
    return key_of("tuning", device.identity)


def place_of(device: Device) -> Path:
    """The file that results for a device are kept in."""
    return _cache().folder / _key(device)


def tuned_of(device: Device) -> Tuned | None:
    """What tuning found on a device; None where it has not run, or its file cannot be used."""
    return Tuned.from_json(_cache().load_json(_key(device)), device.identity)


def keep(device: Device, kept: Tuned) -> bool:
    """Store a result; whether it is there afterwards."""
    _cache().store_json(_key(device), kept.to_json())
    return tuned_of(device) == kept


def forget(device: Device) -> None:
    """Drop what was stored."""
    _cache().discard(_key(device))
