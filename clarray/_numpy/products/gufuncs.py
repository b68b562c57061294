"""NumPy's generalized ufuncs of products: matmul, vecdot, matvec and vecmat with their keywords."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np

from clarray._core import callers
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, checked_target
from clarray._core.host_data import device_dtype
from clarray._core.operands import on_device
from clarray._core.small_calls import Rule, small_call
from clarray._core.ufunc_calls import assign, broadcast, device_of_operands, laid_out
from clarray._core.writes import one_hold
from clarray._engine.expr.axes import axis_number
from clarray._engine.expr.overlap import k_order_strides
from clarray._engine.expr.result_layout import layout_of
from clarray._engine.expr.view import View, can_broadcast, check_order
from clarray._engine.ops.promotion import resolve
from clarray._engine.runtime import Device
from clarray._engine.speedups import recorded
from clarray._numpy.manipulation import shapes
from clarray._numpy.products.contraction import conjugate, contract
from clarray._numpy.products.vectors import vector_product

# Labels of the core axes: the operands', then the result's; "?" in NumPy's signature makes matmul's optional.
_CORES: dict[str, tuple[str, str, str]] = {
    "matmul": ("mk", "kn", "mn"),
    "vecdot": ("k", "k", ""),
    "matvec": ("mk", "k", "m"),
    "vecmat": ("k", "kn", "n"),
}
_CONJUGATE = ("vecdot", "vecmat")  # the first operand
_LONE = (int, float, complex, str, bytes, np.generic)  # what has no axes, which each operand needs
_NOTHING_GIVEN = {"out": None, "axes": None, "axis": None, "keepdims": False, "order": "K"}

generalized: dict[np.ufunc, tuple[str, str, str]] = {
    getattr(np, name): cores for name, cores in _CORES.items() if hasattr(np, name)
}


class _Unfit(Exception):
    """The operands do not fit each other: NumPy is asked to say why."""


@one_hold("out")
def call(
    ufunc: np.ufunc,
    inputs: tuple[Any, ...],
    *,
    out: Any = None,
    axes: Any = None,
    axis: Any = None,
    keepdims: bool = False,
    dtype: Any = None,
    signature: Any = None,
    sig: Any = None,
    casting: str = "same_kind",
    order: str = "K",
    subok: bool = True,
) -> Any:
    """``ufunc(*inputs)`` for one of `generalized`, with NumPy's keywords.

    Returns
    -------
    DeviceArray or NotImplemented

    Raises
    ------
    ValueError
        The shapes do not fit, as NumPy says it.
    """
    if ufunc is np.matmul and len(inputs) == 2 and out is axes is dtype is signature is sig is None and not keepdims:
        inputs = _on_device(*inputs)
        short = vector_product(*inputs)
        if short is not None:
            return short
        if (
            axis is None
            and casting == "same_kind"
            and order == "K"
            and type(inputs[0]) is type(inputs[1]) is DeviceArray
        ):
            return product(*inputs)
    out = _output(ufunc, inputs, out)
    if any(x is None or isinstance(x, _LONE) for x in inputs[:2]):
        _let_numpy_say(ufunc, inputs[0], inputs[1], {"out": out, "dtype": dtype, "casting": casting})
    device = device_of_operands((*inputs, out))
    a, b = as_array(inputs[0], device), as_array(inputs[1], device)
    order = "K" if order is None else check_order(order)
    given = {"out": out, "axes": axes, "axis": axis, "keepdims": keepdims, "order": order}
    return _resolved_call(ufunc, a, b, device, dtype, signature if signature is not None else sig, casting, given)


def _on_device(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the operands of a product, ndarrays and lists beside a device array as device arrays."""
    if type(a) is DeviceArray:
        return a, on_device(b, a)
    return (on_device(a, b), b) if type(b) is DeviceArray else (a, b)


