"""Docstrings: every public function names its parameters or says where they are, and the examples run."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import operator
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import pytest

import clarray
from clarray._api.functions import UFunc
from clarray._engine.runtime import current_device

MODULES = ("", "fft", "lib", "lib.scimath", "lib.stride_tricks", "linalg", "ndimage", "random", "special", "testing")
SECTIONS = {"Parameters", "Returns", "Yields", "Raises", "Warns", "See Also", "Notes", "References", "Examples"}
# "see `clarray.sum`", "parameters as in `empty`": where parameters, result and errors are described
VARIADIC = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
POINTER = re.compile(r"(?:\b[Ss]ee|\bas in) `([A-Za-z_][\w.]*)`")


def module_of(name: str) -> ModuleType:
    return importlib.import_module(f"clarray.{name}" if name else "clarray")


def names_of(owner: Any) -> list[str]:
    listed = getattr(owner, "__all__", None) or (vars(owner) if inspect.ismodule(owner) else dir(owner))
    return sorted(name for name in listed if not name.startswith("_"))


def members(owner: Any, name: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Functions, and classes with their methods, of a module or a class: those that clarray has written."""
    for key in names_of(owner):
        value = getattr(owner, key)
        value = getattr(value, "__func__", value)  # of a method that is bound
        if not str(getattr(value, "__module__", "")).startswith("clarray"):
            continue
        if inspect.isroutine(value) or (inspect.isclass(value) and inspect.ismodule(owner)):
            yield f"{name}.{key}", value


@cache
def functions() -> dict[str, Callable[..., Any]]:
    """Every public function, method and class, once, by the first name it has."""
    found: dict[int, tuple[str, Callable[..., Any]]] = {}
    for module in MODULES:
        for name, value in members(module_of(module), f"clarray.{module}".rstrip(".")):
            found.setdefault(id(value), (name, value))
    for name, value in list(found.values()):
        for method, attached in members(value, name) if inspect.isclass(value) else ():
            found.setdefault(id(attached), (method, attached))
    return dict(sorted(found.values(), key=lambda pair: pair[0]))


def sections(text: str) -> dict[str, list[str]]:
    """Give the lines of each section of a docstring, the first under the name ''."""
    found: dict[str, list[str]] = {"": []}
    name = ""
    lines = inspect.cleandoc(text).splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line in SECTIONS and following == "-" * len(line):
            name = line
            assert name not in found, f"{name} twice"
            found[name] = []
        elif line != "-" * len(name) or not name:
            found[name].append(line)
    return found


