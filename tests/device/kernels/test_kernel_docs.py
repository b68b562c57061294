"""The examples of the page on kernels give what they say."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from clarray._engine.runtime import current_device

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.skipif(
    not current_device().capabilities.fp64, reason="the examples use Python's floats, and the device has no float64"
)


def test_the_page_on_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])
    executed = importlib.import_module("executed")
    page = ROOT / "docs" / "how-to" / "kernels.md"
    assert len(executed.examples(page).examples) > 30
    assert executed.check(page) == ""
