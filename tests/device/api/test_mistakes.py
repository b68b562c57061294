"""Common mistakes: NumPy's exception in NumPy's words, shown at the user's line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType, TracebackType
from typing import Any

import numpy as np
import pytest

import clarray
from clarray import fft, linalg, ndimage, random, special
from clarray._core import own_frames
from clarray._numpy.manipulation import shapes
from clarray.lib import scimath, stride_tricks

# What a program types. `xp` is NumPy or clarray; `x` is float64 of shape (3, 4), `v` of 4, `i` int64 of (3, 4).
SAME_WORDS = """
x @ x
v @ v[:3]
x @ None
x + None
None * x
x + x[:2]
x < x[:, :2]
x += xp.ones((2, 3, 4))
i += 0.5
i /= 2
x & 1
x << 1
~x
-xp.ones(2, bool)
xp.ones(2, bool) - xp.ones(2, bool)
i ** -1
x + "1"
xp.exp(x, axis=0)
xp.exp()
xp.exp(x, x, x)
xp.add(x)
xp.add(x, x, out=v)
xp.add(x, x, casting="no way")
xp.add(i, 0.5, out=i)
xp.sin("text")
xp.maximum(x, x[:2])
xp.add.reduce(x, axis=2)
xp.matmul(x, 3)
xp.clip(x, 0, 1, upto=3)
x[3]
x[0, 4]
x[0, 0, 0]
x["name"]
x[1.5]
x[v > 1]
x[[0, 3]]
x[None, None, ..., ...]
x[9] = 1
x[:] = xp.ones((4, 3))
x[:, 0] = "text"
x[0] = [1, 2]
i[0] = "one"
del x[0]
x.reshape(5)
x.reshape(-1, -1)
x.reshape("3")
x.transpose(0, 0)
x.T.reshape(2, 2, 2)
x.squeeze(0)
x.swapaxes(0, 5)
xp.expand_dims(x, 5)
xp.moveaxis(x, 0, 3)
xp.flip(x, 3)
xp.roll(x, 1, axis=4)
xp.sum(x, axis=2)
x.sum(axis=2)
xp.max(x[:0])
x.max(axis=(0, 0))
xp.argmax(x, axis=3)
xp.mean(x, axis="rows")
xp.cumsum(x, axis=2)
xp.sort(x, axis=2)
xp.sort(x, kind="bubble")
xp.concatenate([x, v])
xp.concatenate([])
xp.concatenate(x, x)
xp.stack([x, v])
xp.vstack([x, x[:, :2]])
xp.hstack([x, x[:2]])
xp.split(x, 5)
xp.array_split(x, 0)
xp.tile(x, -1)
xp.repeat(x, [1, 2], axis=0)
xp.take(x, 12)
xp.take(x, 0, axis=2)
xp.where(x > 1, x)
xp.where(x > 1, x, x[:2])
xp.searchsorted(x, 1)
xp.bincount(x)
xp.bincount([-1])
xp.histogram(x, bins=-1)
xp.quantile(x, 2)
xp.interp(1, [1, 2], [1, 2, 3])
xp.zeros(-1)
xp.zeros("3")
xp.zeros((2, 2.5))
xp.zeros(3, dtype="flaot32")
xp.full((2, 2))
xp.arange()
xp.arange(0, 1, 0)
xp.linspace(0, 1, -1)
xp.eye(2.5)
xp.array([[1, 2], [3]])
xp.array(1, 2, 3)
xp.ones(3).astype("nosuch")
x.astype(float, casting="safely")
x.view(xp.int32)[0, 9]
x.shape = (5, 5)
x.dtype = "nosuch"
float(x)
int(v)
bool(x)
if_x = 1 if x else 0
len(xp.array(3.0))
iter(xp.array(1))
range(v)
x.item()
x.item(99)
x.fill("text")
xp.broadcast_to(x, (2, 2))
xp.einsum("ij,j", x, x)
xp.dot(x, x)
xp.tensordot(x, x, 1)
xp.trace(v)
xp.diagonal(v)
xp.cross(x, x)
xp.linalg.inv(x)
xp.linalg.inv(xp.zeros((2, 2)))
xp.linalg.solve(x[:, :3], v)
xp.linalg.cholesky(-xp.eye(2))
xp.linalg.det(v)
xp.linalg.norm(x, "no")
xp.linalg.eig(v)
xp.fft.fft(x, n=0)
xp.fft.fft(x, axis=5)
xp.fft.fft(x, norm="none")
xp.random.normal(0, -1, 5)
xp.random.randint(5, 2)
xp.random.rand(-1)
xp.random.choice([])
xp.random.uniform(size="text")
xp.random.default_rng("text")
xp.random.default_rng().integers(5, 2, 3)
xp.random.default_rng().integers(0, 2, dtype="float32")
xp.random.default_rng().normal(scale=-1, size=3)
xp.random.default_rng().poisson(-1, 4)
xp.random.default_rng().choice(v, 10, replace=False)
xp.random.default_rng().shuffle(3)
xp.random.default_rng().permuted(x, axis=5)
xp.random.default_rng().random(dtype="int32")
xp.random.default_rng().multinomial(3, [0.9, 0.9, 0.1])
"""
# Those whose words NumPy has for arrays of its own, or for its own inside: what clarray says must hold these words.
OWN_WORDS = {
    "x.nosuch": "'DeviceArray' object has no attribute 'nosuch'",
    "x.nosuch()": "'DeviceArray' object has no attribute 'nosuch'",
    "hash(x)": "unhashable type: 'DeviceArray'",
    "xp.nosuch(x)": "module 'clarray' has no attribute 'nosuch'",
    "xp.linalg.nosuch": "module 'clarray.linalg' has no attribute 'nosuch'",
    "xp.add(x, x, out=[1])": "return arrays must be of DeviceArray type, not list",
    "xp.repeat(x, -1)": "repeats may not contain negative values.",
    "xp.einsum('ij', v)": "einstein sum subscripts string contains too many subscripts for operand",
    "x.sum(axes=0)": "sum() got an unexpected keyword argument 'axes'",
}
STATEMENTS = [*SAME_WORDS.strip().splitlines(), *OWN_WORDS]
PRIVATE = re.compile(r"(?<![\w.'])_[A-Za-z]\w*|NotNumbers|\bcall\(\)|use_device|HostOnly|OutOfBounds")


@pytest.fixture(autouse=True)
def as_users_see_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_frames.setting, "keeps_all", False)


def mistake(xp: Any, statement: str) -> Exception:
    """Return the error of a statement of a program."""
    x = xp.arange(12.0).reshape(3, 4)
    names = {"xp": xp, "x": x, "v": xp.arange(4.0), "i": xp.arange(12).reshape(3, 4)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # setting a shape or a dtype is deprecated in NumPy 2.5
        try:
            exec(compile(statement, "<program>", "exec"), names)
        except Exception as error:
            return error
    raise AssertionError(f"{statement} raises nothing with {xp.__name__}")


def frames_below(error: Exception, file: str) -> list[str]:
    """Return the functions that a traceback shows after the last line of a file."""
    frames = traceback.extract_tb(error.__traceback__)
    last = max(number for number, frame in enumerate(frames) if frame.filename == file)
    return [frame.name for frame in frames[last + 1 :]]


def public_kind(error: Exception) -> type:
    """Return the first class of an error that a program can name."""
    return next(kind for kind in type(error).__mro__ if not kind.__name__.startswith("_"))


def is_chained(error: BaseException) -> bool:
    return error.__cause__ is not None or (error.__context__ is not None and not error.__suppress_context__)


def test_there_are_many() -> None:
    assert len(STATEMENTS) == len(set(STATEMENTS)) >= 100


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_mistake_is_shown_as_numpy_shows_it(statement: str) -> None:
    theirs, ours = mistake(np, statement), mistake(clarray, statement)
    assert isinstance(ours, public_kind(theirs))
    if statement in OWN_WORDS:
        assert OWN_WORDS[statement] in str(ours)
    else:
        assert str(ours) == str(theirs)
    shown = frames_below(ours, "<program>")
    assert len(shown) <= len(frames_below(theirs, "<program>")) + 1
    assert not PRIVATE.search(str(ours))
    assert not [name for name in shown if PRIVATE.search(name) and name not in frames_below(theirs, "<program>")]
    assert is_chained(ours) <= is_chained(theirs)


def test_devices() -> None:
    for statement in ("xp.device('a', 'b')", "xp.device()", "xp.device('nosuch')", "xp.set_device('nosuch')"):
        error = mistake(clarray, statement)
        assert not frames_below(error, "<program>")
        assert not is_chained(error)
        assert not PRIVATE.search(str(error))
    assert str(mistake(clarray, "xp.device('a', 'b')")) == "device() takes 1 positional argument but 2 were given"


# Names in messages ----------------------------------------------------------------------------------

MODULES = (clarray, fft, linalg, ndimage, random, special, scimath, stride_tricks)
READS_ARGUMENTS_LATER = "printoptions"  # NumPy's: in the block


def functions_of(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in module.__all__:
        value = getattr(module, name)
        if callable(value) and not isinstance(value, type) and value is not clarray.config:
            yield name, value


def complaint(function: Callable[..., Any], *given: Any) -> TypeError:
    """Return the error of a call with a keyword that there is not."""
    with pytest.raises(TypeError) as found:
        function(*given, nosuch=1)
    return found.value


def check_names(error: TypeError) -> None:
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if own_frames.is_own_file(frame.filename)]
    assert len(own) <= 1
    assert not [frame.name for frame in own if PRIVATE.search(frame.name)]
    assert not PRIVATE.search(str(error))
    assert not is_chained(error)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_no_function_is_called_by_a_private_name(module: ModuleType) -> None:
    x = clarray.arange(12.0).reshape(3, 4)
    for name, function in functions_of(module):
        if name != READS_ARGUMENTS_LATER:
            check_names(complaint(function, x))


OBJECTS = (
    clarray.arange(12, dtype=np.float32).reshape(3, 4),
    random.default_rng(1),
    random.RandomState(1),
    random.Philox(1),
)


@pytest.mark.parametrize("value", OBJECTS, ids=lambda value: type(value).__name__)
def test_no_method_is_called_by_a_private_name(value: Any) -> None:
    for kind in type(value).__mro__:
        for name, method in vars(kind).items():
            if callable(method) and not name.startswith("_"):
                check_names(complaint(getattr(value, name)))


# What is not hidden -----------------------------------------------------------------------------------


def files_of(trace: TracebackType | None) -> list[str]:
    return [frame.filename for frame in traceback.extract_tb(trace)]


def fail(kind: str) -> Callable[..., Any]:
    """Return a function that has a defect, as one of clarray's files might."""
    lines = {
        "attribute": "return None.nosuch",
        "key": "return {}['nosuch']",
        "name": "return nosuch",
        "operand": "return None + 1",
        "unpacking": "a, b = (1,)",
        "invariant": "raise AssertionError('a reduction of no passes')",
    }
    names: dict[str, Any] = {}
    exec(compile(f"def broken(*a, **k):\n    {lines[kind]}", own_frames.__file__, "exec"), names)
    return names["broken"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", ["attribute", "key", "name", "operand", "unpacking", "invariant"])
def test_a_defect_of_clarrays_is_shown_whole(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes.views, "swapaxes", fail(kind))
    error = mistake(clarray, "x.swapaxes(0, 1)")
    assert frames_below(error, "<program>")[-1] == "broken"
    assert len(frames_below(error, "<program>")) > 2


def test_all_frames_on_request() -> None:
    program = "import clarray\nx = clarray.ones((2, 3))\nx.reshape(5)\n"
    shown = {}
    for value in ("", "full"):
        run = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            env={**os.environ, "CLARRAY_TRACEBACK": value},
        )
        shown[value] = run.stderr
    assert shown[""].splitlines()[-1] == "ValueError: cannot reshape array of size 6 into shape (5,)"
    assert shown[""].count("  File ") == 1
    assert shown["full"].count("  File ") > 3


# What users raise -------------------------------------------------------------------------------------


def test_a_users_chain_is_kept() -> None:
    error = mistake(
        clarray,
        """
try:
    x.reshape(2)
except ValueError as error:
    raise RuntimeError("no picture") from error
""",
    )
    assert isinstance(error, RuntimeError)
    assert isinstance(error.__cause__, ValueError)
    assert files_of(error.__cause__.__traceback__) == ["<program>"]


def test_a_mistake_in_a_handler_keeps_what_is_handled() -> None:
    error = mistake(
        clarray,
        """
try:
    {}["of the user's"]
except KeyError:
    x @ x  # clarray handles errors of its own on the way
""",
    )
    assert isinstance(error, ValueError)
    assert isinstance(error.__context__, KeyError)
    assert error.__context__.__context__ is None


def test_a_users_function_keeps_its_frames() -> None:
    def of_user(value: Any) -> Any:
        raise ValueError("of the user's")

    with pytest.raises(ValueError, match="of the user's") as found:
        clarray.apply_along_axis(of_user, 0, clarray.ones((2, 2)))
    assert files_of(found.value.__traceback__)[-1] == __file__
    assert not [file for file in files_of(found.value.__traceback__) if own_frames.is_own_file(file)]
