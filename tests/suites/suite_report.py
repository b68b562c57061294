"""A plugin of pytest: marks the failures that are expected, and writes each test's outcome as a line of JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path

import expected
import pytest

EXPECTED = "expected: "
SUITE = os.environ["SUITE_NAME"]
REASONS = expected.failures(SUITE) if os.environ["SUITE_BACKEND"] == "clarray" else {}


def reason_of(nodeid: str) -> str | None:
    """Why a test is expected to fail, by its id with or without its parameters, or by one above it."""
    while nodeid:
        if nodeid in REASONS:
            return REASONS[nodeid]
        nodeid = nodeid.partition("[")[0] if "[" in nodeid else nodeid.rpartition("::")[0]
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is expected to fail; of a brief run only the first parameters of each test stay."""
    if os.environ.get("SUITE_BRIEF"):
        items[:] = {item.nodeid.partition("[")[0]: item for item in reversed(items)}.values()
        items.reverse()
    for item in items:
        reason = reason_of(item.nodeid)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=EXPECTED + reason, strict=reason not in expected.UNDECIDED))


class Recorder:
    """One line per test, that of its worst phase: a failing set-up or tear-down counts as the test's."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("w", buffering=1)
        self.passed: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        known = str(getattr(report, "wasxfail", "")).startswith(EXPECTED)
        if report.outcome == "passed":
            if report.when == "call":
                self.passed[report.nodeid] = report.duration
            elif report.when == "teardown" and report.nodeid in self.passed:
                self.write(report.nodeid, "passed", self.passed.pop(report.nodeid), "")
            return
        self.passed.pop(report.nodeid, None)
        outcome = "failed" if report.outcome == "failed" else "expected" if known else "skipped"
        self.write(report.nodeid, outcome, report.duration, self.reason(report))

    def reason(self, report: pytest.TestReport) -> str:
        if getattr(report, "wasxfail", None):
            return str(report.wasxfail)
        if isinstance(report.longrepr, tuple):
            return str(report.longrepr[2])
        crash = getattr(report.longrepr, "reprcrash", None)
        return str(crash.message if crash else report.longrepr)

    def write(self, nodeid: str, outcome: str, seconds: float, reason: str) -> None:
        row = {"id": nodeid, "outcome": outcome, "seconds": round(seconds, 2), "reason": reason[:600]}
        self.file.write(json.dumps(row) + "\n")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.outcome == "failed":
            self.write(report.nodeid, "failed", 0.0, str(report.longrepr)[-600:])


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # with xdist the workers report to the process that writes
        config.pluginmanager.register(Recorder(Path(os.environ["SUITE_RESULTS"])), "suite-recorder")