def entries(lines: list[str]) -> list[str]:
    """Give the names that a section of parameters describes: two in ``a, v : array_like``."""
    heads = [line.partition(" : ")[0] for line in lines if line and not line.startswith(" ")]
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Give what a caller passes: `self` is not among it, nor is what begins with an underscore."""
    if inspect.isclass(function) and "__init__" not in vars(function) and "__new__" not in vars(function):
        return []
    found = list(inspect.signature(function).parameters.values())
    return [p for p in found if p.name != "self" and not p.name.startswith("_")]


def raises(function: Callable[..., Any]) -> bool:
    """Tell whether the function raises: in its own body, or in a private function that it calls by name."""
    called = (node.func for node in nodes_of(function) if isinstance(node, ast.Call))
    names = {name.id for name in called if isinstance(name, ast.Name) and name.id.startswith("_")}
    helpers = [function.__globals__.get(name) for name in names]
    return any(
        isinstance(node, ast.Raise) and node.exc is not None
        for one in (function, *filter(inspect.isfunction, helpers))
        for node in nodes_of(one)
    )


def nodes_of(function: Callable[..., Any]) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function))))


def returns_nothing(function: Callable[..., Any]) -> bool:
    """Tell whether the source says that the function returns None."""
    definition = next(node for node in nodes_of(function) if isinstance(node, ast.FunctionDef))
    return definition.returns is not None and ast.unparse(definition.returns) == "None"


def homes(function: Callable[..., Any], public: str) -> Iterator[Any]:
    """Where the name that a docstring points to may be: its class or public module, its file, the package."""
    parent = public.rpartition(".")[0]
    yield functions().get(parent) or importlib.import_module(parent)
    yield importlib.import_module(function.__module__)
    yield clarray


def resolved(pointer: str, function: Callable[..., Any], public: str) -> Any:
    """Give what a pointer names, None where that is nothing."""
    first, *rest = pointer.split(".")
    if first not in ("clarray", "numpy", "scipy"):
        get = operator.attrgetter(pointer)
        return next((get(home) for home in homes(function, public) if holds(home, pointer)), None)
    value: Any = pytest.importorskip(first)
    for number, part in enumerate(rest, 1):
        if not hasattr(value, part):
            if not inspect.ismodule(value) or number == len(rest):
                return None
            importlib.import_module(f"{value.__name__}.{part}")
        value = getattr(value, part)
    return value


def holds(home: Any, name: str) -> bool:
    try:
        return callable(operator.attrgetter(name)(home))
    except AttributeError:
        return False


def pointers_of(text: str) -> list[str]:
    """Give what a docstring points to for parameters, before "See Also" and what follows."""
    return POINTER.findall(re.split(r"\n(?:See Also|Examples)\n-", text)[0])


def names_there(target: Any, public: str, seen: tuple[Any, ...] = ()) -> set[str]:
    """Give the names of the parameters that the target of a pointer describes, or what it points to in turn."""
    text = inspect.getdoc(target) or ""
    if not str(getattr(target, "__module__", "")).startswith("clarray"):
        try:
            return {p.name for p in parameters(target)}
        except ValueError:  # written in C, and without a signature
            return set(re.findall(r"\w+", text.partition(")")[0]))
    named = set(entries(sections(text).get("Parameters", [])))
    for pointer in pointers_of(text):
        further = resolved(pointer, target, public)
        if further is not None and further not in seen:
            named |= names_there(further, public, (*seen, target))
    return named


def misnamed(described: list[str], taken: list[inspect.Parameter]) -> bool:
    """Tell whether a section names other parameters than there are, or in another order."""
    plain = [p.name for p in taken if p.kind not in VARIADIC]
    if len(plain) == len(taken):
        return described != plain
    return [name for name in described if name in plain] != plain  # and what may be among `**kwargs`


def complaints(name: str, function: Callable[..., Any]) -> list[str]:
    """Say what the docstring lacks."""
    text = inspect.getdoc(function)
    if not text:
        return ["no docstring"]
    found = sections(text)
    taken = parameters(function)
    described = entries(found.get("Parameters", []))
    if ".DeviceArray." in name and taken and taken[0].name not in described:
        del taken[0]  # the array itself
    targets = {pointer: resolved(pointer, function, name) for pointer in pointers_of(text)}
    lost = [f"`{pointer}` is nothing" for pointer, target in targets.items() if target is None]
    if lost:
        return lost
    if targets and (not described or misnamed(described, taken)):
        return incomplete(described, taken, set().union(*(names_there(one, name) for one in targets.values())))
    if not described and len(taken) < 2:
        return []
    wrong = []
    if misnamed(described, taken):
        wrong.append(f"Parameters are {described}, not {[p.name for p in taken]}")
    return wrong + (unsaid(function, found) if len(taken) > 1 and not inspect.isclass(function) else [])


def incomplete(described: list[str], taken: list[inspect.Parameter], elsewhere: set[str]) -> list[str]:
    """Say what neither the docstring describes nor the one that it points to."""
    names = [p.name for p in taken if p.kind not in VARIADIC]
    wrong = []
    if len(names) == len(taken) and [n for n in names if n in described] != described:
        wrong.append(f"Parameters are {described}, of {names}")
    missing = [n for n in names if n not in described and n not in elsewhere]
    if missing and len(names) > 1:
        wrong.append(f"{missing} are described neither here nor there")
    return wrong


def unsaid(function: Callable[..., Any], found: dict[str, list[str]]) -> list[str]:
    """Say which sections besides Parameters are missing."""
    returns = returns_nothing(function) or found.keys() & {"Returns", "Yields"}
    raised = "Raises" in found or not raises(function)
    return ["no Returns"] * (not returns) + ["no Raises"] * (not raised)


@pytest.mark.parametrize("name", functions())
def test_parameters_are_documented(name: str) -> None:
    assert complaints(name, functions()[name]) == []


HEAD = "Add.\n\nParameters\n----------\n"
WHOLE = HEAD + "a : int\nb : int\n\nReturns\n-------\nint\n\n"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (None, ["no docstring"]),
        ("Add.", ["Parameters are [], not ['a', 'b']", "no Returns", "no Raises"]),
        (HEAD + "b, a : int", ["Parameters are ['b', 'a'], not ['a', 'b']", "no Returns", "no Raises"]),
        (WHOLE, ["no Raises"]),
        (WHOLE + "Raises\n------\nValueError", []),
        ("Add; see `clarray.summ`.", ["`clarray.summ` is nothing"]),
        ("Add; see `clarray.take`.", ["['b'] are described neither here nor there"]),
        ("Add; see `clarray.array_equal`.\n\nParameters\n----------\na, b : int", ["no Returns", "no Raises"]),
        ("Add; see `clarray.isclose`.", []),
    ],
)
def test_what_a_docstring_lacks_is_found(text: str | None, wrong: list[str]) -> None:
    def add(a: int, b: int) -> int:
        return _refuse(a) + b

    add.__doc__ = text
    assert complaints("clarray.add", add) == wrong


def _refuse(a: int) -> int:
    raise ValueError(a)


def ufuncs() -> dict[str, UFunc]:
    """Return every public ufunc, once, by its own name."""
    values = (getattr(clarray, name) for name in clarray.__all__)
    return {value.__name__: value for value in values if isinstance(value, UFunc)}


@pytest.mark.parametrize("name", ufuncs())
def test_ufuncs_are_documented(name: str) -> None:
    ufunc = ufuncs()[name]
    found = sections(ufunc.__doc__ or "")
    assert found.keys() >= {"Parameters", "Returns", "Raises", "Examples"}
    operands = ["x"] if ufunc.nin == 1 else ["x1", "x2"]
    assert entries(found["Parameters"])[: ufunc.nin + 1] == [*operands, "out"]
    related = [each.strip() for each in " ".join(found.get("See Also", [])).split(",") if each.strip()]
    assert [each for each in related if not holds(clarray, each)] == []


def chapters() -> Iterator[ModuleType]:
    """Every module of the package that is no program, stands for no other library, and needs none that is missing."""
    yield clarray
    for found in pkgutil.walk_packages(clarray.__path__, "clarray."):
        extra = found.name.startswith("clarray.dask") and find_spec("distributed") is None
        if not extra and found.name not in ("clarray.__main__", "clarray.einops_backend", "clarray.dask.__main__"):
            yield importlib.import_module(found.name)


def objects_of(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Give the public objects of a module that clarray has written."""
    for name in names_of(module):
        value = getattr(module, name)
        if str(getattr(value, "__module__", "")).startswith("clarray"):
            yield name, value


