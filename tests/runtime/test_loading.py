"""What importing clarray loads, and what is loaded when it is first used."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

import clarray
from clarray._api import late_names
from clarray._engine import speedups, threads
from clarray._engine.algorithms import launchers
from clarray._engine.runtime import current_device

IMPORT = "import sys, clarray"
SUM = f"{IMPORT}; float(clarray.arange(10).sum())"

# With what lies below them. What NumPy, pyopencl or an entry of site-packages imports by itself is not here.
NEEDLESS = (
    *("markupsafe", "html", "concurrent", "unittest", "doctest", "pydoc", "subprocess"),
    *("numpy.testing", "numpy.fft", "numpy.random", "numpy.ma", "numpy.polynomial", "pyopencl.array"),
)
NEVER = (
    *("clarray.fft", "clarray.lib", "clarray.linalg", "clarray.ndimage", "clarray.random", "clarray.testing"),
    *("clarray.dask", "clarray._api.doctor", "clarray._api.tune", "clarray._api.demo", "clarray._engine.runtime.vkfft"),
    *(*launchers._MODULES.values(), *late_names.CHAPTERS),
)
MOST = 273  # modules of clarray's; one more that few programs need is loaded late, as docs/engineering/design.md says


def run(code: str) -> list[str]:
    """What a new process prints that does small work where users' does: the tests want kernels for it."""
    told = {name: value for name, value in os.environ.items() if name != "CLARRAY_TIER"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=told)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def those_of(loaded: list[str], names: tuple[str, ...]) -> list[str]:
    return [module for module in loaded if any(f"{module}.".startswith(f"{name}.") for name in names)]


@pytest.fixture(scope="module")
def after_sum() -> list[str]:
    run(SUM)  # kernels are in the cache from here on
    return run(f"{SUM}; print(*sys.modules)")


def test_an_import_loads_nothing_needless() -> None:
    assert those_of(run(f"{IMPORT}; print(*sys.modules)"), (*NEEDLESS, *NEVER, "mako.template")) == []


def test_a_sum_loads_nothing_needless(after_sum: list[str]) -> None:
    without_kernel = (*NEEDLESS, "mako.template") if current_device().capabilities.host_memory else ()
    assert those_of(after_sum, (*without_kernel, *NEVER)) == []


def test_a_sum_loads_few_modules(after_sum: list[str]) -> None:
    assert len(those_of(after_sum, ("clarray",))) <= MOST


def test_late_names_are_those_that_their_modules_export() -> None:
    code = f"{IMPORT}; print(*(n for n in clarray._late_names.NAMES if n in vars(clarray)))"
    assert run(code) == []
    for module, names in late_names.CHAPTERS.items():
        assert sorted(names.split()) == sorted(importlib.import_module(module).__all__)
    assert len(late_names.NAMES) == sum(len(names.split()) for names in late_names.CHAPTERS.values())


def test_late_names_are_listed_and_exported() -> None:
    listed = run(f"{IMPORT}; print(*dir(clarray))")
    starred = run("names = {}; exec('from clarray import *', names); print(*names)")
    exported = run(f"{IMPORT}; print(*clarray.__all__)")
    assert set(late_names.NAMES) | set(late_names.MODULES) <= set(listed)
    assert set(exported) | {"__builtins__"} == set(starred)
    assert set(late_names.NAMES) | {"array", "sum", "sort", "linalg", "lib", "special"} <= set(exported)


def test_what_is_not_there_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="module 'clarray' has no attribute 'no_such_name'"):
        _ = clarray.no_such_name  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"module 'clarray._engine.algorithms.launchers' has no attribute 'sorts'"):
        _ = launchers.sorts


@pytest.mark.parametrize("module", ["clarray._numpy.sorting.sets", "clarray._engine.algorithms.sort.launch"])
def test_errors_of_late_modules_are_seen(module: str) -> None:
    """A module that does not load raises its own error, each time, and is no missing attribute."""
    code = f"""
{IMPORT}
sys.modules[{module!r}] = None
x = clarray.arange(5000)[::-1] % 1000 + 1j
for _ in range(2):
    try:
        clarray.unique_values(x.real) if "sets" in {module!r} else clarray.sort(x.real).get()
    except ImportError as error:
        print(error.name)
"""
    assert run(code) == [module] * 2


FIRST_USES = """
import sys, threading
import numpy as np, clarray
sys.setswitchinterval(1e-5)
host = np.arange(5000)[::-1].copy()
x = clarray.asarray(host)
barrier, found, functions = threading.Barrier(4), [], []
def use():
    barrier.wait()
    functions.append(clarray.unique)
    found.append((clarray.sort(x).get(), clarray.unique(x).get(), clarray.histogram(x)[0].get()))
threads = [threading.Thread(target=use) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
assert len(found) == 4
assert len(set(map(id, functions))) == 1, functions
for parts in found:
    for part, numpys in zip(parts, (np.sort(host), np.unique(host), np.histogram(host)[0])):
        assert (part == numpys).all()
"""


def test_threads_that_use_them_first_at_once() -> None:
    run(FIRST_USES)


def test_pickles_of_late_functions_and_after_a_reset() -> None:
    code = f"""
import pickle
{IMPORT}
again = pickle.loads(pickle.dumps(clarray.gradient))
assert again is clarray.gradient
clarray.reset()
assert clarray.sort(clarray.arange(5000)[::-1])[0] == 0
assert clarray.unwrap(clarray.arange(3.0)).tolist() == [0, 1, 2]
"""
    run(code)


def test_an_import_interrupted_before_its_thread_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal handler may import another module just before the thread of an import is started."""
    for name in ("clarray_first", "clarray_second"):
        (tmp_path / f"{name}.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    start = threads.start

    def interrupted(thread: threading.Thread) -> None:
        monkeypatch.setattr(threads, "start", start)
        threads.import_whole("clarray_second")
        start(thread)

    monkeypatch.setattr(threads, "start", interrupted)
    program = threading.Thread(target=threads.import_whole, args=("clarray_first",), daemon=True)
    start(program)
    program.join(20)
    assert not program.is_alive()
    assert {"clarray_first", "clarray_second"} <= sys.modules.keys()


def test_the_gil_is_needed() -> None:
    """A free-threaded Python without the GIL is refused, with the option that helps."""
    code = "import sys; sys._is_gil_enabled = lambda: {}; import clarray"
    without, with_gil = (
        subprocess.run([sys.executable, "-c", code.format(on)], capture_output=True, text=True) for on in (False, True)
    )
    assert without.returncode == 1
    assert without.stderr.splitlines()[-1].startswith("ImportError: clarray needs the global interpreter lock (GIL)")
    assert "-X gil=1" in without.stderr
    assert with_gil.returncode == 0, with_gil.stderr


def test_a_free_threaded_python_goes_without_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speedups, "sys", SimpleNamespace(version="3.14.0 free-threading build"))
    assert "free-threaded" in speedups._why_absent(ImportError())
