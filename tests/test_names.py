"""Nothing in the project depends on, or names, a folder of the machine it was written on."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ("clarray", "templates", "tests", "benchmarks", "docs", ".ci")
TEXT = {"", ".py", ".mako", ".md", ".rst", ".toml", ".cfg", ".yaml", ".yml", ".json", ".txt"}
BUILT = {"__pycache__", "_build", "results", "generated"}

# A folder that exists on one machine only: homes and scratch folders, absolute.
MACHINE_PATH = re.compile(r"(?<![\w.~$}])/(?:home|root|Users|mnt|work|scratch|workspace)/[\w.]")


def kept_files() -> list[Path]:
    inside = [p for folder in KEPT for p in (ROOT / folder).rglob("*")]
    top = [p for p in ROOT.iterdir() if not p.name.startswith(".git")]
    return [
        p
        for p in (*top, *inside)
        if p.is_file() and p.suffix in TEXT and not BUILT.intersection(p.relative_to(ROOT).parts)
    ]


def test_no_machine_paths() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in kept_files()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]
    assert not found, "\n".join(found)


def test_the_pattern_finds_what_it_should() -> None:
    assert MACHINE_PATH.search("open('" + "/".join(["", "home", "me", "x.npy"]) + "')")
    harmless = ("https://example.org", "home", "page, $HOME", "root", "x, a", "work", "b")
    assert not MACHINE_PATH.search("/".join(harmless))
