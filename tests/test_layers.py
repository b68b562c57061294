"""Imports go downwards only and in no circle, one layer wraps pyopencl, and no file grows out of hand."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from clarray._engine.algorithms import launchers

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "clarray"

# Bottom to top. A module belongs to the longest prefix listed, and imports its own floor and those below; what one
# line lists does not know of each other.
FLOORS: list[tuple[str, ...]] = [
    ("_engine.version", "_engine.speedups", "_engine.fast_dataclass", "_engine.argument_struct", "_engine.weights"),
    ("_engine.threads",),
    ("_engine.ops", "_engine.runtime"),
    ("_engine.expr",),
    ("_engine.codegen",),
    ("policy",),  # an algorithm's, in its folder: the tables of tuning are made of them
    ("_engine.tuning",),
    ("_engine.launch",),
    ("_engine.fused.elementwise",),
    ("_engine.fused.reduce", "_engine.fused.compact"),
    ("_engine.evaluate",),
    ("_engine.writing",),
    ("_engine.algorithms",),
    ("_core",),
    ("_numpy",),
    ("linalg",),
    ("fft", "ndimage", "random", "special", "lib", "testing"),
    ("_api", "einops_backend"),
    ("run",),
    ("clarray", "__main__"),
    ("dask",),
]
RANK = {prefix: rank for rank, floor in enumerate(FLOORS) for prefix in floor}
# Within the folder of an algorithm, by the beginning of a file's name.
STAGES = ("policy", "plan", "source", "launch")
# These stay plain values that need no device, whatever lies below them.
PURE_FLOORS = {"_engine.ops", "_engine.expr", "_engine.codegen", "_engine.tuning"}
PURE_STAGES = {"policy", "plan", "source"}
DEVICE = {"_engine.runtime", "_engine.launch"}
ONLY_IN_RUNTIME = {"pyopencl"}
BACKENDS = "_engine.runtime.backends"
BACKEND = re.compile(rf"{BACKENDS}\.(?!backend$)\w+")  # a backend's folder: only the package above imports it
ENTRIES = 14  # of clarray/, beside __init__.py, __main__.py and py.typed
LONGEST = 500
MOST_BY_POSITION = 6  # fields of a value: more are given by name

FILES = {
    ".".join(p.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__").replace("__init__", "clarray"): p
    for p in sorted(PACKAGE.rglob("*.py"))
}


def stage_of(module: str) -> str | None:
    """Give the stage of a file of an algorithm's, None for any other module."""
    if not module.startswith(("_engine.fused.", "_engine.algorithms.")):
        return None
    return next((stage for stage in STAGES if module.rpartition(".")[2].startswith(stage)), None)


def floor_of(module: str) -> str:
    """Give the listed prefix that a module (without the leading `clarray.`) belongs to."""
    if stage_of(module) == "policy":
        return "policy"
    parts = module.split(".")
    prefixes = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    found = next((prefix for prefix in prefixes if prefix in RANK), None)
    assert found is not None, f"{module} is on no floor: list it in FLOORS"
    return found


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imported(tree: ast.AST) -> list[tuple[int, str]]:
    """Line and dotted name of every import that runs: those in functions, and modules named in strings, included."""
    found: list[tuple[int, str]] = []
    for node in ast.iter_child_nodes(tree):
        if is_type_checking(node):
            continue
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value.removeprefix("clarray.") in FILES and node.value.startswith("clarray."):
                found.append((node.lineno, node.value))
        else:
            found += imported(node)
    return found


def own_module(name: str) -> str | None:
    """Give the module of clarray that an imported name lies in, without `clarray.`; None for what is not ours."""
    if name.split(".")[0] != "clarray" or name.startswith("clarray.templates"):
        return None
    rest = name.removeprefix("clarray").lstrip(".")
    while rest and rest not in FILES:
        rest = rest.rpartition(".")[0]
    return rest or "clarray"


@cache
def imports_of(module: str) -> tuple[tuple[int, str], ...]:
    """Line and name of all that a module imports."""
    return tuple(imported(ast.parse(FILES[module].read_text())))


def may_import(module: str, target: str) -> bool:
    here, there = floor_of(module), floor_of(target)
    if here != there:
        return RANK[there] < RANK[here]
    ours, theirs = stage_of(module), stage_of(target)
    return ours is None or theirs is None or STAGES.index(theirs) <= STAGES.index(ours)


def is_pure(module: str) -> bool:
    return floor_of(module) in PURE_FLOORS or stage_of(module) in PURE_STAGES