def multiplied(a: Any, b: Any) -> int:
    """How many products of elements a product of matrices has, or more; vectors and numbers are taken for them."""
    b = np.asarray(b)
    return np.asarray(a).size * (b.size // b.shape[-min(2, b.ndim)] if b.ndim else 1)


def all_pairs(a: Any, b: Any, *_: Any, **__: Any) -> int:
    """How many products there are of an element of each operand."""
    return np.size(a) * np.size(b)


@recorded
def _product(a: DeviceArray, b: DeviceArray) -> DeviceArray:
    """``a @ b`` of arrays that `vector_product` does not multiply."""
    return _resolved_call(np.matmul, a, b, device_of_operands((a, b)), None, None, "same_kind", _NOTHING_GIVEN)


_small_product = small_call(_product, Rule(np.matmul, "integers", multiplied))


def product(a: DeviceArray, b: DeviceArray) -> DeviceArray:
    """``a @ b`` of arrays that `vector_product` does not multiply."""
    return (_small_product if a._node.dtype.kind in "biu" else _product)(a, b)


def _output(ufunc: np.ufunc, inputs: tuple[Any, ...], out: Any) -> DeviceArray | None:
    """The array that a call writes to, by keyword or by position, if it may be written."""
    given_out = inputs[2:]
    if len(given_out) == 1 and out is None:
        out = given_out[0]
    elif len(inputs) != 2:
        raise TypeError(f"{ufunc.__name__}() takes from 2 to 3 positional arguments but {len(inputs)} were given")
    out = out[0] if isinstance(out, tuple) else out
    if out is None:
        return None
    target = checked_target(out, "return arrays must be of DeviceArray type, not {}")
    target.check_writeable("output array is read-only")
    return target


def _resolved_call(
    ufunc: np.ufunc,
    a: DeviceArray,
    b: DeviceArray,
    device: Device,
    dtype: Any,
    signature: Any,
    casting: str,
    given: dict[str, Any],
) -> DeviceArray:
    """The product of two arrays in the dtype that NumPy would choose; `given` are the other keywords."""
    found = resolve(ufunc, (a.dtype, b.dtype), dtype, signature, casting)
    for operand, each in zip((a, b), found[0], strict=True):
        callers.warn_of_lost_parts(operand.dtype, each)
    result = device_dtype(found[1][0], device)
    try:
        return _call(ufunc, a, b, result, casting, **given)
    except _Unfit:
        _let_numpy_say(ufunc, a, b, given)
        raise ValueError(f"{ufunc.__name__}: operands of shapes {a.shape} and {b.shape} do not fit") from None


def _call(
    ufunc: np.ufunc,
    a: DeviceArray,
    b: DeviceArray,
    dtype: np.dtype,
    casting: Any,
    out: Any,
    axes: Any,
    axis: Any,
    keepdims: bool,
    order: str,
) -> DeviceArray:
    operands = (a._node, b._node)
    places = None if axes is None else tuple(map(_as_axes, _listed(axes)))
    axis = None if axis is None else axis_number(axis)
    found = _arranged(ufunc, a.shape, b.shape, places, axis, bool(keepdims))
    fits = None if out is None else _checked(out, found, dtype, casting, ufunc)
    if found.a_lone:
        a = shapes.squeeze(a, found.a_lone)
    if found.b_lone:
        b = shapes.squeeze(b, found.b_lone)
    if ufunc.__name__ in _CONJUGATE:
        a = conjugate(a)
    like = None if keepdims or out is not None else _layout(found, a, b)
    made = contract(a, found.a_labels, b, found.b_labels, found.labels, dtype, None if keepdims else fits, like)
    if keepdims:
        made = made.reshape(found.shape)
    if out is None and order != "K":
        return cast(DeviceArray, laid_out(made._node, order, operands))
    if out is None or made is out:
        return made
    if made.ndim > out.ndim:
        made = made.reshape(made.shape[made.ndim - out.ndim :])
    assign(out, broadcast(made._node, out.shape))
    return cast(DeviceArray, out)


def _layout(found: _Arranged, a: DeviceArray, b: DeviceArray) -> View:
    """How a result lies in memory: loops as the operands do, and core axes in C order inside of them."""
    views = []
    for x, own in ((a, found.a_labels), (b, found.b_labels)):
        steps = dict(zip(own, layout_of(x._node).strides, strict=True))
        strides = [0 if isinstance(label, str) else steps.get(label, 0) for label in found.labels]
        views.append(View(found.shape, tuple(strides)))
    return View(found.shape, k_order_strides(views, found.shape))


class _Arranged(NamedTuple):
    """A call's contraction: labels of the operands and the result, and the axes that go before."""

    a_labels: list[Any]
    b_labels: list[Any]
    labels: list[Any]
    shape: tuple[int, ...]
    a_lone: tuple[int, ...]
    b_lone: tuple[int, ...]


@lru_cache(maxsize=1024)
def _arranged(
    ufunc: np.ufunc, a: tuple[int, ...], b: tuple[int, ...], axes: Any, axis: Any, keepdims: bool
) -> _Arranged:
    """Label the axes of operands of shapes `a` and `b`."""
    cores = _core_axes(ufunc, a, b)
    places = _places(ufunc, cores, axes, axis, keepdims)
    a_labels = _labels(len(a), cores[0], _normalized(places[0], len(a)))
    b_labels = _labels(len(b), cores[1], _normalized(places[1], len(b)))
    extents = _extents((a, a_labels), (b, b_labels))
    loops = sorted(label for label in extents if not isinstance(label, str))
    labels = _placed([*loops, *cores[2]], len(cores[2]), places[2], keepdims)
    if keepdims:
        extents["kept"] = 1
    shape = tuple(extents[label] for label in labels)
    a_lone, b_lone = (
        tuple(i for i, label in enumerate(own) if given[i] != extents[label])
        for given, own in ((a, a_labels), (b, b_labels))
    )
    return _Arranged(
        [label for i, label in enumerate(a_labels) if i not in a_lone],
        [label for i, label in enumerate(b_labels) if i not in b_lone],
        [label for label in labels if label != "kept"],
        shape,
        a_lone,
        b_lone,
    )


def _listed(axes: Any) -> list[Any]:
    if not isinstance(axes, list):
        raise TypeError("axes should be a list.")
    return axes


def _as_axes(each: Any) -> tuple[int, ...]:
    return tuple(map(operator.index, each)) if isinstance(each, tuple | list) else (operator.index(each),)


def _extents(*operands: tuple[tuple[int, ...], list[Any]]) -> dict[Any, int]:
    """The extent of each label; only the axes of the loop broadcast."""
    extents: dict[Any, int] = {}
    for shape, labels in operands:
        for label, extent in zip(labels, shape, strict=True):
            known = extents.get(label, extent)
            if known != extent and (isinstance(label, str) or 1 not in (known, extent)):
                raise _Unfit
            extents[label] = extent if known == 1 else known
    return extents


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


def _core_axes(ufunc: np.ufunc, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[str, str, str]:
    """Labels of the core axes, of which matmul drops those that 1-d operands lack."""
    one, two, three = generalized[ufunc]
    if ufunc is np.matmul:
        if len(a) == 1:
            one, three = "k", three.replace("m", "")
        if len(b) == 1:
            two, three = "k", three.replace("n", "")
    if len(a) < len(one) or len(b) < len(two):
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
    places: list[tuple[int, ...]] = [*axes, ()] if len(axes) == 2 and not cores[2] else list(axes)
    if len(places) != 3:
        raise _Unfit
    wanted = [len(core) for core in cores]
    if keepdims:
        places[2] = places[2] or (default[0] if len(axes) == 2 else places[0])
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


def _labels(ndim: int, core: str, places: tuple[int, ...]) -> list[Any]:
    """A label per axis: letters for core axes, numbers for those of the loop, -1 the last."""
    labels: list[Any] = [None] * ndim
    for letter, place in zip(core, places, strict=True):
        labels[place] = letter
    number = 0
    for axis in reversed(range(ndim)):
        if labels[axis] is None:
            number -= 1
            labels[axis] = number
    return labels


def _checked(out: DeviceArray, found: _Arranged, dtype: np.dtype, casting: Any, ufunc: np.ufunc) -> DeviceArray | None:
    """`out` if the result can be computed in it, None if it has to be written there afterwards.

    The axes of the loop are broadcast to those of `out`, which may lack leading ones of one element; core axes, which
    come last, must be as long.
    """
    if not np.can_cast(dtype, out.dtype, casting):
        raise TypeError(
            f"Cannot cast ufunc '{ufunc.__name__}' output from {dtype!r} to {out.dtype!r} with casting rule {casting!r}"
        )
    if out.shape == found.shape:
        return out if out.dtype == dtype else None
    core = sum(isinstance(label, str) for label in found.labels)
    loops, wanted = len(found.shape) - core, out.ndim - core
    lacking = max(loops - wanted, 0)
    if (
        wanted < 0
        or out.shape[wanted:] != found.shape[loops:]
        or found.shape[:lacking] != (1,) * lacking
        or not can_broadcast(found.shape[lacking:loops], out.shape[:wanted])
    ):
        raise _Unfit
    return None


def _let_numpy_say(ufunc: np.ufunc, a: Any, b: Any, given: dict[str, Any]) -> None:
    """Call NumPy's function on arrays of these shapes, as it has the words for what is wrong."""
    kwargs = {k: v for k, v in given.items() if v is not None and v is not False}
    if "out" in kwargs:
        kwargs["out"] = np.empty(kwargs["out"].shape, kwargs["out"].dtype)
    ufunc(
        *(np.broadcast_to(np.zeros((), x.dtype), x.shape) if isinstance(x, DeviceArray) else x for x in (a, b)),
        **kwargs,
    )


__all__ = ["all_pairs", "call", "generalized", "multiplied"]
