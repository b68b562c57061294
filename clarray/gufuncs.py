"""NumPy's generalized ufuncs of products: matmul, vecdot, matvec and vecmat with their keywords."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from clarray import manipulation
from clarray.array import DeviceArray, as_array
from clarray.contraction import conjugate, contract
from clarray.hostdata import device_dtype
from clarray.operands import is_foreign
from clarray.ops.promotion import resolve
from clarray.ufunc_calls import assign, device_of_operands

# Labels of the core axes: the operands', then the result's; "?" in NumPy's signature makes matmul's optional.
_CORES: dict[str, tuple[str, str, str]] = {
    "matmul": ("mk", "kn", "mn"),
    "vecdot": ("k", "k", ""),
    "matvec": ("mk", "k", "m"),
    "vecmat": ("k", "kn", "n"),
}
_CONJUGATE = ("vecdot", "vecmat")  # the first operand

generalized: dict[np.ufunc, tuple[str, str, str]] = {
    getattr(np, name): cores for name, cores in _CORES.items() if hasattr(np, name)
}


class _Unfit(Exception):
    """The operands do not fit each other: NumPy is asked to say why."""


def call(
    ufunc: np.ufunc, inputs: tuple[Any, ...], *, out: Any = None, axes: Any = None, axis: Any = None,
    keepdims: bool = False, dtype: Any = None, signature: Any = None, sig: Any = None,
    casting: str = "same_kind", order: str = "K", subok: bool = True,
) -> Any:  # fmt: skip
    """``ufunc(*inputs)`` for one of `generalized`, with NumPy's keywords.

    Returns
    -------
    DeviceArray or NotImplemented

    Raises
    ------
    ValueError
        The shapes do not fit, as NumPy says it.
    """
    if any(is_foreign(x) for x in inputs):
        return NotImplemented
    given_out = inputs[2:]
    if len(given_out) == 1 and out is None:
        out = given_out[0]
    elif len(inputs) != 2:
        raise TypeError(
            f"{ufunc.__name__}() takes from 2 to 3 positional arguments but {len(inputs)} were given"
        )
    out = out[0] if isinstance(out, tuple) else out
    if out is not None and not isinstance(out, DeviceArray):
        raise TypeError(f"return arrays must be of DeviceArray type, not {type(out).__name__}")
    device = device_of_operands((*inputs, out))
    a, b = as_array(inputs[0], device), as_array(inputs[1], device)
    given = {"out": out, "axes": axes, "axis": axis, "keepdims": keepdims}
    signature = signature if signature is not None else sig
    found = resolve(ufunc, (a.dtype, b.dtype), dtype, signature, casting)
    result = device_dtype(found[1][0], device)
    try:
        return _call(ufunc, a, b, result, casting, **given)
    except _Unfit:
        _let_numpy_say(ufunc, a, b, given)
        raise ValueError(f"{ufunc.__name__}: operands of shapes {a.shape} and {b.shape} do not fit") from None


def _call(
    ufunc: np.ufunc, a: DeviceArray, b: DeviceArray, dtype: np.dtype, casting: Any, out: Any, axes: Any,
    axis: Any, keepdims: bool,
) -> DeviceArray:  # fmt: skip
    cores = _core_axes(ufunc, a, b)
    places = _places(ufunc, cores, axes, axis, keepdims)
    a_labels = _labels(a, cores[0], _normalized(places[0], a.ndim))
    b_labels = _labels(b, cores[1], _normalized(places[1], b.ndim))
    extents = _extents((a, a_labels), (b, b_labels))
    loops = sorted(label for label in extents if not isinstance(label, str))
    labels = _placed([*loops, *cores[2]], len(cores[2]), places[2], keepdims)
    if keepdims:
        extents["kept"] = 1
    shape = tuple(extents[label] for label in labels)
    fits = None if out is None else _checked(out, shape, dtype, casting, ufunc)
    a, a_labels = _without_repeats(a, a_labels, extents)
    b, b_labels = _without_repeats(b, b_labels, extents)
    if ufunc.__name__ in _CONJUGATE:
        a = conjugate(a)
    kept = [label for label in labels if label != "kept"]
    made = contract(a, a_labels, b, b_labels, kept, dtype, None if keepdims else fits)
    if keepdims:
        made = made.reshape(shape)
    if out is None or made is out:
        return made
    assign(out, made._node)
    return cast(DeviceArray, out)


def _extents(*operands: tuple[DeviceArray, list[Any]]) -> dict[Any, int]:
    """The extent of each label; only the axes of the loop broadcast."""
    extents: dict[Any, int] = {}
    for array, labels in operands:
        for label, extent in zip(labels, array.shape, strict=True):
            known = extents.get(label, extent)
            if known != extent and (isinstance(label, str) or 1 not in (known, extent)):
                raise _Unfit
            extents[label] = extent if known == 1 else known
    return extents


def _without_repeats(
    array: DeviceArray, labels: list[Any], extents: dict[Any, int]
) -> tuple[DeviceArray, list[Any]]:
    """An operand without the axes of one element that repeat over the loop."""
    lone = tuple(i for i, label in enumerate(labels) if array.shape[i] != extents[label])
    if not lone:
        return array, labels
    kept = [label for i, label in enumerate(labels) if i not in lone]
    return manipulation.squeeze(array, lone), kept


def _placed(labels: list[Any], core: int, places: tuple[int, ...], keepdims: bool) -> list[Any]:
    """The result's labels with the core axes, or the one that is kept, where the call wants them."""
    own = ["kept"] if keepdims else labels[len(labels) - core :]
    found = labels[: len(labels) - core]
    ndim = len(found) + len(own)
    where = [p % ndim for p in places if -ndim <= p < ndim]
    if len(where) != len(own) or len(set(where)) != len(where):
        raise _Unfit
    for p, label in sorted(zip(where, own, strict=True), key=lambda each: each[0]):
        found.insert(p, label)
    return found


