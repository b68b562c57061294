"""Helper functions of the generated code, found by the names a source calls.

A helper is a Mako def ``name(t)`` in ``templates/lib/*.mako`` that writes the C function
``ca_name_T`` for a `CType`. Which helpers a source needs is read from its text, so no list of
dependencies can fall out of step with the code. Definitions start with the macro ``HELPER``,
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
        found = template(path)
        if found.has_def(name):
            return str(found.get_def(name).render(t=ctype, dialect=dialect)).strip() + "\n"
    raise KeyError(f"no template in templates/lib defines the helper {name!r}")


def helpers_in(source: str, dialect: Dialect) -> list[tuple[str, str]]:
    """The helper functions that ``source`` calls, directly or not, in the order to define them.

    Returns
    -------
    list of (str, str)
        The function's name and its definition.
    """
    found: dict[str, str] = {}

    def visit(text: str, own: str) -> None:
        for match in re.finditer(_CALL, text):
            key = match.group(0)
            if key != own and key not in found:
                name, scalar, width = match.groups()
                body = _definition(name, CType(scalar, int(width or 1)), dialect)
                visit(body, key)
                found[key] = body

    visit(source, "")
    return list(found.items())
