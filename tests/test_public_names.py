"""Public names: NumPy's where they are functions, each documented."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest

import clarray
from clarray._api import attaching

NOT_NUMPYS = {"asnumpy", "device", "devices", "free_memory", "memory_info", "profile", "reset", "set_device"}
NOT_NUMPYS |= {"fuse", "get_array_module", "get_default_memory_pool", "show_config", "synchronize"}

FUNCTIONS = sorted(
    name for name in clarray.__all__ if not name.startswith("_") and inspect.isroutine(getattr(clarray, name))
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_numpys_and_documented(name: str) -> None:
    assert hasattr(np, name) or name in NOT_NUMPYS
    documentation = getattr(clarray, name).__doc__
    assert documentation, f"clarray.{name} has no docstring"


MODULES = [
    "",
    "fft",
    "lib",
    "lib.scimath",
    "lib.stride_tricks",
    "linalg",
    "ndimage",
    "random",
    "run",
    "special",
    "testing",
]
SUBMODULES = {"fft", "lib", "linalg", "ndimage", "random", "scimath", "special", "stride_tricks", "testing"}
OF_NUMPY = {"dtypes", "exceptions", "overrides"}


@pytest.mark.parametrize("name", MODULES)
def test_modules_export_nothing_of_their_own_imports(name: str) -> None:
    module = importlib.import_module(f"clarray.{name}".rstrip("."))
    assert len(set(module.__all__)) == len(module.__all__)
    for each in module.__all__:
        value = getattr(module, each)
        assert not each.startswith("_")
        assert not inspect.ismodule(value) or each in SUBMODULES | OF_NUMPY
        assert type(value).__module__.partition(".")[0] not in ("__future__", "typing")
        assert getattr(value, "__module__", None) not in ("typing", "collections.abc")


def test_methods_are_documented() -> None:
    methods = {
        name: value
        for name, value in vars(clarray.DeviceArray).items()
        if not name.startswith("_") and (callable(value) or isinstance(value, property))
    }
    attached = {name for name in attaching.attached() if not name.startswith("_")}
    assert attached <= methods.keys()
    assert [name for name, value in methods.items() if not value.__doc__] == []


@pytest.mark.parametrize("module", ["", "linalg", "fft"])
def test_functions_have_numpys_parameters(module: str) -> None:
    """A function that takes any keywords passes them on, and so does one whose parameters nobody can read."""
    theirs, ours = (getattr(xp, module) if module else xp for xp in (np, clarray))
    names = [
        n for n in dir(theirs) if not n.startswith("_") and inspect.isroutine(getattr(theirs, n)) and hasattr(ours, n)
    ]
    found = {n: (_parameters(getattr(theirs, n)), _parameters(getattr(ours, n))) for n in names}
    known = {"arange": {"start_or_stop"}, "einsum_path": {"einsum_call"}, "show_config": {"mode"}}
    lacking = {n: a - b - known.get(n, set()) - {"**"} for n, (a, b) in found.items() if "**" not in b}
    assert {n: missing for n, missing in lacking.items() if missing} == {}


def _parameters(function: object) -> set[str]:
    """The names of the parameters, and ``**`` if there may be others."""
    try:
        found = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    except ValueError:  # written in C, and without a signature
        return {"**"}
    named = {p.name for p in found if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    return named | {"**"} if any(p.kind is p.VAR_KEYWORD for p in found) else named
