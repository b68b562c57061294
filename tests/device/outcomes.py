"""What a call does, written once and run as NumPy's and as clarray's: all that a caller sees of it is compared."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

import clarray
from clarray._engine.ops.dtypes import DTYPES

from .closeness import skip_without_float64

ULPS = 64  # of the largest value: functions that round differently are another test's subject


def outcome(code: str, xp: ModuleType) -> tuple[Any, Exception | None, list[str]]:
    """Value, exception and categories of warnings of an expression in `xp`.

    NumPy's floating-point warnings are not among them: no device gives them. Nor are deprecations: each NumPy has
    its own, as 2.5's of `fix` and of numbers with a fraction for extents.
    """
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            value, error = settled(eval(code, {"xp": xp, "np": np})), None
        except Exception as raised:
            value, error = None, raised
    told = {each.category for each in caught} - {DeprecationWarning, PendingDeprecationWarning}
    return value, error, sorted(each.__name__ for each in told)


def settled(value: Any) -> Any:
    """Evaluate what is pending: an error may wait there."""
    if isinstance(value, clarray.DeviceArray):
        value.evaluate()
    elif isinstance(value, tuple | list):
        for each in value:
            settled(each)
    return value


def difference(code: str) -> str | None:
    """Say what differs between an expression in NumPy and in clarray; None where nothing does."""
    theirs, expected, warned = outcome(code, np)
    ours, error, warnings_ = outcome(code, clarray)
    skip_without_float64(error)
    if expected is not None:
        if error is None:
            return f"NumPy raises {expected!r}, clarray gives {ours!r}"
        return None if isinstance(error, public_class(expected)) else f"{error!r} instead of {expected!r}"
    if error is not None:
        return f"{error!r}, NumPy gives {theirs!r}"
    found = _unlike(ours, theirs)
    if found is None and warnings_ != warned:
        found = f"warnings {warnings_} instead of {warned}"
    return found


def public_class(error: Exception) -> type[Exception]:
    """Return the class of an error, or the first of its bases that is no private class of NumPy's."""
    return next(each for each in type(error).__mro__ if not each.__module__.startswith("numpy._core"))


def differences(calls: Iterable[str], inputs: Mapping[str, str] | None = None) -> dict[str, str]:
    """What differs, by the calls in which something does; names in capitals stand for inputs."""
    found = {}
    for call in calls:
        code = call
        for name, value in (inputs or {}).items():
            code = code.replace(name, value)
        unlike = difference(code)
        if unlike is not None:
            found[call] = unlike
    return found


def listed(found: Mapping[str, str]) -> str:
    """Calls and what differs in them, to be read."""
    return "\n".join(f"{call}\n    {unlike}" for call, unlike in found.items())


def _unlike(ours: Any, theirs: Any) -> str | None:
    if isinstance(theirs, np.ndarray | np.generic):
        if isinstance(ours, np.generic) != isinstance(theirs, np.generic):
            return "an array instead of a number" if isinstance(theirs, np.generic) else "a number instead of an array"
        return _unlike_array(ours, np.asarray(theirs))
    if type(ours).__name__ != type(theirs).__name__:
        return f"{type(ours).__name__} instead of {type(theirs).__name__}"
    if isinstance(theirs, tuple | list):
        if len(ours) != len(theirs):
            return f"{len(ours)} results instead of {len(theirs)}"
        return next(filter(None, map(_unlike, ours, theirs)), None)
    same = ours == theirs or (ours != ours and theirs != theirs)
    return None if same else f"{ours!r} instead of {theirs!r}"


def _unlike_array(ours: Any, theirs: np.ndarray) -> str | None:
    if not isinstance(
        ours, clarray.DeviceArray | np.generic | (np.ndarray if theirs.dtype not in DTYPES else np.generic)
    ):
        return f"{type(ours).__name__} instead of an array"
    mine, other = (ours.dtype, ours.shape), (theirs.dtype, theirs.shape)
    if mine != other:
        return f"{mine} instead of {other}"
    host = clarray.asnumpy(ours)
    if not _close(host, theirs):
        return f"{host!r} instead of {theirs!r}"
    if theirs.ndim < 2 or theirs.size < 2:  # no order, whatever its strides
        return None
    layout = [(flags.c_contiguous, flags.f_contiguous) for flags in (ours.flags, theirs.flags)]
    return None if layout[0] == layout[1] else f"contiguous (C, F) {layout[0]} instead of {layout[1]}"


def _close(ours: np.ndarray, theirs: np.ndarray) -> bool:
    if theirs.dtype.kind not in "fc":
        return np.array_equal(ours, theirs)
    scale = np.abs(theirs[np.isfinite(theirs)]).max(initial=0)
    bound = float(ULPS * np.finfo(theirs.dtype).eps * scale)
    return np.allclose(ours, theirs, rtol=0, atol=bound, equal_nan=True)
