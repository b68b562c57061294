"""Every function and method that clarray shares with NumPy, called once with a small sample: the same result.

The chapters' own tests go deep; this one goes wide, and fails on a function that has no sample.
"""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray

from ...conftest import lacks_float64
from ..closeness import on_device, outcome
from ..conftest import policy_in_force

pytestmark = pytest.mark.usefixtures("quick_builds")

X = np.array([[3, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8]], "float32")
Y = X[::-1] / 4
V = X[0].copy()
N = np.array([0, 2, 1, 2])
B = X > 3
SORTED = np.sort(X.ravel())
STORED = io.BytesIO()
np.save(STORED, X)

NO_CALL = {
    "__array_namespace_info__": "a class of the standard's",
    "nditer": "an iterator; tests/device/indexing has its own",
    "nested_iters": "iterators; tests/device/indexing has its own",
    "empty": "values that nobody set",
    "empty_like": "values that nobody set",
    "show_config": "prints about this machine",
    "memory_info": "tells of this process's memory",
    "free_memory": "gives this process's memory back",
    "save": "writes a file",
    "savez": "writes a file",
    "savez_compressed": "writes a file",
    "savetxt": "writes a file",
    "fromfile": "reads a file",
    "genfromtxt": "reads a file",
}
# What a call with one or two matrices is not enough for, or not right.
SAMPLES: dict[str, tuple[Any, ...]] = {
    "apply_along_axis": (lambda line: line[::2] * 2, 1, X),
    "apply_over_axes": (np.sum, X, [0]),
    "arange": (1, 7, 2),
    "argpartition": (X, 1),
    "around": (Y, 1),
    "array_equiv": (X, V),
    "array_split": (X, 3),
    "astype": (X, "int16"),
    "average": (X, 0, V[:3]),
    "bartlett": (5,),
    "bincount": (N,),
    "blackman": (5,),
    "block": ([[X, X]],),
    "broadcast_to": (V, (2, 4)),
    "can_cast": ("int8", "int16"),
    "choose": (N % 2, (V, V * 2)),
    "clip": (X, 2, 5),
    "column_stack": ((X, V[:3]),),
    "compress": (B[0], X, 1),
    "concat": ((X, X),),
    "concatenate": ((X, X), 1),
    "convolve": (V, V[:2]),
    "copyto": (X, V),
    "correlate": (V, V[:2]),
    "cross": (X[:, :3], Y[:, :3]),
    "cumulative_prod": (V,),
    "cumulative_sum": (V,),
    "delete": (X, 1, 0),
    "diag_indices": (3,),
    "diag_indices_from": (X[:, :3],),
    "digitize": (X, SORTED),
    "dot": (X, V),
    "dsplit": (X[..., None], 1),
    "dstack": ((X, X),),
    "einsum": ("ij,ij->i", X, Y),
    "einsum_path": ("ij,jk->ik", X, X.T),
    "expand_dims": (X, 1),
    "extract": (B, X),
    "eye": (3,),
    "fill_diagonal": (X, 7),
    "frombuffer": (b"\0\0\x80?", "float32"),
    "fromfunction": (lambda i, j: i + j, (2, 3)),
    "fromiter": ((1, 2), "int16"),
    "fromstring": ("1 2",),
    "full": ((2, 3), 7),
    "full_like": (X, 7),
    "geomspace": (1, 8, 4),
    "gradient": (V,),
    "hamming": (5,),
    "hanning": (5,),
    "histogram2d": (V, V),
    "hsplit": (X, 2),
    "hstack": ((X, X),),
    "identity": (3,),
    "indices": ((2, 3),),
    "insert": (X, 1, 7, 0),
    "interp": (X, SORTED, SORTED * 2),
    "intersect1d": (N, N),
    "ix_": (N, N),
    "kaiser": (5, 3.0),
    "kron": (V, V),
    "lexsort": ((X[1], X[0]),),
    "linspace": (0, 1, 5),
    "load": (STORED,),
    "loadtxt": (["1 2", "3 4"],),
    "logspace": (0, 1, 5),
    "mask_indices": (3, np.triu),
    "mintypecode": ("f",),
    "moveaxis": (X, 0, 1),
    "nanpercentile": (X, 30),
    "nanquantile": (X, 0.3),
    "ones": ((2, 3),),
    "outer": (V, V),
    "packbits": (B,),
    "pad": (X, 1),
    "partition": (X, 1),
    "percentile": (X, 30),
    "permute_dims": (X, (1, 0)),
    "piecewise": (X, [B, ~B], [1, 2]),
    "place": (X, B, V),
    "poly": (V,),
    "polyadd": (V, V),
    "polyder": (V,),
    "polydiv": (V, V[:2]),
    "polyfit": (V[:3], V[:3] * 2, 1),
    "polyint": (V,),
    "polymul": (V, V),
    "polysub": (V, V),
    "polyval": (V, X),
    "put": (X, N, V),
    "put_along_axis": (X, X.argsort(1), Y, 1),
    "putmask": (X, B, V),
    "quantile": (X, 0.3),
    "ravel_multi_index": ((N, N), (3, 3)),
    "repeat": (X, 2, 1),
    "require": (X, None, "C"),
    "reshape": (X, (4, 3)),
    "resize": (X, (2, 3)),
    "result_type": (X, "int8"),
    "roll": (X, 1),
    "rollaxis": (X, 1),
    "roots": (V,),
    "round": (Y, 1),
    "searchsorted": (SORTED, X),
    "select": ([B, ~B], [X, Y]),
    "setdiff1d": (N, N[:1]),
    "setxor1d": (N, N[:1]),
    "split": (X, 3),
    "stack": ((X, X),),
    "swapaxes": (X, 0, 1),
    "take": (X, N, 1),
    "take_along_axis": (X, X.argsort(1), 1),
    "tensordot": (X, X.T, 1),
    "tile": (X, 2),
    "tri": (3,),
    "tril_indices": (3,),
    "trim_zeros": (N - 1,),
    "triu_indices": (3,),
    "union1d": (N, N + 1),
    "unique_all": (N,),
    "unpackbits": (np.arange(9, dtype="uint8"),),
    "unravel_index": (N, (3, 3)),
    "vander": (V,),
    "vdot": (X, X),
    "vsplit": (X, 3),
    "vstack": ((X, X),),
    "zeros": ((2, 3),),
}
KEYWORDS: dict[str, dict[str, Any]] = {"fromstring": {"sep": " "}} | {
    name: {"dtype": "float32"}
    for name in [
        *("eye", "full", "fromfunction", "geomspace", "identity", "linspace", "loadtxt", "logspace", "ones", "tri"),
        "zeros",
    ]
}
METHODS: dict[str, tuple[Any, ...]] = {
    "astype": ("int16",),
    "choose": ((X, X),),
    "clip": (2, 5),
    "compress": ([True, False, True], 0),
    "dot": (V,),
    "fill": (7,),
    "getfield": ("int16",),
    "item": (3,),
    "put": (N, V),
    "repeat": (2,),
    "reshape": (4, 3),
    "searchsorted": (V,),
    "setfield": (7, "int16"),
    "swapaxes": (0, 1),
    "take": (N,),
    "partition": (1,),
    "argpartition": (1,),
    "view": ("int32",),
    "round": (1,),
}
NO_METHOD = {
    "dump": "writes a file",
    "tofile": "writes a file",
    "dumps": "the pickle is clarray's own",
    "resize": "NumPy's depends on who refers to the array",
    "to_device": "NumPy's has another signature",
}

