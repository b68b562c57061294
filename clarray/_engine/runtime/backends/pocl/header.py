"""Replace PoCL's header by the declarations that a source needs.

PoCL 3.0 declares every built-in function to every program: 980 KB, which take six sevenths of the time that
a small program's build takes. The header's own guard leaves it out, and the declarations of the
names that a source uses are put before it.

PoCL's loads and stores of vectors are made of halves, and those of halves, down to elements, which
the compiler must put together again: a third of the time that machine code takes. They are one access here.
"""

from __future__ import annotations

import re
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


class _Declared(NamedTuple):
    """A line of the header, the directives it stands under, and words without which no source uses it."""

    text: str
    under: str
    words: frozenset[str] = frozenset()


def with_declarations(source: str, attribute: str) -> tuple[str, list[str]] | None:
    """Give a source with what it needs of the header before it, and the option that leaves the header out.

    None where the wheel's header is not found. A name that only a macro puts together is not seen: where
    such a source does not compile, it must be compiled as it is.

    Parameters
    ----------
    source : str
        OpenCL C.
    attribute : str
        What must stand before every function.
    """
    folder = _folder()
    if folder is None:
        return None
    known = _declarations(folder)
    words = set(re.findall(_NAME, source))
    grouped: dict[str, list[str]] = {}
    for name in sorted(words & known.keys()):
        for declared in known[name]:
            if declared.words <= words:
                grouped.setdefault(declared.under, []).append(declared.text.replace("{attribute}", attribute))
    lines = []
    for under, texts in grouped.items():
        lines += [under, *texts, *["#endif"] * under.count("#if")]
    return _FRAME.format(folder=folder, declarations="\n".join(lines)) + source, [_GUARD]


@cache
def _folder() -> Path | None:
    """Return the folder of the wheel's headers, or None."""
    folder = Path(cl.__file__).parents[1] / "pocl_binary_distribution/.libs/share/pocl/include"
    return folder if (folder / "opencl-c.h").is_file() else None


@cache
def _declarations(folder: Path) -> dict[str, list[_Declared]]:
    """Give the header's declarations by name."""
    found: dict[str, list[_Declared]] = {}
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
            found.setdefault(name, []).append(_declared(line, "\n".join(under[1:])))  # but for the guard
    return found


def _declared(line: str, under: str) -> _Declared:
    """Give a declaration as it is, or the definition of a vector's load or store in its place."""
    for pattern, text in ((_LOAD, _LOADS), (_STORE, _STORES)):
        found = re.fullmatch(pattern, line)
        if found:
            n, space, scalar = found.groups(default="")
            definition = text.format(attribute="{attribute}", n=n, space=space, scalar=scalar)
            return _Declared(definition, under, frozenset({scalar}))
    return _Declared(line, under)
