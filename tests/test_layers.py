"""Imports go downwards only, one layer wraps pyopencl, and no file grows out of hand."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "clarray"

# Top to bottom. A module belongs to the longest prefix listed; a top-level module that is not
# listed is one of NumPy's chapters, in the array layer. A layer imports itself and what is below.
LAYERS = [
    ("", "__init__", "__main__", "demo"),
    ("array", "methods", "protocols", "chapter"),
    ("evaluate",),
    ("codegen",),
    ("plan",),
    ("expr",),
    ("ops",),
    ("codegen.ctype",),
    ("ops.dtypes",),
    ("runtime",),
    ("config", "errors", "version"),
]
# Below, and yet not to be touched: these stay plain values that need no device.
FORBIDDEN = {layer: {"runtime"} for layer in ("ops", "ops.dtypes", "expr", "codegen", "codegen.ctype")}
# __array_function__ finds clarray's function by NumPy's name, when it is called.
ALLOWED = {("protocols", "clarray")}
ONLY_IN_RUNTIME = {"pyopencl"}
LONGEST = 500

RANK = {prefix: rank for rank, layer in enumerate(LAYERS) for prefix in layer}
SOURCES = sorted(PACKAGE.rglob("*.py"))


def layer_of(module: str) -> str:
    """Give the listed prefix that a module (without the leading `clarray.`) belongs to."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        prefix = ".".join(parts[:length])
        if prefix in RANK:
            return prefix
    return "chapter"


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports(tree: ast.AST, package: list[str]) -> list[tuple[int, str]]:
    """Line and dotted name of every import that runs, those inside functions included."""
    found: list[tuple[int, str]] = []
    for node in ast.iter_child_nodes(tree):
        if is_type_checking(node):
            continue
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, *(node.module or "").split(".")]
            source = ".".join(part for part in base if part)
            found += [(node.lineno, f"{source}.{alias.name}") for alias in node.names]
        else:
            found += imports(node, package)
    return found


def own_target(name: str) -> str | None:
    """Give the imported module without `clarray.`, or None for what is not ours.

    `from clarray.expr import view` and `from clarray.expr.view import View` both lead to expr.view;
    names that are no module do not matter to layer_of, which looks for the longest listed prefix.
    """
    if name != "clarray" and not name.startswith("clarray."):
        return None
    rest = name.removeprefix("clarray").lstrip(".")
    first = rest.split(".")[0]
    exists = (PACKAGE / first).is_dir() or (PACKAGE / f"{first}.py").exists()
    return rest if exists else ""


@pytest.mark.parametrize("path", SOURCES, ids=[str(p.relative_to(ROOT)) for p in SOURCES])
def test_imports_go_downwards(path: Path) -> None:
    module = module_name(path)
    layer = layer_of(module)
    package = ["clarray", *path.relative_to(PACKAGE).parts[:-1]]
    wrong = []
    for line, name in imports(ast.parse(path.read_text()), package):
        if name.split(".")[0] in ONLY_IN_RUNTIME and layer != "runtime":
            wrong.append(f"line {line}: only clarray.runtime imports {name}")
        target = own_target(name)
        if target is None or target.startswith("templates") or (layer, name) in ALLOWED:
            continue
        below = layer_of(target) if target else ""
        if RANK[below] < RANK[layer] or below in FORBIDDEN.get(layer, ()):
            wrong.append(f"line {line}: {layer or 'clarray'} may not import {name}")
    assert not wrong, "\n".join(wrong)


def test_no_file_is_long() -> None:
    folders = ("clarray", "templates", "tests", "benchmarks", "docs")
    files = [p for f in folders for ext in ("py", "mako") for p in (ROOT / f).rglob(f"*.{ext}")]
    lengths = {str(p.relative_to(ROOT)): len(p.read_text().splitlines()) for p in files}
    assert {name: n for name, n in lengths.items() if n >= LONGEST} == {}