FUNCTIONS = sorted(
    name
    for name in np.__all__
    if inspect.isroutine(function := getattr(clarray, name, None)) and str(function.__module__).startswith("clarray")
)
SHARED_METHODS = sorted(
    name
    for name in dir(np.ndarray)
    if not name.startswith("_") and callable(getattr(np.ndarray, name)) and hasattr(clarray.DeviceArray, name)
)


def required(name: str) -> int:
    """How many arguments a call must have."""
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(getattr(clarray, name)).parameters.values()
    return sum(p.default is inspect.Parameter.empty and p.kind not in named for p in parameters)


def sample(name: str) -> tuple[Any, ...]:
    found = SAMPLES.get(name)
    if found is None:
        count = required(name)
        assert count <= 2, f"give a sample of the arguments of clarray.{name}, or say in NO_CALL why there is none"
        found = (X, Y)[:count]
    return found


def fresh(value: Any) -> Any:
    """The same arguments, which a call may write to."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, io.BytesIO):
        return io.BytesIO(value.getvalue())
    return type(value)(map(fresh, value)) if type(value) in (tuple, list) else value


def assert_alike(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, tuple | list):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            assert_alike(mine, other)
    elif isinstance(theirs, np.ndarray | np.generic):
        is_on_device = isinstance(ours, clarray.DeviceArray)
        assert is_on_device or type(ours) is type(theirs), f"{type(ours).__name__} is not on the device"
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        if theirs.dtype.kind in "fc":
            np.testing.assert_allclose(clarray.asnumpy(ours), theirs, rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(clarray.asnumpy(ours), theirs)
    else:
        assert type(ours) is type(theirs)
        assert ours == theirs


def inside(x: Any) -> Any:
    """The array as a part of a larger one: no run of memory, and at an odd place."""
    wide = clarray.zeros(tuple(2 * n + 1 for n in x.shape), x.dtype)
    part = wide[tuple(slice(1, 2 * n + 1, 2) for n in x.shape)]
    part[...] = x
    return part


def computed(x: Any) -> Any:
    """The array as an expression that nobody has evaluated yet."""
    own = clarray.array(x)  # what reads memory of the user's is evaluated at once
    return ~~own if x.dtype.kind == "b" else np.negative(-own)


FORMS: dict[str, Callable[[Any], Any]] = {"memory": lambda x: x, "inside": inside, "computed": computed}


def formed(value: Any, form: str) -> Any:
    if isinstance(value, clarray.DeviceArray):
        return FORMS[form](value) if value.ndim else value
    return type(value)(formed(v, form) for v in value) if type(value) in (tuple, list) else value


def check(
    name: str, ours: Any, theirs: Any, args: tuple[Any, ...], kwargs: dict[str, Any], form: str = "memory"
) -> None:
    """Call both with arguments of their own, and compare what is returned and what is left in the arguments."""
    given, expected = formed(on_device(fresh(args)), form), fresh(args)
    wanted = theirs(*expected, **kwargs)
    found, error = outcome(ours, given, kwargs)
    if error is not None and lacks_float64(error):
        assert has_float64((wanted, *expected)), f"{name} makes float64 where NumPy makes none"
    if error is not None:
        raise error
    check_results(found, wanted, given, expected)


def has_float64(value: Any) -> bool:
    """Return whether NumPy's result, or an array in it, has a dtype of double precision."""
    if type(value) in (tuple, list) or hasattr(value, "_fields"):
        return any(map(has_float64, value))
    return isinstance(value, float | complex) or getattr(value, "dtype", np.dtype(int)) in (np.float64, np.complex128)


