"""What programs do with arrays and numbers: the same text comes out as with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import needs_host_memory

Run = Callable[..., object]
Write = Callable[[str, str], Path]

NUMBERS = """
import array, datetime, decimal, fractions, itertools, json, math, operator, random, statistics, struct
import numpy as np

x = np.arange(3)
values = x.sum(), x.mean(), x.max(), x.argmax(), x.any(), x[1], x @ x, np.dot(x, x), np.sum(x), np.linalg.norm(x)
values += x.std(), x.prod(), np.median(x), np.percentile(x, 30), np.trace(np.eye(2)), np.linalg.det(np.eye(2)), max(x)
values += np.array(3.0) + 1, np.float64(2) * x[2], np.sqrt(2), np.add.reduce(x), np.ptp(x), np.count_nonzero(x)
values += np.add.reduce(x), np.vdot(x, x), np.inner(x, x), np.searchsorted(x, 1), x.take(2), np.interp(0.5, x, x)
for value in values:
    print(repr(value), type(value), isinstance(value, np.ndarray), np.isscalar(value), hash(value))
print(json.dumps({"a": x.mean(), "b": float(x.sum())}), decimal.Decimal(x.mean()), fractions.Fraction(x.mean()))
print(datetime.timedelta(seconds=x.mean()), statistics.mean([x.mean(), 1]), struct.pack("d", x.mean()))
print([0] * x.argmax(), "abc"[x.argmax()], range(x.max()), {1: 2}[x[1]], operator.index(x.sum()), divmod(x.sum(), 2))
print(f"{x.mean():.3f} {x.sum():04d}", "%d %s" % (x.sum(), x.mean()), round(x.std(), 3), math.sqrt(x.sum()))
print(random.Random(0).choice(x), array.array("d", [x.mean()]), list(itertools.accumulate(x)), x.any() is np.True_)
total = 0
for value in x:
    total += value
print(total, type(total), sum(x), sorted(x, reverse=True), [int(v) for v in x], set(x.tolist()), x.tolist())
"""

CLASSES = """
from dataclasses import dataclass, field
from functools import singledispatch
import inspect, scipy.linalg
import numpy as np

x, host = np.ones(3), scipy.linalg.inv(np.eye(3))
print(np.ndarray, type(x), type(x) == np.ndarray, x.__class__ == np.ndarray, issubclass(type(x), np.ndarray))
print([isinstance(value, np.ndarray) for value in (x, host, x[0], x.sum(), [1], x.T, np.array(2.0), np.array(["a"]))])
print(isinstance(x, (list, np.ndarray)), np.ndarray | None, {np.ndarray: "array"}.get(type(x)))
match x:
    case np.ndarray():
        print("matched")

@singledispatch
def kind(value):
    return "other"

@kind.register(np.ndarray)
def _(value):
    return "array"

print(kind(x), kind(2))

@dataclass
class Row:
    data: np.ndarray = field(default_factory=lambda: np.zeros(2))
    scale = np.tanh

print(Row(), Row.scale(0.5))

class Unit(np.ndarray):
    def __new__(cls, data, unit=""):
        made = np.asarray(data).view(cls)
        made.unit = unit
        return made

    def __array_finalize__(self, other):
        self.unit = getattr(other, "unit", None)

u = Unit([1.0, 2.0], "m")
print(u, u.unit, (u * 2).unit, type(u[1:]).__name__, isinstance(u, np.ndarray), np.ndarray((2, 2)).shape)
print(list(map(np.ndarray.sum, [x, x])), np.sum.__name__, inspect.signature(np.sum), isinstance(np.sin, np.ufunc))
print(np.sin, np.sin.nin, np.add.identity, np.sum.__module__, np.__name__, np.__version__, np.linalg)
"""

MIXED = """
import numpy as np
import scipy.linalg, scipy.sparse

