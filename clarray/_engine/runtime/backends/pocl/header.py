"""Replace PoCL's header by the declarations that a source needs.

PoCL declares every built-in function in every program. The header has 980 KB, and takes six sevenths of the build time
of a small program. Defining the header's guard leaves it out, and the declarations of the names that a source
uses are put before the source.

PoCL splits loads and stores of vectors into halves, down to elements, and the compiler has to merge them again. That
is a third of the time for the machine code. The definitions here are one access.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pyopencl as cl

_GUARD = "-D_OPENCL_H_"
_NAME = r"[A-Za-z_]\w+"
_LOAD = r"\w+ __ovld __purefn vload(2|4|8|16)\(size_t offset, const (__\w+ )?(\w+) \*p\);"
_STORE = r"void __ovld vstore(2|4|8|16)\(\w+ data, size_t offset, (__\w+ )?(\w+) \*p\);"
_UNALIGNED = "typedef {scalar} v __attribute__((ext_vector_type({n}), aligned(sizeof({scalar}))));"
_LOADS = (
    "{attribute} __access {scalar}{n} vload{n}(size_t i, const {space}{scalar} *p) "
    f"{{{{ {_UNALIGNED} return *(const {{space}}v *)(p + {{n}} * i); }}}}"
)
_STORES = (
    "{attribute} __access void vstore{n}({scalar}{n} x, size_t i, {space}{scalar} *p) "
    f"{{{{ {_UNALIGNED} *({{space}}v *)(p + {{n}} * i) = x; }}}}"
)
_FRAME = """\
#include "{folder}/opencl-c-base.h"
#include "{folder}/_enable_all_exts.h"
#define __ovld __attribute__((overloadable))
#define __conv __attribute__((convergent))
#define __purefn __attribute__((pure))
#define __cnfn __attribute__((const))
#define __access static inline __attribute__((overloadable, always_inline))
{declarations}
#undef __ovld
#undef __conv
#undef __purefn
#undef __cnfn
#undef __access
#pragma OPENCL EXTENSION all : disable
#line 1
"""


class _Declaration(NamedTuple):
    """A line of the header, the #if directives around it, and the words that a source needs to use it."""

    text: str
    directives: str
    words: frozenset[str] = frozenset()


def with_declarations(source: str, attribute: str, wheel: bool) -> tuple[str, list[str]] | None:
    """Return a source with the declarations that it needs, and the option that leaves the header out.

    The result is None if the header does not exist. A name that only a macro composes is not found. If such a
    source does not compile, compile the original source.

    Parameters
    ----------
    source : str
        OpenCL C.
    attribute : str
        The text before every function.
    wheel : bool
        Whether the PoCL is the wheel's, and not the system's.
    """
    folder = _folder(wheel)
    if folder is None:
        return None
    declarations = _declarations(folder)
    words = set(re.findall(_NAME, source))
    grouped: dict[str, list[str]] = {}
    for name in sorted(words & declarations.keys()):
        for declaration in declarations[name]:
            if declaration.words <= words:
                grouped.setdefault(declaration.directives, []).append(
                    declaration.text.replace("{attribute}", attribute)
                )
    lines = []
    for directives, texts in grouped.items():
        lines += [directives, *texts, *["#endif"] * directives.count("#if")]
    return _FRAME.format(folder=folder, declarations="\n".join(lines)) + source, [_GUARD]


@cache
def _folder(wheel: bool) -> Path | None:
    """Return the folder of the headers of the wheel, or of the system's or conda's PoCL, or None."""
    prefixes = [Path(cl.__file__).parents[1] / "pocl_binary_distribution/.libs"]
    if not wheel:
        prefixes = [Path(sys.prefix), Path("/usr/local"), Path("/usr")]
    folders = [prefix / "share/pocl/include" for prefix in prefixes]
    return next((folder for folder in folders if (folder / "opencl-c.h").is_file()), None)


@cache
def _declarations(folder: Path) -> dict[str, list[_Declaration]]:
    """Return the header's declarations by name."""
    declarations: dict[str, list[_Declaration]] = {}
    directives: list[str] = []  # a text for each open #if, with its #else
    text = (folder / "opencl-c.h").read_text().replace("\\\n", " ")
    for line in text.splitlines()[1:]:
        if line.startswith("#if"):
            directives.append(line)
        elif line.startswith("#el"):
            directives[-1] += f"\n{line}"
        elif line.startswith("#endif"):
            directives.pop()
        elif line.endswith(";"):
            name = line.partition("(")[0].rpartition(" ")[2]
            declaration = _declaration(line, "\n".join(directives[1:]))  # without the guard
            declarations.setdefault(name, []).append(declaration)
    return declarations


def _declaration(line: str, directives: str) -> _Declaration:
    """Return a declaration, or for a load or store of vectors the definition that replaces it."""
    for pattern, text in ((_LOAD, _LOADS), (_STORE, _STORES)):
        match = re.fullmatch(pattern, line)
        if match:
            n, space, scalar = match.groups(default="")
            definition = text.format(attribute="{attribute}", n=n, space=space, scalar=scalar)
            return _Declaration(definition, directives, frozenset({scalar}))
    return _Declaration(line, directives)
