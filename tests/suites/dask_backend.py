"""A plugin of pytest: Dask's tests of CuPy's arrays run with what `clarray.dask` registers."""

from __future__ import annotations

import pytest
from dask.array import backends

import clarray.dask

backends.register_clarray = clarray.dask.register  # a test calls CuPy's


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is skipped for what CuPy cannot do is run."""
    for item in items:
        item.own_markers = [
            mark for mark in item.own_markers if mark.name != "skip" or "CuPy" not in mark.kwargs.get("reason", "")
        ]