@pytest.mark.parametrize("module", FILES)
def test_imports_go_downwards(module: str) -> None:
    wrong = []
    for line, name in imports_of(module):
        if name.split(".")[0] in ONLY_IN_RUNTIME and floor_of(module) != "_engine.runtime":
            wrong.append(f"line {line}: only clarray._engine.runtime imports {name}")
        target = own_module(name)
        if target is None or target == module:
            continue
        folder = BACKEND.match(target)
        if folder and module not in (BACKENDS, folder[0]) and not module.startswith(f"{folder[0]}."):
            wrong.append(f"line {line}: only {BACKENDS} imports {name}")
        if not may_import(module, target):
            wrong.append(f"line {line}: {module} may not import {name}")
        if is_pure(module) and (floor_of(target) in DEVICE or stage_of(target) == "launch"):
            wrong.append(f"line {line}: {module} needs no device, and may not import {name}")
    assert not wrong, "\n".join(wrong)


def test_threads_are_started_in_one_place() -> None:
    """`threads.start` knows what a thread needs, and that none begins while the interpreter shuts down."""
    own = {"_engine.threads", "_engine.runtime.host_memory", "_api.doctor.children"}  # the doctor's is a timer
    makers = {
        module for module, path in FILES.items() if "threading.T" in path.read_text() and ".start()" in path.read_text()
    }
    assert makers == own


def inner_imports(tree: ast.AST, inside: bool = False) -> list[tuple[int, str]]:
    """Line and name of the imports inside functions."""
    found: list[tuple[int, str]] = []
    for node in ast.iter_child_nodes(tree):
        if inside and isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            found += [(node.lineno, f"{module}.{alias.name}" if module else alias.name) for alias in node.names]
        found += inner_imports(node, inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))
    return found


@pytest.mark.parametrize("module", FILES)
def test_imports_of_our_own_stand_at_the_top(module: str) -> None:
    """Inside a function only what is optional, or not there on every system, is imported."""
    tree = ast.parse(FILES[module].read_text())
    assert [(line, name) for line, name in inner_imports(tree) if own_module(name) is not None] == []


LAUNCHERS = "_engine.algorithms.launchers"


@pytest.mark.parametrize("module", [m for m in FILES if not m.startswith("_engine.algorithms.")])
def test_algorithms_are_launched_through_the_one_module_that_loads_them_late(module: str) -> None:
    targets = [own_module(name) or "" for _, name in imports_of(module)]
    assert [
        t for t in targets if t.startswith("_engine.algorithms.") and stage_of(t) == "launch" and t != LAUNCHERS
    ] == []


def test_launchers_are_typed_as_what_they_load() -> None:
    """What type checkers read there is what the table says, and each module of it is one that launches."""
    typed = {}
    for node in filter(is_type_checking, ast.parse(FILES[LAUNCHERS].read_text()).body):
        for statement in ast.walk(node):
            if isinstance(statement, ast.ImportFrom):
                typed |= {a.asname or a.name: f"{statement.module}.{a.name}" for a in statement.names}
    assert typed == launchers._MODULES
    assert {stage_of(name.removeprefix("clarray.")) for name in typed.values()} == {"launch"}
    assert launchers.__all__ == sorted(typed)
    assert set(typed) <= set(dir(launchers))


