"""The Mako templates, compiled when first used and kept as Python's code where a store is given.

Mako takes 5 to 20 ms for a template, ten times what its code takes to load: half a second for the kernels of a small
program, in every process. A stored template is found by its text, its name, and the versions of Mako and of Python's
code, so nothing has to be dropped when one of them changes.
"""

from __future__ import annotations

import hashlib
import marshal
import posixpath
import re
from functools import cache
from importlib.util import MAGIC_NUMBER, find_spec
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import mako

from clarray._engine.threads import import_whole

if TYPE_CHECKING:
    from mako.template import Template

__all__ = ["Store", "keep_templates_in", "template", "templates_with"]

_DEF = r'<%def name="(\w+)\('


class Store(Protocol):
    """Bytes kept between processes; what is damaged counts as absent."""

    def load(self, key: str) -> bytes | None: ...

    def store(self, key: str, payload: bytes) -> None: ...


def _makos_templates() -> Any:
    """Mako's module, when the first template is used: it imports for a fifth of the time that clarray takes for it."""
    return import_whole("mako.template")


@cache
def _directory() -> Path:
    """Where the templates are; `importlib.resources` would say it too, and takes longer to import."""
    found = find_spec("clarray.templates")
    if found is None or not found.submodule_search_locations:  # not installed: a checkout keeps them beside the package
        return Path(__file__).resolve().parents[3] / "templates"
    return Path(found.submodule_search_locations[0])


class _Templates:
    """The templates by their paths below the folder, as Mako asks for them.

    In place of `mako.lookup.TemplateLookup`, which looks each time whether the file has changed.
    """

    def __init__(self) -> None:
        self.store: Store | None = None
        self._made: dict[str, Template] = {}

    def adjust_uri(self, uri: str, named_by: str) -> str:
        """The path of a template that another one names: beside it, or with a slash from the folder on."""
        return posixpath.join(posixpath.dirname(f"/{named_by}"), uri).lstrip("/")

    def get_template(self, name: str) -> Template:
        """The template of a path."""
        found = self._made.get(name)
        return found if found is not None else self._made.setdefault(name, self._make(name))

    def _make(self, name: str) -> Template:
        text = (_directory() / name).read_text(encoding="utf-8")
        if self.store is None:
            return self._compiled(name, text)
        key = _key(name, text)
        payload = self.store.load(key)
        found = self._loaded(name, text, payload) if payload is not None else None
        if found is None:
            found = self._compiled(name, text)
            source = found.code
            code = compile(source, _module_name(name), "exec", optimize=0)  # the key does not tell -O
            self.store.store(key, marshal.dumps((source, code)))
        return found

    def _compiled(self, name: str, text: str) -> Template:
        found: Template = _makos_templates().Template(text, uri=name, lookup=self, strict_undefined=True)
        return found

    def _loaded(self, name: str, text: str, payload: bytes) -> Template | None:
        """Give the template of a stored payload; None if it is something else, another template for one."""
        try:
            source, code = marshal.loads(payload)
        except (EOFError, TypeError, ValueError):
            return None
        if not isinstance(source, str) or not isinstance(code, CodeType) or code.co_filename != _module_name(name):
            return None
        module: Any = ModuleType(_module_name(name))
        exec(code, module.__dict__)
        found: Template = _makos_templates().ModuleTemplate(
            module, module_source=source, template_source=text, lookup=self
        )
        return found


def _module_name(name: str) -> str:
    return re.sub(r"\W", "_", name)  # Mako's: by it an error in the template finds its line


def _key(name: str, text: str) -> str:
    parts = ("template 2", mako.__version__, MAGIC_NUMBER.hex(), name, text)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


_templates = _Templates()


def keep_templates_in(store: Store) -> None:
    """Keep what Mako makes of the templates that are used from now on."""
    _templates.store = store


def template(name: str) -> Template:
    """The template ``<name>.mako``."""
    return _templates.get_template(f"{name}.mako")


def templates_with(definition: str) -> list[str]:
    """The names of the templates in ``lib`` that have a def of this name; none is compiled for it."""
    return _definitions().get(definition, [])


@cache
def _definitions() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in sorted((_directory() / "lib").glob("*.mako")):
        for name in dict.fromkeys(re.findall(_DEF, path.read_text(encoding="utf-8"))):
            found.setdefault(name, []).append(f"lib/{path.stem}")
    return found
