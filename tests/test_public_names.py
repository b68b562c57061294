"""Public names: NumPy's where they are functions, each documented and in the reference."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path

import numpy as np
import pytest

import clarray
from clarray._api import attaching

ROOT = Path(__file__).resolve().parents[1]
NOT_NUMPYS = {"asnumpy", "device", "devices", "free_memory", "memory_info", "profile", "reset", "set_device"}
NOT_NUMPYS |= {"fuse", "get_array_module", "get_default_memory_pool", "show_config", "synchronize"}

FUNCTIONS = sorted(
    name for name in dir(clarray) if not name.startswith("_") and inspect.isroutine(getattr(clarray, name))
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_numpys_and_documented(name: str) -> None:
    assert hasattr(np, name) or name in NOT_NUMPYS
    documentation = getattr(clarray, name).__doc__
    assert documentation, f"clarray.{name} has no docstring"


def test_methods_are_documented() -> None:
    methods = {
        name: value
        for name, value in vars(clarray.DeviceArray).items()
        if not name.startswith("_") and (callable(value) or isinstance(value, property))
    }
    attached = {name for name in attaching.attached() if not name.startswith("_")}
    assert attached <= methods.keys()
    assert [name for name, value in methods.items() if not value.__doc__] == []


def test_every_function_is_in_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])
    reference = importlib.import_module("reference")
    listed = {n for c in reference.CHAPTERS for n in importlib.import_module(f"clarray.{c}").__all__}
    page = (ROOT / "docs" / "device.rst").read_text()
    missing = [n for n in FUNCTIONS if n not in listed and f"autofunction:: {n}\n" not in page]
    assert missing == []
