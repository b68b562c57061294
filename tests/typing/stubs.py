"""Writes what type checkers see of the names that are made when clarray is imported: methods and ufuncs.

``python tests/typing/stubs.py`` writes both files anew; a test compares them with what it would write.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import clarray
from clarray._api import functions, numpy_ufuncs
from clarray._api.attaching import attached, namespace_methods
from clarray._core import device_array

HEAD = "# Written by tests/typing/stubs.py from what clarray._api.attaching attaches: do not edit.\n"
IMPORTS = """\
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from clarray._api.explanation import Explanation
from clarray._core.device_array import DeviceArray
from clarray._numpy.indexing.flat_iterator import flatiter
from clarray._core.layout_flags import Flags
from clarray._engine.runtime import Device
"""
OF_TWO = """\
from typing import Any

from clarray._core.device_array import DeviceArray
from clarray._api.functions import UFunc

class _OfTwo(UFunc):
    def __call__(self, *args: Any, **kwargs: Any) -> tuple[DeviceArray, DeviceArray]: ...  # type: ignore[override]
"""
OPERATOR = re.compile(r"__[ri]?(add|sub|mul|truediv|floordiv|mod|pow|and|or|xor|lshift|rshift|matmul)__")
COMPARISON = re.compile(r"__(lt|le|gt|ge|eq|ne)__")
UNARY = re.compile(r"__(neg|pos|abs|invert)__")
TYPES = {
    **dict.fromkeys(("as_integer_ratio", "is_integer", "hex", "fromhex", "bit_count"), "Callable[..., Any]"),
    **dict.fromkeys(("numerator", "denominator"), "int"),
    "flat": "flatiter",
    "flags": "Flags",
    "data": "memoryview",
}


def declared(function: Any) -> inspect.Signature:
    """The signature of a function with the annotations of its source: what is imported has none."""
    node: Any = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body[0]
    notes = {each.arg: each.annotation for each in ast.walk(node.args) if isinstance(each, ast.arg) and each.annotation}
    signature = inspect.signature(function)
    given = signature.parameters.values()
    annotated = [p.replace(annotation=ast.unparse(notes[p.name])) if p.name in notes else p for p in given]
    return signature.replace(parameters=annotated, return_annotation=ast.unparse(node.returns))


def parameters(function: Any) -> str:
    """The parameters of a function as a method's, with every default left out."""
    found, rest = [], list(declared(function).parameters.values())
    before: Any = None
    for number, p in enumerate(rest):
        if p.kind is p.KEYWORD_ONLY and before not in (p.KEYWORD_ONLY, p.VAR_POSITIONAL):
            found.append("*")
        before = p.kind
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        kind = "" if number == 0 else f": {p.annotation}"
        found.append(("self" if number == 0 else star + p.name) + kind + ("" if p.default is p.empty else " = ..."))
        if p.kind is p.POSITIONAL_ONLY and (number + 1 == len(rest) or rest[number + 1].kind is not p.kind):
            found.append("/")
    return ", ".join(found)


def method(name: str, function: Any) -> Iterator[str]:
    if OPERATOR.fullmatch(name):
        # in place, what the other operand's type computes may be of its type
        yield f"def {name}(self, other: Any) -> {'Any' if name.startswith('__i') else 'DeviceArray'}: ..."
    elif COMPARISON.fullmatch(name):
        ignore = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
        yield f"def {name}(self, other: Any) -> DeviceArray: ...{ignore}"
    elif UNARY.fullmatch(name):
        yield f"def {name}(self) -> DeviceArray: ..."
    elif name in ("__divmod__", "__rdivmod__"):
        yield f"def {name}(self, other: Any) -> tuple[DeviceArray, DeviceArray]: ..."
    elif name == "__class_getitem__":
        yield f"def {name}(cls, item: Any, /) -> Any: ..."
    elif name == "__new__":
        given = parameters(function.__func__).replace("self", "cls", 1)
        yield f"def {name}({given}) -> Any: ..."
    else:
        yield f"def {name}({parameters(function)}) -> {declared(function).return_annotation}: ..."


def prop(name: str, found: property) -> Iterator[str]:
    yield "@property"
    yield f"def {name}(self) -> {TYPES.get(name, 'DeviceArray')}: ..."
    if found.fset is not None:
        yield f"@{name}.setter"
        yield f"def {name}(self, value: Any) -> None: ..."


def methods() -> str:
    """The methods and properties of arrays, as the class that `DeviceArray` seems to inherit."""
    lines = [HEAD + IMPORTS, "class Methods:"]
    for name, found in {**attached(), **namespace_methods(clarray)}.items():
        made = prop(name, found) if isinstance(found, property) else method(name, found)
        if name == "__class_getitem__":
            lines.append("    @classmethod")
        lines += ["    " + line for line in made]
    return "\n".join(lines) + "\n"


def ufuncs() -> str:
    """The ufuncs by name."""
    kinds = {n: "UFunc" if getattr(numpy_ufuncs, n).nout == 1 else "_OfTwo" for n in sorted(numpy_ufuncs.__all__)}
    lines = [HEAD + OF_TWO]
    lines += [f"{name}: {kind}" for name, kind in kinds.items()]
    return "\n".join([*lines, "", f"__all__ = {[*kinds]!r}".replace("'", '"')]) + "\n"


FILES = {
    Path(device_array.__file__).with_name("array_methods.pyi"): methods,
    Path(functions.__file__).with_name("numpy_ufuncs.pyi"): ufuncs,
}

if __name__ == "__main__":
    for path, make in FILES.items():
        path.write_text(make())
        print(path.relative_to(Path(clarray.__file__).parents[1]))