x, host = np.arange(3), scipy.linalg.inv(np.eye(3))
host += np.ones((3, 3))
host[0] = x
host[np.arange(1, 3)] *= x
print(host, type(host), host @ x, x @ host, np.sin(host).sum().round(6), host[x[:2]], host[:, x > 0])
print(np.array(["a", "b", "c"])[x], np.array([1, None]), x.astype(str), x.astype(object))
print(x + np.array([1, 2, 3], object))
print(np.where(x > 1, "big", "small"), x == "a", np.array(["x", "y"]) == "x", np.char.add(["a"], ["b"]))
print(np.datetime64("2024-01-01") + x, np.array(["2024-01-01"], "M8[D]") + x[:1], np.isnat(np.array(["NaT"], "M8[D]")))
print(np.ma.masked_where(x > 1, x), np.ma.array([1.0, 2], mask=[0, 1]).mean(), np.sum(np.ma.array([1, 2], mask=[0, 1])))
print(np.mean(np.matrix([[1, 2]])), np.matrix(np.eye(2)) * np.matrix([[1], [2]]), scipy.sparse.eye(3) @ x)
print(np.fromiter(iter("ab"), "U1"), np.r_[["a"], ["b"]], np.r_[1:4, 9], np.c_[[1, 2], [3, 4]])
people = np.array([("a", 1), ("b", 2)], dtype=[("name", "U3"), ("age", int)])
print(people["age"].sum(), people[people["age"] > 1]["name"], np.sort(people, order="age")["name"])
wrong = lambda: x + "a", lambda: x[9], lambda: x.reshape(2), lambda: np.array([1, 2]).sum(axis=3), lambda: x + None
for action in wrong:
    try:
        print(action())
    except Exception as error:
        print(type(error).__name__, error)
total = 0
for value in np.nditer(x):
    total += value
print(total)
print(x, np.linalg.eigvals(np.array([[2.0, 0], [0, 3]])), np.finfo(np.float32).eps)
p = np.poly1d([1, -3, 2])
print(p, p(x), np.polyder(p), np.roots([1, -3, 2]), np.polyval(p, 2.0))
"""

RANDOM = """
import copy
import numpy as np
from numpy.random import default_rng

np.random.seed(7)
print(np.random.rand(3), np.random.randn(2, 2), np.random.randint(5), np.random.normal())
print(np.random.choice(["a", "b"], 3))
state = np.random.get_state()
order = np.arange(6)
np.random.shuffle(order)
print(order, np.random.permutation(4), np.random.permutation(np.arange(3)), np.random.uniform(np.zeros(2), np.ones(2)))
np.random.set_state(state)
print(np.random.random(2), np.random.beta(1, 2, size=2), np.random.multivariate_normal([0, 0], np.eye(2)))
rng = default_rng(3)
print(rng, rng.random(3), rng.integers(0, 9, 4), rng.normal(), rng.choice(np.arange(5), 2, replace=False))
rows = np.arange(12).reshape(6, 2)
rng.shuffle(rows)
out = np.empty(2)
rng.random(out=out)
print(rows, out, rng.permuted(np.arange(4)), isinstance(rng, np.random.Generator), [g.random() for g in rng.spawn(2)])
print(copy.deepcopy(rng).random(2), rng.random(2), np.random.RandomState(4).rand(2))
print(np.random.Generator(np.random.PCG64(1)))
print(type(rng.random(2)), type(rng.random()), default_rng(rng) is rng, np.random.RandomState(4).randint(0, 5, 3))
big = default_rng(0).standard_normal((300, 300))
big[0] = 1
print(big.sum().round(8), (big * 2 + 1).mean().round(8))
from scipy import stats
print(stats.norm.rvs(size=2, random_state=rng), stats.norm.rvs(size=2, random_state=np.random.RandomState(1)))
"""


def test_numbers_are_numpys_scalars(same: Run, write: Write) -> None:
    write("script.py", NUMBERS)
    same("script.py")


def test_classes(same: Run, write: Write) -> None:
    write("script.py", CLASSES)
    same("script.py")


def test_arrays_of_both_and_dtypes_that_clarray_lacks(same: Run, write: Write) -> None:
    write("script.py", MIXED)
    same("script.py")


def test_seeded_numbers(same: Run, write: Write) -> None:
    write("script.py", RANDOM)
    same("script.py")


def test_what_is_drawn_is_on_the_device(ours: Run) -> None:
    source = """
import numpy as np
rng = np.random.default_rng(0)
print([hasattr(x, "evaluate") for x in (np.random.rand(3), rng.random(3), rng.random((200, 200)), rng.random())])
import scipy.stats
print(hasattr(scipy.stats.norm.rvs(size=2, random_state=rng), "evaluate"))
"""
    outcome = ours("-c", source)
    assert outcome.output == "[True, True, True, False]\nFalse\n"  # type: ignore[attr-defined]


def test_clarrays_numbers_on_demand(ours: Run) -> None:
    source = "import numpy as np\nnp.random.seed(0)\nprint(np.random.rand(2))"
    outcome = ours("-c", source, options=("--random", "device"))
    assert outcome.status == 0, outcome  # type: ignore[attr-defined]
    assert outcome.output != ours("-c", source).output  # type: ignore[attr-defined]


WRITING = """
import numpy as np
x = np.arange(3)
with np.nditer(x, op_flags=["readwrite"]) as it:
    for value in it:
        value[...] = value * 2
