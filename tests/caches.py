"""Cache folders for the processes of tests."""

from __future__ import annotations

from pathlib import Path

from clarray._engine.runtime import current_device
from clarray._engine.runtime.cache import DiskCache, disk_cache


def copy_device_record(folder: Path) -> None:
    """Copy what is known of the device under test to an empty cache folder.

    A process that finds no record compiles trial programs, which takes PoCL 1.3 seconds of a processor.
    """
    assert current_device().capabilities  # the record is stored by now
    known, copy = disk_cache("devices"), DiskCache(folder / "devices")
    for name, _ in known.files():
        record = known.load_json(name)
        if record is not None:
            copy.store_json(name, record)
