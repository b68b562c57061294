"""The parts of `nox -s runtimes` that need no chroot: options, the output of the steps, and the table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import is_sampled
from .__main__ import ORDER, PAGE, parse
from .rows import ROWS, SUITES, parse_names, rows_of
from .steps import parse_records
from .table import (
    BEGIN,
    END,
    HEADINGS,
    NOT_RUN,
    Counts,
    describe_status,
    format_doctor,
    format_table,
    format_tests,
    format_time,
    merge_rows,
    parse_closing_line,
    parse_table,
    replace_table,
    runtime_version,
)

ROOT = Path(__file__).resolve().parents[2]
ROW = (
    *("Debian 13", "PoCL", "6.0", "3.13.5", "2.5.5", "2026-11-30", "no problem"),
    *("3,448 passed", "1,139 passed", "1.8 us", "5.4 us"),
)


def changed(**cells: str) -> tuple[str, ...]:
    """Return the row with other cells, named after the headings."""
    values = dict(zip((heading.replace(" ", "_").replace(",", "") for heading in HEADINGS), ROW, strict=True))
    assert cells.keys() <= values.keys()
    return tuple((values | cells).values())


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("3448 passed in 107.31s (0:01:47)", Counts(3448, 0, 0)),
        ("2 failed, 3446 passed, 12 skipped in 9.51s", Counts(3446, 2, 12)),
        ("===== 1 failed, 2 passed, 3 errors in 0.12s =====", Counts(2, 4, 0)),
        ("1 passed, 1 error in 1.00s", Counts(1, 1, 0)),
        ("= 7 passed, 2 deselected, 1 xfailed, 4 warnings in 90061.00s (1 day, 1:01:01) =", Counts(7, 0, 0)),
        ("\x1b[32m\x1b[1m5 passed\x1b[0m, \x1b[33m1 skipped\x1b[0m\x1b[32m in 0.30s\x1b[0m", Counts(5, 0, 1)),
    ],
)
def test_closing_lines(line: str, counts: Counts) -> None:
    assert (
        parse_closing_line(f"...F\n8 passed in 1.00s\nFAILED tests/x.py::t - 9 failed in the end\n{line}\n") == counts
    )


@pytest.mark.parametrize("output", ["", "....\n", "no tests ran in 0.01s", "[gw0] node down: Not properly terminated"])
def test_output_without_a_closing_line(output: str) -> None:
    assert parse_closing_line(output) is None


def test_pytest_writes_such_a_line(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_a(): pass\ndef test_b(): assert 0\ndef test_c(missing): pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=False)
    assert parse_closing_line(done.stdout) == Counts(1, 2, 0)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (0, ""),
        (1, ""),
        (124, "stopped after 2.5 minutes"),
        (137, "stopped after 2.5 minutes"),
        (136, "ended by signal 8"),
        (-11, "ended by signal 11"),
    ],
)
def test_reasons(status: int, reason: str) -> None:
    assert describe_status(status, 2.5) == reason


def test_cells() -> None:
    assert format_tests(Counts(3448, 0, 2), 0, 90) == "3,448 passed"
    assert format_tests(Counts(1053, 86, 0), 1, 90) == "1,053 passed, 86 failed"
    assert format_tests(Counts(10, 1, 0), 124, 90) == "10 passed, 1 failed (stopped after 90 minutes)"
    assert format_tests(None, 136, 90) == "ended by signal 8"
    assert format_tests(None, 4, 90) == "no result (exit status 4)"
    assert format_doctor("Cache\n\nNo problem found\n", 0, 10) == "no problem"
    assert format_doctor("\n2 problems found: each has a line above that says what mends it\n", 1, 10) == "2 problems"
    assert format_doctor("Drivers\n", 124, 10) == "stopped after 10 minutes"
    assert format_doctor("Traceback\n", 1, 10) == "no result (exit status 1)"
    assert [format_time(t) for t in (1.04, 9.96, 41.4, 1234.5, None)] == [
        *("1.0 us", "10.0 us", "41 us", "1,234 us", "no result")
    ]


@pytest.mark.parametrize(
    ("platform", "driver", "version"),
    [
        ("OpenCL 3.0 PoCL 3.0-rc2  Linux, Release, RELOC, LLVM 14.0.6", "3.0-rc2", "3.0"),
        ("OpenCL 3.0 PoCL 6.0+debian  Linux, None+Asserts, RELOC", "6.0+debian", "6.0"),
        ("OpenCL 3.0 ", "25.0.7-2+deb13u1", "25.0.7"),
        ("", "", ""),
    ],
)
def test_versions(platform: str, driver: str, version: str) -> None:
    assert runtime_version(platform, driver) == version


def test_records_beside_other_lines() -> None:
    assert parse_records('a warning\n{"size": 100}\n[1]\n{"size": ') == [{"size": 100}]


def test_the_table_is_read_as_it_is_written() -> None:
    rows = [ROW, changed(system="Debian sid", doctor="2 problems", version="")]
    table = format_table(rows)
    assert parse_table(table) == rows
    assert len({len(line) for line in table.splitlines()}) == 1
    assert table.splitlines()[1].endswith("-: |")


def test_rows_are_merged() -> None:
    """A run replaces its own rows. A step that was not run keeps its cell, unless a version has changed."""
    other = changed(runtime="PoCL, with PoCL from pip")
    times_only = changed(smoke_tests=NOT_RUN, sampled_tests=NOT_RUN, date="2026-12-01", **{"100_elements": "1.7 us"})
    order = [ROW[:2], other[:2]]
    merged = merge_rows([other, ROW], [times_only], order)
    assert merged == [changed(date="2026-12-01", **{"100_elements": "1.7 us"}), other]
    newer = changed(version="6.1", smoke_tests=NOT_RUN)
    assert merge_rows([ROW], [newer], order) == [newer]


def test_the_page_gets_the_table() -> None:
    page = f"# Install\n\n{BEGIN}\n\n{END}\n\ntail\n"
    once = replace_table(page, [ROW], ORDER)
    assert once == f"# Install\n\n{BEGIN}\n\n{format_table([ROW])}\n\n{END}\n\ntail\n"
    assert replace_table(once, [ROW], ORDER) == once
    with pytest.raises(ValueError, match="once"):
        replace_table("# Install\n", [ROW], ORDER)


def test_the_table_of_the_page_comes_from_the_script() -> None:
    page = PAGE.read_text()
    rows = parse_table(page.split(BEGIN)[1].split(END)[0])
    assert {row[:2] for row in rows} <= set(ORDER)
    assert replace_table(page, rows, ORDER) == page


def test_options() -> None:
    options = parse(["trixie", "--rows", "rusticl,pocl", "--sample", "20", "--tests", "smoke"])
    assert (options.suites, options.rows, options.sample) == (["trixie"], ["rusticl", "pocl"], 20)
    assert (options.tests, options.write) == (["smoke"], False)
    assert parse([]).suites == list(SUITES)
    assert parse(["--tests", "none"]).tests == []
    for wrong in (["jessie"], ["--rows", "intel"], ["--tests", "some"]):
        with pytest.raises(SystemExit):
            parse(wrong)


def test_selected_rows() -> None:
    assert [row.name for row in rows_of(SUITES["trixie"], list(ROWS))] == ["pocl", "wheel", "rusticl"]
    assert [row.name for row in rows_of(SUITES["bookworm"], list(ROWS))] == ["pocl", "wheel"]
    assert parse_names("pocl, wheel,pocl", ROWS) == ["pocl", "wheel"]
    with pytest.raises(ValueError, match="intel"):
        parse_names("intel", ROWS)
    with pytest.raises(ValueError, match="choose from"):
        parse_names("", ROWS)


def test_samples() -> None:
    ids = [f"tests/x.py::test_{number}[é]" for number in range(2000)]
    sample = [nodeid for nodeid in ids if is_sampled(nodeid, 10)]
    assert sample == [nodeid for nodeid in ids if is_sampled(nodeid, 10)]
    assert 140 < len(sample) < 260
    assert all(is_sampled(nodeid, 1) for nodeid in ids)


def test_the_option_selects_the_sample() -> None:
    def collected(*options: str) -> list[str]:
        command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *options]
        done = subprocess.run([*command, "tests/engine/expr"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        return [line for line in done.stdout.splitlines() if "::" in line]

    everything, sample = collected(), collected("--sample", "5")
    assert sample == [nodeid for nodeid in everything if is_sampled(nodeid, 5)]
    assert 0 < len(sample) < len(everything)
