"""The examples of the page on kernels give what they say."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from clarray._engine.runtime import current_device

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.skipif(
    not current_device().capabilities.fp64, reason="the examples use Python's floats, and the device has no float64"
)


def test_the_page_on_kernels() -> None:
    found = doctest.testfile(str(ROOT / "docs" / "kernels.rst"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.attempted > 30
    assert found.failed == 0