def run_by_bodies(tree: ast.AST) -> list[ast.AST]:
    """Whatever a module's import runs: all but the bodies of functions."""
    found: list[ast.AST] = []
    for node in ast.iter_child_nodes(tree):
        found.append(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found += [inner for one in node.decorator_list for inner in (one, *run_by_bodies(one))]
        elif not isinstance(node, ast.Lambda):
            found += run_by_bodies(node)
    return found


@pytest.mark.parametrize("module", FILES)
def test_no_import_compiles_a_pattern(module: str) -> None:
    """A pattern is kept as its text: `re` compiles it when it is first used, and keeps it."""
    calls = [node for node in run_by_bodies(ast.parse(FILES[module].read_text())) if isinstance(node, ast.Call)]
    assert [call.lineno for call in calls if ast.unparse(call.func) == "re.compile"] == []


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Give the modules that import each other in a circle: what is left when those without imports are taken away."""
    graph = {module: targets & graph.keys() for module, targets in graph.items()}
    while True:
        leaves = {module for module, targets in graph.items() if not targets}
        used = set().union(*graph.values()) if graph else set()
        leaves |= graph.keys() - used
        if not leaves:
            return [[module, *sorted(targets)] for module, targets in graph.items()]
        graph = {module: targets - leaves for module, targets in graph.items() if module not in leaves}


def test_imports_make_no_circle() -> None:
    graph = {
        module: {t for _, name in imports_of(module) if (t := own_module(name)) not in (None, module)}
        for module in FILES
    }
    assert circles(graph) == []


def test_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"], ["c", "b"]]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_the_package_is_small_at_the_top() -> None:
    # a folder without sources is what a checkout of another layout has left of its own
    entries = {p.name for p in PACKAGE.iterdir() if p.is_file() or any(p.rglob("*.py"))}
    entries -= {"__init__.py", "__main__.py", "py.typed"}
    assert len(entries) <= ENTRIES


def test_the_design_page_has_these_ranks() -> None:
    entries = []
    for line in (ROOT / "docs/engineering/design.md").read_text().splitlines():
        row = re.match(r"\| +(\d+) \| ((?:`[\w.]+`,? +)+)\|", line)
        if row:
            rank = int(row[1])
            entries += [(prefix, rank) for prefix in re.findall(r"[\w.]+", row[2])]
    assert dict(entries) == RANK
    assert len(entries) == len(RANK)


def test_no_module_has_the_name_of_a_function() -> None:
    """`clarray.array` is a function: a module of this name would be what type checkers see."""
    outside = [module for module in FILES if not module.startswith("_engine.")]
    assert [m for m in outside if callable(getattr(np, m.rpartition(".")[2], None))] == []


def given_by_position(path: Path) -> list[str]:
    """Give the dataclasses and named tuples that take many fields without their names."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ClassDef):
            continue
        fields = [s for s in node.body if isinstance(s, ast.AnnAssign)]
        decorators = " ".join(map(ast.unparse, node.decorator_list))
        if "dataclass" in decorators:
            many = len(fields) > MOST_BY_POSITION and "kw_only=True" not in decorators
        else:
            named = any("NamedTuple" in ast.unparse(base) for base in node.bases)
            many = named and sum(s.value is None for s in fields) > MOST_BY_POSITION
        if many:
            found.append(node.name)
    return found


def test_values_of_many_fields_are_made_by_name() -> None:
    assert {m: found for m, path in FILES.items() if (found := given_by_position(path))} == {}


def test_no_file_is_long() -> None:
    folders = ("clarray", "templates", "tests", "benchmarks", "docs")
    files = [p for f in folders for ext in ("py", "mako") for p in (ROOT / f).rglob(f"*.{ext}")]
    lengths = {str(p.relative_to(ROOT)): len(p.read_text().splitlines()) for p in files}
    assert {name: n for name, n in lengths.items() if n >= LONGEST} == {}


def loops_in_blocks(tree: ast.AST) -> list[int]:
    """Return the lines of loops that branch, in a block that holds a lock."""
    found = []
    pending: list[tuple[ast.AST, bool]] = [(tree, False)]
    for node, inside in pending:
        if inside and branches(node):
            found.append(node.lineno)  # type: ignore[attr-defined]
        if isinstance(node, ast.With):
            inside |= any(LOCKS.search(ast.unparse(item.context_expr)) for item in node.items)
        elif isinstance(node, ast.FunctionDef | ast.Lambda | ast.GeneratorExp):
            inside = False
        elif isinstance(node, ast.Try):
            releases = any(".release()" in ast.unparse(each) for each in (*node.finalbody, *node.handlers))
            pending += [(child, True) for child in node.body if releases]
        pending += [(child, inside) for child in ast.iter_child_nodes(node)]
    return found


LOCKS = re.compile(r"lock|hold|held", re.IGNORECASE)


def branches(node: ast.AST) -> bool:
    """Tell whether a loop jumps back to its head from a condition, too."""
    if isinstance(node, ast.For):
        return any(isinstance(each, ast.If | ast.Continue) for each in node.body)
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp):
        return any(each.ifs for each in node.generators)
    return isinstance(node, ast.While)


@pytest.mark.parametrize("module", FILES)
def test_no_interrupt_of_a_loop_leaves_a_lock_held(module: str) -> None:
    """Python 3.13.0 runs signal handlers at such a jump outside the block that the loop stands in."""
    assert loops_in_blocks(ast.parse(FILES[module].read_text())) == []


@pytest.mark.parametrize(
    "source",
    [
        "with lock:\n    while y: z()",
        "with device.lock:\n    if x:\n        while y: z()",
        "try:\n    while y: z()\nfinally: lock.release()",
        "with lock:\n    for y in x:\n        if y: z()",
        "with lock:\n    y = [z for z in x if z]",
    ],
)
def test_loops_in_blocks_are_found(source: str) -> None:
    assert loops_in_blocks(ast.parse(source)) != []


@pytest.mark.parametrize(
    "source",
    [
        "with suppress(KeyError):\n    while y: z()",
        "with lock:\n    def f():\n        while y: z()",
        "with lock:\n    for y in x: z(y)",
        "with lock:\n    y = sum(z for z in x if z)",
        "try:\n    while x: z()\nfinally: file.close()",
    ],
)
def test_loops_elsewhere_are_left(source: str) -> None:
    assert loops_in_blocks(ast.parse(source)) == []
