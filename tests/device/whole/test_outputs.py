"""Every function with ``out=``: an output of any dtype, of any layout, and among the operands has NumPy's outcome.

A call is that of `test_every_function`. NumPy computes as if what is written were apart from what is read.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray

from ..closeness import skip_without_float64
from .test_every_function import FUNCTIONS, KEYWORDS, NO_CALL, X, Y, sample

pytestmark = pytest.mark.usefixtures("quick_builds")

Make = Callable[[ModuleType, list[Any]], Any]

OPERANDS = ["bool", "uint8", "float32", "complex64"]
OUTPUTS = ["bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "float64", "complex64"]
# From a function of NumPy's name, a shape and a dtype: how an output lies, and one that fits the result less.
LAYOUTS: dict[str, Callable[[ModuleType, tuple[int, ...], str], Any]] = {
    "in Fortran order": lambda xp, shape, dtype: xp.zeros(shape[::-1], dtype).T,
    "reversed": lambda xp, shape, dtype: xp.zeros(shape, dtype)[(*[slice(None, None, -1)] * len(shape), ...)],
    "every second": lambda xp, shape, dtype: xp.zeros([2 * n for n in shape], dtype)[
        (*[slice(None, None, 2)] * len(shape), ...)
    ],
    "an axis of one more": lambda xp, shape, dtype: xp.zeros((1, *shape), dtype),
    "an axis of two more": lambda xp, shape, dtype: xp.zeros((2, *shape), dtype),
    "an axis less": lambda xp, shape, dtype: xp.zeros(shape[1:], dtype),
}
AMONG: dict[str, Callable[[Any], Any]] = {
    "itself": lambda x: x,
    "reversed": lambda x: x[::-1],
    "transposed": lambda x: x.T,
    "its row": lambda x: x[0, ...],
    "its column": lambda x: x[..., 0],
}


def has_out(name: str) -> bool:
    try:
        return "out" in inspect.signature(getattr(np, name)).parameters
    except ValueError:
        return False


# Ufuncs for all of them, whose own tests are others.
SAMPLES_OF_UFUNCS: dict[str, tuple[Any, ...]] = {
    "add": (X, Y),
    "less": (X, Y),
    "matmul": (X, Y.T.copy()),
    "sqrt": (X,),
    "vecdot": (X, Y),
}
NAMES = [name for name in FUNCTIONS if name not in NO_CALL and hasattr(np, name) and has_out(name)]
NAMES += SAMPLES_OF_UFUNCS


def sample_of(name: str) -> tuple[Any, ...]:
    return SAMPLES_OF_UFUNCS.get(name) or sample(name)


def arguments(name: str, dtype: str, xp: ModuleType) -> list[Any]:
    """The sample with its arrays of real numbers of a dtype; places and masks stay."""

    def made(each: Any) -> Any:
        if isinstance(each, tuple | list):
            return type(each)(map(made, each))
        if not isinstance(each, np.ndarray):
            return each
        return xp.asarray(each.astype(dtype) if each.dtype.kind == "f" else each.copy())

    return [made(each) for each in sample_of(name)]


def arrays_of(given: Any) -> Iterator[Any]:
    for each in given:
        if isinstance(each, tuple | list):
            yield from arrays_of(each)
        elif isinstance(each, np.ndarray | clarray.DeviceArray):
            yield each


def outputs(name: str, shape: tuple[int, ...], dtype: str, every: bool) -> Iterator[tuple[str, Make]]:
    """Yield values of ``out=``: a text, and a function that makes one from a module and the arguments.

    Outputs of the operands' dtype have all layouts. Those of float64 have every second one, by turns among the
    functions. Operands of other dtypes than `FEW_DTYPES` have outputs in C order only. With `every` all have all.
    """
    for kind in OUTPUTS:
        yield f"of {kind}", lambda xp, args, kind=kind: xp.zeros(shape, kind)
    for kind in dict.fromkeys((dtype, "float64")) if every or dtype in FEW_DTYPES else ():
        chosen = list(LAYOUTS) if every or kind == dtype else list(LAYOUTS)[NAMES.index(name) % 2 :: 2]
        for text in chosen:
            make = LAYOUTS[text]
            if not (text == "an axis less" and name.startswith(("cum", "nancum"))):  # NumPy 2.4 ends the process
                yield f"of {kind}, {text}", lambda xp, args, kind=kind, make=make: make(xp, shape, kind)
    for number, one in enumerate(arrays_of(sample_of(name))):
        for text, part in AMONG.items():
            fits = one.ndim > 0 if text != "transposed" else one.ndim > 1
            running = name.startswith(("cum", "nancum")) and text.startswith("its")
            if fits and not running:
                yield (
                    f"operand {number}, {text}",
                    lambda xp, args, number=number, part=part: part(list(arrays_of(args))[number]),
                )


def outcome(name: str, dtype: str, make: Make, xp: ModuleType) -> tuple[Any, Exception | None]:
    """What is in the output afterwards, or the exception."""
    args = arguments(name, dtype, xp)
    out = make(xp, args)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = getattr(xp, name)(*args, **KEYWORDS.get(name, {}), out=out)
        except Exception as error:
            return None, error
    assert found is out
    return np.asarray(out), None


def unlike(ours: tuple[Any, Exception | None], theirs: tuple[Any, Exception | None]) -> str | None:
    (found, raised), (value, error) = ours, theirs
    skip_without_float64(raised)
    if error is not None:
        # where NumPy asks a ufunc, its error is a TypeError of the ufunc's
        alike = raised is not None and (isinstance(raised, type(error)) or isinstance(error, type(raised)))
        return None if alike else f"{raised!r} instead of {error!r}"
    if raised is not None:
        return f"{raised!r}, NumPy gives {value!r}"
    if value.dtype.kind not in "fc":
        same = np.array_equal(found, value)
    else:
        scale = np.abs(value[np.isfinite(value)]).max(initial=0)
        bound = 64 * max(np.finfo(value.dtype).eps, 2.0**-23) * float(scale)
        same = np.allclose(found, value, rtol=0, atol=bound, equal_nan=True)
    return None if same else f"{found!r} instead of {value!r}"


# Functions that are called with operands of every dtype; the others with two of them, and with all by ``--exhaustive``.
EVERY_DTYPE = [
    "add",
    "clip",
    "cumsum",
    "dot",
    "matmul",
    "max",
    "mean",
    "nansum",
    "prod",
    "sqrt",
    "std",
    "sum",
    "take",
    "var",
]
FEW_DTYPES = ["uint8", "float32"]
CALLS = [
    pytest.param(name, dtype, marks=[] if dtype in FEW_DTYPES or name in EVERY_DTYPE else pytest.mark.exhaustive)
    for name in NAMES
    for dtype in OPERANDS
]


@pytest.mark.parametrize(("name", "dtype"), CALLS)
def test_outputs(request: pytest.FixtureRequest, name: str, dtype: str) -> None:
    every = request.config.getoption("--exhaustive")
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            shape = np.shape(getattr(np, name)(*arguments(name, dtype, np), **KEYWORDS.get(name, {})))
    except TypeError:
        pytest.skip("NumPy has no such loop")
    found = {}
    for text, make in outputs(name, shape, dtype, every):
        said = unlike(outcome(name, dtype, make, clarray), outcome(name, dtype, make, np))
        if said is not None:
            found[text] = said
    assert not found, "\n".join(f"out {text}\n    {said}" for text, said in found.items())
