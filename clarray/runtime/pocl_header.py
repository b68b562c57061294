"""The declarations that a source needs of PoCL's header, in place of the header.

PoCL 3.0 declares every built-in function to every program: 980 KB, which take six sevenths of the time that
a small program's build takes. The header's own guard leaves it out, and the declarations of the
names that a source uses are put before it.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pyopencl as cl

_GUARD = "-D_OPENCL_H_"
_NAME = re.compile(r"[a-z]\w+")
_FRAME = """\
#include "{folder}/opencl-c-base.h"
#include "{folder}/_enable_all_exts.h"
#define __ovld __attribute__((overloadable))
#define __conv __attribute__((convergent))
#define __purefn __attribute__((pure))
#define __cnfn __attribute__((const))
{declarations}
#undef __ovld
#undef __conv
#undef __purefn
#undef __cnfn
#pragma OPENCL EXTENSION all : disable
#line 1
"""


def with_declarations(source: str) -> tuple[str, list[str]] | None:
    """Give a source with what it needs of the header before it, and the option that leaves the header out.

    None where the wheel's header is not found. A name that only a macro puts together is not seen: where
    such a source does not compile, it must be compiled as it is.
    """
    folder = _folder()
    if folder is None:
        return None
    known = _declarations(folder)
    grouped: dict[str, list[str]] = {}
    for name in sorted(set(_NAME.findall(source)) & known.keys()):
        for condition, line in known[name]:
            grouped.setdefault(condition, []).append(line)
    lines = []
    for condition, declared in grouped.items():
        lines += [condition, *declared, *["#endif"] * condition.count("#if")]
    return _FRAME.format(folder=folder, declarations="\n".join(lines)) + source, [_GUARD]


@cache
def _folder() -> Path | None:
    """Where the wheel keeps its headers."""
    folder = Path(cl.__file__).parents[1] / "pocl_binary_distribution/.libs/share/pocl/include"
    return folder if (folder / "opencl-c.h").is_file() else None


@cache
def _declarations(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Give the declarations by name, each with the directives it stands under."""
    found: dict[str, list[tuple[str, str]]] = {}
    under: list[str] = []  # one text for each #if, with its #else
    text = (folder / "opencl-c.h").read_text().replace("\\\n", " ")
    for line in text.splitlines()[1:]:
        if line.startswith("#if"):
            under.append(line)
        elif line.startswith("#el"):
            under[-1] += f"\n{line}"
        elif line.startswith("#endif"):
            under.pop()
        elif line.endswith(";"):
            name = line.partition("(")[0].rpartition(" ")[2]
            found.setdefault(name, []).append(("\n".join(under[1:]), line))  # but for the guard
    return found
