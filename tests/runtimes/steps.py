"""The steps of one runtime: the doctor, the times, the smoke set and a sample of the suite."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Any, TypeVar

from .chroot import PYTHON, Chroot
from .rows import Row
from .table import (
    NOT_RUN,
    describe_status,
    format_doctor,
    format_tests,
    format_time,
    parse_closing_line,
    runtime_version,
)

SIZES = (100, 50_000)  # elements of float32

T = TypeVar("T")

# Minutes for each step. A step that takes longer is stopped, and counts as such.
LIMITS = {"debootstrap": 30, "install": 40, "doctor": 10, "times": 5}
TEST_SECONDS = 300  # for one test. pytest ends the worker then, and xdist starts another one
RESTARTS = 200  # of workers

PYTEST = (
    f"{PYTHON} -m pytest -q -n {{processes}} -p no:cacheprovider --max-worker-restart={RESTARTS} "
    f"-o faulthandler_timeout={TEST_SECONDS} -o faulthandler_exit_on_timeout=true {{selection}}"
)
TESTS = {"smoke": "-m smoke", "sample": '-m "not slow" --sample {sample}'}


def run_row(chroot: Chroot, row: Row, options: argparse.Namespace) -> tuple[str, ...]:
    """Run all steps for a runtime, and return its row of the table."""
    environment = row.environment | {"CLARRAY_CACHE_DIR": "/srv/cache", "CLARRAY_PROGRESS": "0"}

    def run(name: str, command: str, minutes: float, settings: dict[str, str] | None = None) -> tuple[int, str]:
        """Return the exit status and the output. After the limit, SIGINT lets pytest print its closing line."""
        name = f"{row.name}-{name}"
        limited = f"timeout --signal=INT --kill-after=60 {minutes * 60:.0f} {command}"
        status = chroot.run(limited, name, minutes, environment | (settings or {}))
        return status, chroot.log(name).read_text(errors="replace")

    chroot.install_wheel(row.wheel, LIMITS["install"])
    chroot.run("rm -rf /srv/cache", f"{row.name}-cache", 5, {})
    doctor = announced("doctor", partial(doctor_cell, run))
    versions, times = announced("times", partial(time_cells, run), lambda result: ", ".join(result[1]))
    tests = dict.fromkeys(TESTS, NOT_RUN)
    for name in options.tests:
        tests[name] = announced(name, partial(tests_cell, run, name, options))
    version = runtime_version(versions.get("platform", ""), versions.get("driver", "")) or package_version(chroot, row)
    python = versions.get("python") or python_version(chroot)
    numpy = versions.get("numpy", "")
    today = date.today().isoformat()
    return (chroot.suite.label, row.label, version, python, numpy, today, doctor, *tests.values(), *times)


def announced(name: str, step: Callable[[], T], show: Callable[[T], object] = str) -> T:
    """Run a step, and print its name, its result and its duration."""
    print(f"  {name}: ", end="", flush=True)
    start = time.monotonic()
    result = step()
    print(f"{show(result)} [{time.monotonic() - start:.0f} s]", flush=True)
    return result


Runner = Callable[..., tuple[int, str]]


def doctor_cell(run: Runner) -> str:
    status, output = run("doctor", f"{PYTHON} -m clarray doctor", LIMITS["doctor"])
    return format_doctor(output, status, LIMITS["doctor"])


def time_cells(run: Runner) -> tuple[dict[str, str], list[str]]:
    """Return the versions and the cells of the times, with kernels alone."""
    minutes = LIMITS["times"]
    status, output = run(
        "times", f"{PYTHON} tests/runtimes/times.py {' '.join(map(str, SIZES))}", minutes, {"CLARRAY_TIER": "0"}
    )
    records = parse_records(output)
    versions = next((record for record in records if "python" in record), {})
    times = {record["size"]: record["microseconds"] for record in records if "size" in record}
    reason = describe_status(status, minutes)
    return versions, [reason if reason and size not in times else format_time(times.get(size)) for size in SIZES]


def parse_records(output: str) -> list[dict[str, Any]]:
    """Return the lines of JSON in an output that may contain other lines."""
    records = []
    for line in output.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            records.append(record)
    return records


def tests_cell(run: Runner, name: str, options: argparse.Namespace) -> str:
    minutes = options.minutes
    selection = TESTS[name].format(sample=options.sample)
    command = PYTEST.format(processes=options.n, selection=selection)
    status, output = run(name, command, minutes)
    return format_tests(parse_closing_line(output), status, minutes)


def package_version(chroot: Chroot, row: Row) -> str:
    """Return the version of the distribution's package, for a runtime that does not start."""
    script = f"dpkg-query --show --showformat='${{Version}}' {row.package}"
    status = chroot.run(script, f"{row.name}-version", 1, {})
    return runtime_version("", chroot.log(f"{row.name}-version").read_text().strip()) if status == 0 else ""


def python_version(chroot: Chroot) -> str:
    """Return the version of the chroot's Python."""
    status = chroot.run(f"{PYTHON} --version", "python-version", 1, {})
    return chroot.log("python-version").read_text().split()[-1] if status == 0 else ""
