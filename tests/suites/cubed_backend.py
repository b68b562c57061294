"""A plugin of pytest: Cubed's tests run on its executors of one process; the others bring libraries of their own."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from cubed.tests import utils

KEPT = ("single-threaded", "threads")
NO_GRAPHVIZ = '"dot" not found in path'

for executors in (utils.ALL_EXECUTORS, utils.MAIN_EXECUTORS):  # which the test modules import by name
    executors[:] = [executor for executor in executors if executor.name in KEPT]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """What draws its plan is skipped where Graphviz is not installed."""
    try:
        return (yield)
    except FileNotFoundError as error:
        if NO_GRAPHVIZ in str(error):
            pytest.skip("draws a plan by Graphviz")
        raise
