"""Helper functions of the generated code, selected by the names that a source calls.

A helper is a Mako def ``name(t)`` in ``templates/lib/*.mako`` that writes the C function
``ca_name_T`` for a `CType`. The helpers of a source follow from its text, so there is no list of
dependencies to maintain. Definitions start with the macro ``HELPER``,
which the kernel's preamble defines.
"""

from __future__ import annotations

import re
from functools import cache

from clarray._engine.ops.ctype import CType, Dialect
from clarray._engine.ops.templates import template, templates_with

__all__ = ["helpers_in"]

_CALL = r"\bca_([a-z0-9_]+?)_((?:u?(?:char|short|int|long)|float|double))(\d*)\b"


@cache
def _definition(name: str, ctype: CType, dialect: Dialect) -> str:
    for path in templates_with(name):
        library = template(path)
        if library.has_def(name):
            return str(library.get_def(name).render(t=ctype, dialect=dialect)).strip() + "\n"
    raise KeyError(f"no template in templates/lib defines the helper {name!r}")


def helpers_in(source: str, dialect: Dialect) -> list[tuple[str, str]]:
    """Return the helper functions that ``source`` calls, directly or not, in the order of definition.

    Returns
    -------
    list of (str, str)
        The function's name and its definition.
    """
    definitions: dict[str, str] = {}

    def visit(text: str, caller: str) -> None:
        for match in re.finditer(_CALL, text):
            key = match.group(0)
            if key != caller and key not in definitions:
                name, scalar, width = match.groups()
                body = _definition(name, CType(scalar, int(width or 1)), dialect)
                visit(body, key)
                definitions[key] = body

    visit(source, "")
    return list(definitions.items())
