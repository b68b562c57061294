"""README: its links, example, badges and figures are what the repository has."""

from __future__ import annotations

import contextlib
import io
import re
import tomllib
from pathlib import Path

import pytest

import clarray

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LINKS = re.findall(r"\]\(([^)]+)\)", README)


@pytest.mark.parametrize("link", sorted(set(LINKS)))
def test_links_are_files_of_the_repository(link: str) -> None:
    """The repository has no public address yet, so links lead to its files."""
    path, _, heading = link.partition("#")
    assert (ROOT / path).exists()
    assert not heading or heading in re.findall(r"^## (\w+)$", README.lower(), re.MULTILINE)


def test_nothing_else_is_an_address() -> None:
    assert len(LINKS) > 20
    assert re.findall(r"https?:|\bwww\.|[\w.]@\w", README) == []
    assert "*To be filled in by a person" in README


def test_the_example_prints_what_stands_below_it() -> None:
    (code, output), *others = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL)
    assert others == []
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert printed.getvalue() == output


BADGES = {
    "python": f"Python: {PROJECT['requires-python'].removeprefix('>=')} or later",
    "numpy": "NumPy: {}.0 or later".format(*(line.removeprefix("numpy>=") for line in PROJECT["dependencies"][:1])),
    "array_api": f"Array API: {clarray.__array_api_version__}",
    "licence": f"licence: {PROJECT['license']}",
}


@pytest.mark.parametrize("name", BADGES)
def test_badges_are_true(name: str) -> None:
    badge = (ROOT / f"docs/figures/badge_{name}.svg").read_text()
    assert f"[![{BADGES[name]}](docs/figures/badge_{name}.svg)]" in README
    assert f"<title>{BADGES[name]}</title>" in badge
    left, right = BADGES[name].split(": ")
    assert re.findall(r"<text [^>]*>(.*)</text>", badge) == [left, right]


# Rows of the tables of figures: the operation, and the numbers beside it.
ROWS = [
    (row[1], re.findall(r"[\d.]+", row[2]))
    for row in re.finditer(r"^\| `([^`]+)`[^|]* ((?:\| [\d.]+ )+)\|$", README, re.MULTILINE)
]
PAGES = [page.read_text() for page in (ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize(("operation", "figures"), ROWS, ids=str)
def test_figures_stand_in_one_row_of_the_documentation(operation: str, figures: list[str]) -> None:
    rows = [line for page in PAGES for line in page.splitlines() if line.startswith(f"| `{operation}")]
    assert any(set(figures) <= set(re.findall(r"[\d.]+", row)) for row in rows)


def test_the_number_of_the_first_screen_is_what_a_command_prints() -> None:
    """`python -m clarray` measures it, and its output stands below."""
    (number,) = re.findall(r"is ([\d.]+) times as fast as with NumPy", README)
    assert re.search(rf"^\(\(x - 1\)\*\*2\)\.sum\(\) .* ms +{re.escape(number)}\d* ", README, re.MULTILINE)


def test_there_is_a_table_for_each_kind_of_machine() -> None:
    assert len(ROWS) > 15
    assert {len(figures) for _, figures in ROWS} == {2, 3}
