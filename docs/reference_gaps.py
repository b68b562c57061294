"""Counts public names without a page, without described parameters, and without an example that tests run.

``python docs/reference_gaps.py`` prints the three counts, ``python docs/reference_gaps.py --names`` the names, too.
"""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any

import reference

import clarray

SEE = re.compile(r"(?:\b[Ss]ee|\bas in) `([A-Za-z_][\w.]*)`")  # where parameters are described


def without_page() -> list[str]:
    """Return the public names that no chapter lists."""
    listed = {
        f"{chapter.module}.{name}"
        for chapter in reference.all_chapters().values()
        for names in chapter.sections.values()
        for name in names
    }
    modules = ["clarray", *(f"clarray.{name}" for name in reference.chapters.MODULES)]
    public = {f"{name}.{each}" for name in modules for each in reference.public_names(reference.module_of(name))}
    return sorted(public - listed)


def functions() -> dict[str, Any]:
    """Return the objects with pages that take arguments."""
    return {name: value for name, value in reference.pages().items() if callable(value)}


def without_parameters() -> list[str]:
    """Return the functions and classes that take arguments and describe none, nor say where they are described."""
    return sorted(name for name, value in functions().items() if takes_arguments(value) and not describes(value))


def takes_arguments(value: Any) -> bool:
    if isinstance(value, type) and issubclass(value, BaseException):
        return False
    try:
        parameters = list(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return True
    return bool({*parameters} - {"self", "args", "kwargs"})


def describes(value: Any) -> bool:
    text = inspect.getdoc(value) or ""
    return any(f"\n{section}\n---" in text for section in ("Parameters", "Attributes")) or SEE.search(text) is not None


def without_example() -> list[str]:
    """Return the pages that show no call."""
    return sorted(name for name, value in reference.pages().items() if ">>> " not in (inspect.getdoc(value) or ""))


def main(arguments: list[str]) -> None:
    print(f"{len(reference.public_names(clarray))} names in clarray, {len(reference.pages())} pages of names")
    for title, names in (
        ("without a page", without_page()),
        ("without parameters", without_parameters()),
        ("without an example", without_example()),
    ):
        print(f"{len(names):5} {title}")
        if "--names" in arguments:
            print("      " + "\n      ".join(names))


if __name__ == "__main__":
    main(sys.argv[1:])