def check_results(found: Any, wanted: Any, given: Any, expected: Any) -> None:
    """Compare what two calls returned, and what they left in their arguments."""
    assert_alike(found, wanted)
    for mine, other in zip(given, expected, strict=True):
        if isinstance(other, np.ndarray):
            assert_alike(mine, other)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # each NumPy has its own
@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in NO_CALL])
def test_function(name: str) -> None:
    check(name, getattr(clarray, name), getattr(np, name), sample(name), KEYWORDS.get(name, {}))


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("name", [name for name in SHARED_METHODS if name not in NO_METHOD])
def test_method(name: str) -> None:
    array = SORTED if name == "searchsorted" else N % 2 if name == "choose" else X
    args = METHODS.get(name, ())
    check(name, getattr(clarray.DeviceArray, name), getattr(np.ndarray, name), (array, *args), {})


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("form", ["inside", "computed"])
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in NO_CALL])
def test_function_of_other_forms(name: str, form: str) -> None:
    """As planned for a GPU: whichever way an operand lies, or whether it lies anywhere."""
    with policy_in_force("gpu"):
        check(name, getattr(clarray, name), getattr(np, name), sample(name), KEYWORDS.get(name, {}), form)


def test_nothing_is_left_out_in_vain() -> None:
    assert set(NO_CALL) | set(SAMPLES) <= set(dir(clarray))  # NumPys differ in a few names
    assert set(METHODS) | set(NO_METHOD) <= set(dir(clarray.DeviceArray))