print(x)
"""


@needs_host_memory
def test_writing_while_iterating(same: Run) -> None:
    same("-c", WRITING)


@pytest.mark.parametrize("function", ["nditer(x, ", "nested_iters(x, [[0], [1]], "])
def test_writing_to_memory_of_the_devices_own(function: str, ours: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy cannot have it, and what is written to a copy would be lost."""
    monkeypatch.setenv("CLARRAY_SIMULATE_OWN_MEMORY", "1")
    outcome = ours("-c", f"import numpy as np; x = np.ones((2, 3)); np.{function} op_flags=['readwrite'])")
    assert "read-only" in outcome.errors, outcome  # type: ignore[attr-defined]


@needs_host_memory
def test_addresses(same: Run) -> None:
    same("-c", "import numpy as np; x = np.arange(3); print(x.ctypes.shape[0], x.ctypes.data % 8)")


ELEMENTS = """
import clarray
from clarray.run import installation, methods
clarray.run.install()
import numpy as np
clarray.config.elements = "arrays"  # as on a device with memory of its own
print(type(np.arange(3)[1]).__name__)
installation._change_arrays(methods.element_methods())
x = np.arange(6.0).reshape(2, 3)
print(type(x[0, 1]), type(x[0]), [type(v) for v in x[1]], [row.sum() for row in x], x[x > 3], x[1:, 1].shape)
clarray.run.uninstall()
print(type(x[0, 1]))
"""


@needs_host_memory  # it makes the difference itself
def test_elements_on_a_device_with_memory_of_its_own(tmp_path: Path) -> None:
    from .conftest import run

    outcome = run(tmp_path, "-c", ELEMENTS)
    number, array = "<class 'numpy.float64'>", "<class 'numpy.ndarray'>"
    expected = f"{number} {array} [{', '.join([number] * 3)}] [np.float64(3.0), np.float64(12.0)] [4. 5.] (1,)"
    assert outcome.output.splitlines()[0] == "ndarray", outcome.errors
    assert outcome.output.splitlines()[1:] == [expected, number], outcome.errors


LIBRARIES = """
import io
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from PIL import Image
from scipy import optimize, signal
from sklearn.linear_model import LinearRegression

x = np.linspace(0, 1, 20)
df = pd.DataFrame({"x": x, "y": x**2})
print(df.dtypes, df.describe().round(4), np.sqrt(df["x"]).head(2), np.mean(df["y"]))
print(pd.Series(x).rolling(3).mean().sum(), df[x > 0.5].shape, df.loc[x > 0.8, "y"].sum(), df["x"][x < 0.1])
print(df.groupby(np.arange(20) % 2)["x"].agg(np.sum), df.to_numpy()[:2], x[df["x"] > 0.9], pd.cut(x, 3).codes)
(line,) = plt.plot(x, np.sin(x))
plt.imshow(np.outer(x, x))
plt.savefig(io.BytesIO())
print(type(line.get_ydata()).__name__, plt.hist(x, bins=4)[0])
image = Image.fromarray((np.outer(x, x) * 255).astype(np.uint8))
print(np.array(image).sum(), image.size, Image.fromarray(np.zeros((2, 3, 3), np.uint8)[:, ::-1]).mode)
model = LinearRegression().fit(x[:, None], 2 * x + 1)
print(model.coef_.round(6), model.predict(np.array([[2.0]])).round(6), isinstance(model.coef_, np.ndarray))
print(optimize.minimize(lambda p: np.sum((p - 3) ** 2), np.zeros(2)).x.round(4), signal.fftconvolve(x, x)[:2].round(6))
"""

SPARSE = """
import numpy as np
from scipy import sparse
from scipy.sparse import linalg
from scipy.sparse.linalg import SuperLU, splu

M, b = sparse.csc_matrix(np.array([[4.0, 1.0], [1.0, 3.0]])), np.array([1.0, 2.0])
lu = splu(M)
print(lu.solve(b), lu.solve(rhs=b, trans="T"), lu.shape, lu.nnz, isinstance(lu, SuperLU), type(lu.L).__name__)
print(linalg.factorized(M)(b), linalg.spilu(M).solve(b), linalg.spsolve(M, b), linalg.cg(M, b)[0].round(6))
print(M + np.ones((2, 2)), M - np.ones((2, 2)), np.ones((2, 2)) + M, M @ b, b @ M, M * 2, M.toarray())
print(splu(M.tocsr()).solve(b))  # warns
print(isinstance(lu.solve(b), np.ndarray), isinstance(M.toarray(), np.ndarray))
"""


@pytest.mark.parametrize("program", [LIBRARIES, SPARSE], ids=["libraries", "sparse"])
def test_libraries(same: Run, write: Write, program: str) -> None:
    write("script.py", program)
    same("script.py")
