"""The Mako templates, compiled on first use, with their bytecode in a store on disk.

Mako compiles a template in 5 to 20 ms, ten times as long as loading its bytecode takes. The kernels of a small program
take half a second in every process. The key of a stored template has its text, its name, and the versions of Mako and
of the bytecode, so that changes of these need no invalidation.
"""

from __future__ import annotations

import hashlib
import marshal
import posixpath
import re
from functools import cache
from importlib.machinery import ModuleSpec
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
    """Bytes shared by processes; damaged entries count as absent."""

    def load(self, key: str) -> bytes | None: ...

    def store(self, key: str, payload: bytes) -> None: ...


def _mako_template_module() -> Any:
    """Import Mako's module on first use: the import takes a fifth of the time of importing clarray."""
    return import_whole("mako.template")


@cache
def _directory() -> Path:
    """Return the folder of the templates, without `importlib.resources`, which takes longer to import."""
    spec = find_spec("clarray.templates")
    if spec is None or not spec.submodule_search_locations:  # not installed: in a checkout they are next to the package
        return Path(__file__).resolve().parents[3] / "templates"
    return Path(spec.submodule_search_locations[0])


class _Templates:
    """Mako's template lookup by paths below the folder.

    It replaces `mako.lookup.TemplateLookup`, which checks on each access whether the file has changed.
    """

    def __init__(self) -> None:
        self.store: Store | None = None
        self._templates: dict[str, Template] = {}

    def adjust_uri(self, uri: str, relative_to: str) -> str:
        """Return the path of a template that another one includes: relative to it, or absolute with a leading slash."""
        return posixpath.join(posixpath.dirname(f"/{relative_to}"), uri).lstrip("/")

    def get_template(self, name: str) -> Template:
        """Return the template at a path."""
        cached = self._templates.get(name)
        return cached if cached is not None else self._templates.setdefault(name, self._make(name))

    def _make(self, name: str) -> Template:
        text = (_directory() / name).read_text(encoding="utf-8")
        if self.store is None:
            return self._compile(name, text)
        key = _key(name, text)
        payload = self.store.load(key)
        compiled = self._load(name, text, payload) if payload is not None else None
        if compiled is None:
            compiled = self._compile(name, text)
            source = compiled.code
            code = compile(source, _module_name(name), "exec", optimize=0)  # the key does not depend on -O
            self.store.store(key, marshal.dumps((source, code)))
        return compiled

    def _compile(self, name: str, text: str) -> Template:
        compiled: Template = _mako_template_module().Template(text, uri=name, lookup=self, strict_undefined=True)
        return compiled

    def _load(self, name: str, text: str, payload: bytes) -> Template | None:
        """Return the template of a stored payload; None if the payload is damaged or of another template."""
        try:
            source, code = marshal.loads(payload)
        except (EOFError, TypeError, ValueError):
            return None
        if not isinstance(source, str) or not isinstance(code, CodeType) or code.co_filename != _module_name(name):
            return None
        module: Any = ModuleType(_module_name(name))
        loader: Any = _SourceLoader(source)
        module.__loader__ = loader
        module.__spec__ = ModuleSpec(module.__name__, loader)
        exec(code, module.__dict__)
        loaded: Template = _mako_template_module().ModuleTemplate(
            module, module_source=source, template_source=text, lookup=self
        )
        return loaded


class _SourceLoader:
    """The loader of a stored template's module: tracebacks ask it for the source, and Python 3.15 warns without one."""

    def __init__(self, source: str) -> None:
        self._source = source

    def get_source(self, fullname: str) -> str:
        """Return the source of the module."""
        return self._source


def _module_name(name: str) -> str:
    return re.sub(r"\W", "_", name)  # Mako's own name, by which an error finds the template's line


def _key(name: str, text: str) -> str:
    parts = ("template 2", mako.__version__, MAGIC_NUMBER.hex(), name, text)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


_templates = _Templates()


def keep_templates_in(store: Store) -> None:
    """Set the store for the bytecode of templates that are compiled from now on."""
    _templates.store = store


def template(name: str) -> Template:
    """Return the template ``<name>.mako``."""
    return _templates.get_template(f"{name}.mako")


def templates_with(definition: str) -> list[str]:
    """Return the names of the templates in ``lib`` with a def of this name, without compiling them."""
    return _definitions().get(definition, [])


@cache
def _definitions() -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for path in sorted((_directory() / "lib").glob("*.mako")):
        for name in dict.fromkeys(re.findall(_DEF, path.read_text(encoding="utf-8"))):
            names.setdefault(name, []).append(f"lib/{path.stem}")
    return names