def _core_axes(ufunc: np.ufunc, a: DeviceArray, b: DeviceArray) -> tuple[str, str, str]:
    """Labels of the core axes, of which matmul drops those that 1-d operands lack."""
    one, two, three = generalized[ufunc]
    if ufunc is np.matmul:
        if a.ndim == 1:
            one, three = "k", three.replace("m", "")
        if b.ndim == 1:
            two, three = "k", three.replace("n", "")
    if a.ndim < len(one) or b.ndim < len(two):
        raise _Unfit
    return one, two, three


def _places(
    ufunc: np.ufunc, cores: tuple[str, str, str], axes: Any, axis: Any, keepdims: bool
) -> list[tuple[int, ...]]:
    """Where the core axes are, of the operands and of the result: the last ones unless it is said otherwise."""
    default = [tuple(range(-len(core), 0)) for core in cores]
    single = cores[0] == cores[1] and len(cores[0]) == 1 and not cores[2] and ufunc is not np.matmul
    if axis is not None:
        if axes is not None:
            raise TypeError("cannot specify both 'axis' and 'axes'")
        if not single:
            raise _Unfit
        return [(axis,), (axis,), (axis,) if keepdims else ()]
    if keepdims and not single:
        raise _Unfit
    if axes is None:
        return [*default[:2], default[0]] if keepdims else default
    if not isinstance(axes, list):
        raise TypeError("axes should be a list.")
    if len(axes) == 2 and not cores[2]:
        axes = [*axes, ()]
    if len(axes) != 3:
        raise _Unfit
    places = [(each,) if isinstance(each, int) else tuple(each) for each in axes]
    wanted = [len(core) for core in cores]
    if keepdims:
        places[2] = places[2] or places[0]
        wanted[2] = 1
    if [len(each) for each in places] != wanted:
        raise _Unfit
    return places


def _normalized(places: Sequence[int], ndim: int) -> tuple[int, ...]:
    if any(not -ndim <= p < ndim for p in places):
        raise _Unfit
    found = tuple(p % ndim for p in places)
    if len(set(found)) != len(found):
        raise _Unfit
    return found


def _labels(array: DeviceArray, core: str, places: tuple[int, ...]) -> list[Any]:
    """A label per axis: letters for core axes, numbers for those of the loop, -1 the last."""
    labels: list[Any] = [None] * array.ndim
    for letter, place in zip(core, places, strict=True):
        labels[place] = letter
    number = 0
    for axis in reversed(range(array.ndim)):
        if labels[axis] is None:
            number -= 1
            labels[axis] = number
    return labels


def _checked(
    out: DeviceArray, shape: tuple[int, ...], dtype: np.dtype, casting: Any, ufunc: np.ufunc
) -> DeviceArray | None:
    """`out` if the result can be computed in it, None if it has to be written there afterwards."""
    if not np.can_cast(dtype, out.dtype, casting):
        raise TypeError(
            f"Cannot cast ufunc '{ufunc.__name__}' output from {dtype!r} to {out.dtype!r} with casting rule {casting!r}"
        )
    if out.shape != shape:
        raise _Unfit
    out.check_writeable("output array is read-only")
    return out if out.dtype == dtype else None


def _let_numpy_say(ufunc: np.ufunc, a: DeviceArray, b: DeviceArray, given: dict[str, Any]) -> None:
    """Call NumPy's function on arrays of these shapes, as it has the words for what is wrong."""
    kwargs = {k: v for k, v in given.items() if v is not None and v is not False}
    if "out" in kwargs:
        kwargs["out"] = np.empty(kwargs["out"].shape, kwargs["out"].dtype)
    ufunc(*(np.broadcast_to(np.zeros((), x.dtype), x.shape) for x in (a, b)), **kwargs)


__all__ = ["call", "generalized"]
