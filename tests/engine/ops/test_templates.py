"""Templates that were compiled once: by this process, or by one before it that had the same of everything."""

from __future__ import annotations

import linecache
import marshal
import traceback
from pathlib import Path
from typing import Any

import pytest

from clarray._engine.ops import templates
from clarray._engine.ops.ctype import CType, Dialect
from clarray._engine.runtime.cache import DiskCache

NAME = "lib/trigonometric.mako"  # it names another one, lib/lanes.mako
SCALAR = Dialect(1, True, True, True)


class Kept(dict[str, bytes]):
    """A store in memory."""

    load = dict.get
    store = dict.__setitem__


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the templates that Mako compiles."""
    names: list[str] = []
    really = templates._Templates._compile

    def compile_(self: Any, name: str, text: str) -> Any:
        names.append(name)
        return really(self, name, text)

    monkeypatch.setattr(templates._Templates, "_compile", compile_)
    return names


def text(store: Any) -> str:
    """A helper as a process renders it that finds such a store."""
    lookup = templates._Templates()
    lookup.store = store
    found = lookup.get_template(NAME)
    return str(found.get_def("sin").render(t=CType("float", 1), dialect=SCALAR))


def test_a_second_process_compiles_nothing(compiled: list[str]) -> None:
    store = Kept()
    first = text(store)
    assert NAME in compiled
    assert len(compiled) == len(store) == len(set(compiled))
    compiled.clear()
    assert text(store) == first
    assert compiled == []
    assert text(None) == first


@pytest.mark.parametrize("changed", ["mako", "python", "text"])
def test_what_they_depend_on(
    changed: str, compiled: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store = Kept()
    first = text(store)
    count = len(compiled)
    compiled.clear()
    if changed == "mako":
        monkeypatch.setattr("mako.__version__", "0")
    elif changed == "python":
        monkeypatch.setattr(templates, "MAGIC_NUMBER", b"\0\0\0\0")
    else:
        for path in (templates._directory() / "lib").glob("*.mako"):
            (tmp_path / "lib").mkdir(exist_ok=True)
            (tmp_path / "lib" / path.name).write_text(path.read_text() + "## and more\n")
        monkeypatch.setattr(templates, "_directory", lambda: tmp_path)
    assert text(store) == first
    assert len(compiled) == count
    assert len(store) == 2 * count


UNSOUND = {
    "nothing": b"",
    "no code": b"what is this",
    "cut": marshal.dumps(("text", compile("1", "x", "exec")))[:40],
    "another value": marshal.dumps((1, 2)),
    "three": marshal.dumps(("a", "b", "c")),
    "a number": marshal.dumps(7),
}


@pytest.mark.parametrize("payload", UNSOUND)
def test_what_is_no_template_is_compiled_again(payload: str, compiled: list[str]) -> None:
    store = Kept()
    first = text(store)
    store.update(dict.fromkeys(store, UNSOUND[payload]))
    compiled.clear()
    assert text(store) == first
    assert NAME in compiled
    compiled.clear()
    assert text(store) == first
    assert compiled == []  # and mended


def test_on_disk(compiled: list[str], tmp_path: Path) -> None:
    first = text(DiskCache(tmp_path))
    files = sorted(tmp_path.iterdir())
    compiled.clear()
    assert text(DiskCache(tmp_path)) == first
    assert compiled == []
    for file in files:
        file.write_bytes(file.read_bytes()[:-5] + b"poison"[1:])
    assert text(DiskCache(tmp_path)) == first
    assert len(compiled) == len(files)
    compiled.clear()
    assert text(DiskCache(tmp_path)) == first
    assert compiled == []


def test_where_nothing_can_be_kept(compiled: list[str], tmp_path: Path) -> None:
    place = tmp_path / "a file"
    place.write_bytes(b"")
    first = text(DiskCache(place))
    assert text(DiskCache(place)) == first
    assert compiled.count(NAME) == 2


def test_an_error_names_the_line_of_a_stored_template(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As that of one that this process compiled."""
    from clarray._engine.codegen import render

    (tmp_path / "broken.mako").write_text("first\n${given.missing}\n")
    monkeypatch.setattr(templates, "_directory", lambda: tmp_path)
    store = Kept()
    messages = []
    for _ in range(2):
        lookup = templates._Templates()
        lookup.store = store
        monkeypatch.setattr(templates, "_templates", lookup)
        with pytest.raises(RuntimeError, match="template 'broken' failed") as error:
            render.render("broken", given=1)
        messages.append(str(error.value))
        linecache.clearcache()
        lines = [frame.line for frame in traceback.TracebackException.from_exception(error.value.__cause__).stack]
        assert any("given.missing" in line for line in lines)  # of the module's source, which its loader gives
        assert "line 2" in messages[-1]
        assert "${given.missing}" in messages[-1]
        assert "['given']" in messages[-1]
    assert len(store) == 1


def test_only_what_a_source_calls_is_compiled(compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "_templates", templates._Templates())
    assert templates.templates_with("sin") == ["lib/trigonometric"]
    assert templates.templates_with("nothing of this name") == []
    assert compiled == []
