"""Processes that a program starts, and what it pickles."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clarray._engine.runtime import current_device

from .conftest import needs_host_memory

Run = Callable[..., object]
Write = Callable[[str, str], Path]

POOL = """
import multiprocessing, sys
import numpy as np
from concurrent.futures import ProcessPoolExecutor

table = np.arange(10.0)

def work(x):
    return np.sin(x).sum() + table[3], type(x).__name__, np.asarray(x)[:2], hasattr(np, "_ours")

def kind(_):
    return hasattr(np.ones(3), "evaluate")

if __name__ == "__main__":
    method = sys.argv[1]
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        print(sum(float(r[0]) for r in pool.map(work, [np.arange(5.0), np.ones(3)])))
        print(pool.map(np.sum, [np.arange(4), [1, 2]]), pool.apply(np.add, (1, 2)))
        if len(sys.argv) > 2:
            print(pool.map(kind, [0]))
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        print(list(pool.map(work, [np.arange(2.0)]))[0][1:3])
    queue = context.Queue()
    child = context.Process(target=queue.put, args=(np.arange(3),))
    child.start()
    print(queue.get())
    child.join()
    print(child.exitcode)
"""


on_pocl = pytest.mark.skipif(current_device().backend.name != "pocl", reason="only PoCL works in a forked process")


@pytest.mark.parametrize("method", ["spawn", pytest.param("fork", marks=[needs_host_memory, on_pocl]), "forkserver"])
@pytest.mark.skipif(sys.platform == "win32", reason="spawns alone")
def test_multiprocessing(same: Run, write: Write, method: str) -> None:
    write("script.py", POOL)
    same("script.py", method)


@pytest.mark.skipif(sys.platform == "win32", reason="spawns alone")
@pytest.mark.skipif(current_device().backend.name == "pocl", reason="PoCL works in a forked process")
def test_another_runtime_names_the_fork(ours: Run, write: Write) -> None:
    write("script.py", POOL)
    outcome = ours("script.py", "fork")
    assert outcome.status == 1  # type: ignore[attr-defined]
    errors = outcome.errors  # type: ignore[attr-defined]
    assert "start processes with multiprocessing's 'spawn' or 'forkserver'" in errors
    assert "Exception ignored" not in errors


def test_spawned_children_have_clarray(ours: Run, write: Write) -> None:
    write("script.py", POOL)
    assert "[True]" in ours("script.py", "spawn", "and").output  # type: ignore[attr-defined]


PICKLED = """
import copy, pickle
import numpy as np
from numpy import linalg

x = np.arange(6.0).reshape(2, 3)
rng = np.random.default_rng(1)
functions = np.sum, np.sin, np.add.reduce, linalg.norm, np.float32
for value in (x, x.T, x[0, 0], x.sum(), *functions, rng, np.random.RandomState(2)):
    again = pickle.loads(pickle.dumps(value))
    print(repr(again).split(" at ")[0], type(again).__name__ if isinstance(value, np.ndarray) else callable(again))
print(copy.deepcopy(rng).random(2), rng.random(2), copy.copy(x), copy.deepcopy({"a": x}))
with open("x.pickle", "wb") as file:
    pickle.dump({"x": x, "s": x.mean()}, file)
"""


def test_pickles(same: Run, write: Write, tmp_path: Path) -> None:
    write("script.py", PICKLED)
    same("script.py")
    import pickle

    import numpy as np

    loaded = pickle.loads((tmp_path / "x.pickle").read_bytes())  # which clarray has written last
    assert type(loaded["x"]) is np.ndarray
    assert type(loaded["s"]) is np.float64


TOOLS = {
    "cProfile": ("-m", "cProfile", "-s", "name", "script.py"),
    "trace": ("-m", "trace", "--count", "--summary", "-C", "counts", "script.py"),
    "timeit": ("-m", "timeit", "-n", "1", "-r", "1", "-s", "import numpy as np", "print(type(np.ones(2)))"),
    "unittest": ("-m", "unittest", "-q", "test_script"),
    "pytest": ("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_script.py"),
}
SCRIPT = """
import numpy as np

def work():
    return hasattr(np.ones(3), "evaluate")

print("clarray:", work())
"""
CASES = """
import unittest
import numpy as np

class TestIt(unittest.TestCase):
    def test_arrays(self):
        print("clarray:", hasattr(np.ones(3), "evaluate"))
        np.testing.assert_allclose(np.ones(3), 1)

    def test_of_plain_functions(self):
        self.assertEqual(np.arange(4).sum(), 6)
"""


@pytest.mark.parametrize("tool", TOOLS)
def test_tools(ours: Run, write: Write, tool: str) -> None:
    write("script.py", SCRIPT)
    write("test_script.py", CASES)
    outcome = ours(*TOOLS[tool])
    assert outcome.status == 0, outcome  # type: ignore[attr-defined]
    if tool == "timeit":
        assert "<class 'numpy.ndarray'>" in outcome.output  # type: ignore[attr-defined]
    elif tool != "pytest":
        assert "clarray: True" in outcome.output  # type: ignore[attr-defined]


def test_pdb(same: Run, write: Write) -> None:
    write("script.py", "import numpy as np\nx = np.arange(4)\ny = x.sum()\nprint(y)\n")
    same("-m", "pdb", "script.py", given="n\nn\np x\nn\np y\nw\nc\nq\n")


def test_post_mortem(same: Run) -> None:
    same("-c", "import pdb, sys\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    pdb.post_mortem()", given="w\nq\n")
