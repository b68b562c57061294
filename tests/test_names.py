"""Nothing in the project depends on, or names, a folder of the machine it was written on."""

from __future__ import annotations

import importlib
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


# A name of clarray's in dots: in code, comments, docstrings and pages. Templates are data, not a module.
DOTTED = re.compile(r"(?<![\w/])clarray(?:\.[a-zA-Z_]\w*)+")
DATA = ("clarray.templates",)


def is_there(name: str) -> bool:
    found: object = importlib.import_module("clarray")
    path = "clarray"
    for part in name.split(".")[1:]:
        path += f".{part}"
        try:
            found = getattr(found, part)
            continue
        except AttributeError as error:
            if "pip install" in str(error):
                return True  # nobody can tell without that package
        try:
            found = importlib.import_module(path)
        except ModuleNotFoundError as error:
            if not f"{error.name}.".startswith("clarray."):
                return True  # nobody can tell without that package
            return (ROOT / path.replace(".", "/")).with_suffix(".pyi").exists()  # for type checkers alone
        except ImportError:
            return (ROOT / path.replace(".", "/")).with_suffix(".pyi").exists()
    return True


def test_what_is_named_in_dots_exists() -> None:
    """Comments and pages do not outlive what they name."""
    told = [*(ROOT / "clarray").rglob("*.py"), *(ROOT / "templates").rglob("*.mako"), *(ROOT / "docs").rglob("*.md")]
    gone = []
    for path in told:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            names = [name for name in DOTTED.findall(line) if not name.endswith(".py")]
            gone += [
                f"{path.relative_to(ROOT)}:{number}: {name}"
                for name in names
                if not name.startswith(DATA) and not is_there(name)
            ]
    assert gone == []