@cache
def examples() -> dict[str, doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = []
    for module in chapters():  # what is not public is called by its own name
        own = None if module.__name__.startswith("clarray._engine.") else {}
        found += finder.find(module, globs=own)
    # the finder leaves out objects, such as ufuncs, and what is public in another module than the one it is written in
    seen = {test.docstring for test in found}
    public = {**functions(), **{f"clarray.{name}": value for name, value in objects_of(clarray)}}
    if find_spec("distributed") is not None:
        public |= {f"clarray.dask.{name}": value for name, value in objects_of(importlib.import_module("clarray.dask"))}
    names = {value.__doc__: name for name, value in public.items() if value.__doc__}  # of several names one
    parser = doctest.DocTestParser()
    found += [parser.get_doctest(text, {}, name, None, None) for text, name in names.items() if text not in seen]
    once = {test.docstring: test for test in found if test.examples}  # methods and functions share docstrings
    return {test.name: test for test in once.values()}


def test_everything_public_has_an_example() -> None:
    attributes = {name: inspect.getattr_static(clarray.DeviceArray, name) for name in names_of(clarray.DeviceArray)}
    properties = {f"clarray.DeviceArray.{n}": p for n, p in attributes.items() if isinstance(p, property)}
    assert len(properties) > 20
    public = {**functions(), **properties, "clarray.DeviceArray": clarray.DeviceArray}
    assert [n for n, value in public.items() if ">>> " not in (inspect.getdoc(value) or "")] == []


@pytest.mark.skipif(
    not current_device().capabilities.fp64, reason="the examples use Python's floats, and the device has no float64"
)
@pytest.mark.parametrize("name", examples())
def test_examples_run(name: str) -> None:
    report: list[str] = []
    found = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples()[name], out=report.append)
    assert found.failed == 0, "".join(report)
