"""The examples of the pages on kernels, and of the kernels' docstrings, give what they say."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from clarray._engine.runtime import current_device
from clarray._numpy.kernels import kernels

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.skipif(
    not current_device().capabilities.fp64, reason="the examples use Python's floats, and the device has no float64"
)


def test_the_page_on_kernels() -> None:
    found = doctest.testfile(str(ROOT / "docs" / "kernels.rst"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.attempted > 30
    assert found.failed == 0


def test_docstrings() -> None:
    found = doctest.testmod(kernels)
    assert found.attempted > 7
    assert found.failed == 0
