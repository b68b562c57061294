"""Strict rendering of the kernel templates, and the preamble of every source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from clarray._engine.codegen.arguments import Fields
from clarray._engine.ops.ctype import Dialect
from clarray._engine.ops.helpers import helpers_in
from clarray._engine.ops.snippets import functions_in
from clarray._engine.ops.templates import template
from clarray._engine.threads import import_whole

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


class Source(NamedTuple):
    """A kernel's name and text, the types of its arguments in order, and their names if launches fill them by name."""

    name: str
    text: str
    arg_types: tuple[str, ...]
    fields: Fields | None = None

    @classmethod
    def of(cls, name: str, text: str, fields: Fields) -> Source:
        """Return the source of a kernel with these fields as its arguments."""
        return cls(name, text, fields.kinds, fields)


def make_dialect(capabilities: Capabilities, width: int) -> Dialect:
    """Return the dialect of a device's compiler at a vector width."""
    return Dialect(
        width=width,
        clang=capabilities.clang_builtins,
        fp64=capabilities.fp64,
        fp16=capabilities.fp16,
        fma=capabilities.fma,
    )


def render(name: str, /, **context: Any) -> str:
    """Render ``<name>.mako``.

    Raises
    ------
    RuntimeError
        The template uses an undefined name. The message has the template's line and the names of the arguments.
    """
    try:
        text = template(name).render(**context)
    except Exception as error:
        if interrupt := _interrupt_within(error):
            raise interrupt from None
        where = import_whole("mako.exceptions").text_error_template().render()
        raise RuntimeError(f"template {name!r} failed ({error}); it was given {sorted(context)}\n{where}") from error
    return "\n".join(line for line in text.splitlines() if line.strip()) + "\n"


def _interrupt_within(error: BaseException | None) -> BaseException | None:
    """Return the interrupt that caused an error, as the cleanup in compiled templates fails after an interrupt."""
    while error is not None and isinstance(error, Exception):
        error = error.__context__
    return error


def source(body: str, dialect: Dialect, attribute: str) -> str:
    """Return the source of `body` with the preamble, the user's functions and the helpers that it calls."""
    users = functions_in(body, dialect)
    if users:
        body = users + body
    helpers = "\n".join(text for _, text in helpers_in(body, dialect))
    fp64 = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" if dialect.fp64 else ""
    text = (
        f"{fp64}#pragma OPENCL FP_CONTRACT OFF\n"
        f"#define MULTIPLY_ADD {dialect.multiply_add}\n"
        f"#define ATTR {attribute}\n"
        "#define HELPER ATTR static inline\n"
        "#define INLINE HELPER __attribute__((always_inline))\n"
        f"{helpers}\n{body}"
    )
    return _numbered(text) if users else text


def _numbered(text: str) -> str:
    """Replace each ``#line @`` so that compilers number clarray's own lines from the start of the text."""
    return "\n".join(
        f'#line {number + 1} "clarray"' if line == "#line @" else line
        for number, line in enumerate(text.split("\n"), 1)
    )
