"""A plugin of pytest: the Array API's tests run without pytest-json-report, whose report nothing here reads."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

try:
    import pytest_jsonreport  # noqa: F401
except ImportError:
    sys.modules["pytest_jsonreport"] = ModuleType("pytest_jsonreport")

    @pytest.fixture
    def json_metadata() -> dict[str, Any]:
        return {}
