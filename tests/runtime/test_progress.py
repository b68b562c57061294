"""What long work shows on a terminal, and that a pipe gets nothing."""

from __future__ import annotations

import io
import os
import sys
import threading
from types import SimpleNamespace

import pytest

from clarray._engine.runtime import progress
from clarray._engine.runtime.progress import Progress, compiling


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        """What stood on the line, one after the other."""
        return [line.rstrip() for line in self.getvalue().split("\r")[1::2]]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    found = Terminal()
    monkeypatch.delenv("CLARRAY_PROGRESS", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=found, modules={}))  # pytest sets that of sys anew
    monkeypatch.setattr(progress, "_compiled", progress._Compiled())
    return found


def test_a_bar_on_a_terminal(terminal: Terminal) -> None:
    with Progress(4) as bar:
        bar.say("reduce")
        bar.step()
        bar.step("scan", 2)
        bar.clear()
        bar.draw()
        bar.step(count=9)
    assert terminal.lines() == [
        "[....................] 0/4 reduce",
        "[#####...............] 1/4 reduce",
        "[###############.....] 3/4 scan",
        "",
        "[###############.....] 3/4 scan",
        "[####################] 4/4 scan",
        "",
    ]


def test_a_long_line_does_not_wrap(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    with Progress(0) as bar:
        bar.say("x" * 100)
    assert [len(line) for line in terminal.lines()] == [29, 0]


@pytest.mark.parametrize("stream", [io.StringIO(), None, "closed"])
def test_nothing_elsewhere(stream: io.StringIO | str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if stream == "closed":
        stream = io.StringIO()
        stream.close()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    with Progress(2) as bar:
        bar.step("one")
    if isinstance(stream, io.StringIO) and not stream.closed:
        assert stream.getvalue() == ""


def test_a_pipe_gets_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with Progress(2) as bar, compiling("kernel"):
        bar.step("one")
    assert capfd.readouterr() == ("", "")


def test_it_can_be_turned_off(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLARRAY_PROGRESS", "0")
    with Progress(2) as bar:
        bar.step("one")
    assert terminal.getvalue() == ""


def test_compiling_is_shown_once_it_has_taken_long(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 0.9, 1.0, 1.3, 5.0, 5.4])
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(now))
    for name in ("first", "second"):
        with compiling(name):
            pass
    assert terminal.getvalue() == ""
    with pytest.raises(RuntimeError), compiling("third"):
        raise RuntimeError
    assert terminal.lines() == ["clarray compiles kernel 3, third (1 s so far)", ""]


def test_what_is_compiled_within_is_no_kernel_more(terminal: Terminal) -> None:
    progress._compiled.seconds = 2.0
    with compiling("launched"), compiling("built"):
        pass
    with Progress(1) as bar:
        bar.say("tuning")
        with compiling("beside a bar"):
            pass
    assert terminal.lines()[:2] == ["clarray compiles kernel 1, launched (2 s so far)", ""]
    assert terminal.lines()[2:] == ["[....................] 0/1 tuning", ""]
    assert progress._compiled.kernels == 2


def test_threads_count_together(terminal: Terminal) -> None:
    def work() -> None:
        for _ in range(50):
            with compiling("kernel"):
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert progress._compiled.depth == 0
    assert 1 <= progress._compiled.kernels <= 200


@pytest.mark.skipif(os.name != "posix", reason="there are terminals of this kind")
def test_a_program_on_a_terminal_shows_what_it_compiles(tmp_path: object) -> None:
    import pty
    import subprocess

    program = (
        "import clarray; from clarray._engine.runtime import progress; progress._compiled.seconds = 2.0;"
        "x = clarray.arange(5.0); print((clarray.sqrt(x) * 3).tolist()[0])"
    )
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", program],
        stderr=theirs,
        stdout=subprocess.PIPE,
        env={**os.environ, "CLARRAY_CACHE_DIR": str(tmp_path), "CLARRAY_TIER": "0"},
        timeout=120,
        check=True,
    )
    os.close(theirs)
    said = os.read(ours, 65536).decode()
    os.close(ours)
    assert done.stdout == b"0.0\n"
    assert "clarray compiles kernel 1, " in said
    assert said.endswith("\r")
    assert not said.split("\r")[-2].strip()


class Notebook:
    """IPython in a notebook's kernel, and what its cell shows."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.kernel = self

    def get_ipython(self) -> Notebook:
        return self

    def display(self, shown: dict[str, str], raw: bool, display_id: bool) -> Notebook:
        assert raw
        assert display_id
        self.update(shown, raw)
        return self

    def update(self, shown: dict[str, str], raw: bool) -> None:
        assert raw
        self.shown.append(shown["text/plain"])


def test_a_notebook_shows_the_line_in_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Notebook()
    pipe = io.StringIO()
    monkeypatch.delenv("CLARRAY_PROGRESS", raising=False)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=pipe, modules={"IPython": notebook}))
    monkeypatch.setattr(progress, "import_module", lambda name: notebook)
    monkeypatch.setattr(progress, "_compiled", progress._Compiled())
    with Progress(2) as bar:
        bar.step("reduce")
    progress._compiled.seconds = 9.0
    with compiling("scan"):
        pass
    assert notebook.shown == [
        "[##########..........] 1/2 reduce",
        "",
        "clarray compiles kernel 1, scan (9 s so far)",
        "",
    ]
    assert pipe.getvalue() == ""
    monkeypatch.setenv("CLARRAY_PROGRESS", "0")
    with Progress(2) as bar:
        bar.step("reduce")
    assert len(notebook.shown) == 4
