"""NumPy's generalized ufuncs of products: matmul, vecdot, matvec and vecmat with their keywords."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np

from clarray._core import callers
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, check_target
from clarray._core.host_data import device_dtype
from clarray._core.operands import on_device
from clarray._core.small_calls import Rule, small_call
from clarray._core.ufunc_calls import assign, broadcast, device_of_operands, in_operand_order
from clarray._core.ufunc_keywords import ProductKeywords
from clarray._core.writes import with_device_lock
from clarray._engine.expr.axes import axis_number
from clarray._engine.expr.overlap import k_order_strides
from clarray._engine.expr.result_layout import result_view
from clarray._engine.expr.view import View, can_broadcast, check_order
from clarray._engine.ops.promotion import resolve
from clarray._engine.speedups import captured
from clarray._numpy.manipulation import shapes
from clarray._numpy.products.contraction import Term, conjugate, contract
from clarray._numpy.products.vectors import vector_product

# Labels of the core axes of both operands and the result. matmul's are optional, "?" in NumPy's signature.
_CORE_LABELS: dict[str, tuple[str, str, str]] = {
    "matmul": ("mk", "kn", "mn"),
    "vecdot": ("k", "k", ""),
    "matvec": ("mk", "k", "m"),
    "vecmat": ("k", "kn", "n"),
}
_CONJUGATE = ("vecdot", "vecmat")  # the first operand
_SCALAR_TYPES = (int, float, complex, str, bytes, np.generic)  # types without axes, of which each operand needs one

generalized: dict[np.ufunc, tuple[str, str, str]] = {
    getattr(np, name): cores for name, cores in _CORE_LABELS.items() if hasattr(np, name)
}


_DEFAULTS = ProductKeywords()


class _ShapeMismatch(Exception):
    """The operands' shapes do not fit. The handler has NumPy raise its own error."""


@with_device_lock("out")
def call(ufunc: np.ufunc, inputs: tuple[Any, ...], *, out: Any = None, **keywords: Any) -> Any:
    """Call a ufunc of `generalized` with NumPy's keywords, the fields of `ProductKeywords`.

    Returns
    -------
    DeviceArray or NotImplemented

    Raises
    ------
    ValueError
        The shapes do not fit. The message is NumPy's.
    """
    options = ProductKeywords(out, **keywords) if keywords else _DEFAULTS
    if len(inputs) == 2 and out is None and _is_plain_matmul(ufunc, options):
        inputs = _move_operands(*inputs)
        short = vector_product(*inputs)
        if short is not None:
            return short
        if (
            options.axis is None
            and options.casting == "same_kind"
            and options.order == "K"
            and type(inputs[0]) is type(inputs[1]) is DeviceArray
        ):
            return product(*inputs)
    out = _find_output(ufunc, inputs, out)
    options = options._replace(
        out=out, signature=options.sig if options.signature is None else options.signature, sig=None
    )
    if any(x is None or isinstance(x, _SCALAR_TYPES) for x in inputs[:2]):
        _raise_numpy_error(
            ufunc, inputs[0], inputs[1], ProductKeywords(out=out, dtype=options.dtype, casting=options.casting)
        )
    device = device_of_operands((*inputs, out))
    a, b = as_array(inputs[0], device), as_array(inputs[1], device)
    order = "K" if options.order is None else check_order(options.order)
    return _resolved_call(ufunc, a, b, options if order == options.order else options._replace(order=order))


def _is_plain_matmul(ufunc: np.ufunc, keywords: ProductKeywords) -> bool:
    """Return whether a call without output is `matmul` in the dtype that NumPy chooses, with its default axes."""
    return ufunc is np.matmul and (
        keywords is _DEFAULTS
        or (keywords.axes is keywords.dtype is keywords.signature is keywords.sig is None and not keywords.keepdims)
    )


def _move_operands(a: Any, b: Any) -> tuple[Any, Any]:
    """Return both operands as device arrays if one of them is a device array."""
    if type(a) is DeviceArray:
        return a, on_device(b, a)
    return (on_device(a, b), b) if type(b) is DeviceArray else (a, b)


def count_products(a: Any, b: Any) -> int:
    """Return an upper bound on the number of multiplications in ``a @ b``."""
    b = np.asarray(b)
    return np.asarray(a).size * (b.size // b.shape[-min(2, b.ndim)] if b.ndim else 1)


def count_pairs(a: Any, b: Any, *_: Any, **__: Any) -> int:
    """Return the number of pairs of one element of each operand."""
    return np.size(a) * np.size(b)


@captured
def _product(a: DeviceArray, b: DeviceArray) -> DeviceArray:
    """Return ``a @ b`` of arrays that `vector_product` does not multiply."""
    device_of_operands((a, b))  # raises for arrays on two devices
    return _resolved_call(np.matmul, a, b, _DEFAULTS)


_small_product = small_call(_product, Rule(np.matmul, "integers", count_products))


def product(a: DeviceArray, b: DeviceArray) -> DeviceArray:
    """Return ``a @ b`` of arrays that `vector_product` does not multiply."""
    return (_small_product if a._node.dtype.kind in "biu" else _product)(a, b)


def _find_output(ufunc: np.ufunc, inputs: tuple[Any, ...], out: Any) -> DeviceArray | None:
    """Return the output array of a call, passed by keyword or by position. ValueError if it is read-only."""
    positional_outputs = inputs[2:]
    if len(positional_outputs) == 1 and out is None:
        out = positional_outputs[0]
    elif len(inputs) != 2:
        raise TypeError(f"{ufunc.__name__}() takes from 2 to 3 positional arguments but {len(inputs)} were given")
    out = out[0] if isinstance(out, tuple) else out
    if out is None:
        return None
    target = check_target(out, "return arrays must be of DeviceArray type, not {}")
    target.check_writeable("output array is read-only")
    return target


def _resolved_call(ufunc: np.ufunc, a: DeviceArray, b: DeviceArray, keywords: ProductKeywords) -> DeviceArray:
    """Return the product of two arrays on one device in the dtype that NumPy chooses."""
    dtype, signature, casting = keywords.dtype, keywords.signature, keywords.casting
    in_dtypes, out_dtypes = resolve(ufunc, (a.dtype, b.dtype), dtype, signature, casting)
    for operand, in_dtype in zip((a, b), in_dtypes, strict=True):
        callers.warn_complex_cast(operand.dtype, in_dtype)
    out_dtype = device_dtype(out_dtypes[0], a.device)
    try:
        return _call(ufunc, a, b, out_dtype, keywords)
    except _ShapeMismatch:
        _raise_numpy_error(ufunc, a, b, keywords)
        raise ValueError(f"{ufunc.__name__}: operands of shapes {a.shape} and {b.shape} do not fit") from None


def _call(ufunc: np.ufunc, a: DeviceArray, b: DeviceArray, dtype: np.dtype, keywords: ProductKeywords) -> DeviceArray:
    out, keepdims = keywords.out, keywords.keepdims
    operands = (a._node, b._node)
    positions = None if keywords.axes is None else tuple(map(_as_axes, _as_axes_list(keywords.axes)))
    axis = None if keywords.axis is None else axis_number(keywords.axis)
    plan = _plan(ufunc, a.shape, b.shape, positions, axis, bool(keepdims))
    target = None if out is None else _check_output(out, plan, dtype, keywords.casting, ufunc)
    if plan.a_broadcast:
        a = shapes.squeeze(a, plan.a_broadcast)
    if plan.b_broadcast:
        b = shapes.squeeze(b, plan.b_broadcast)
    if ufunc.__name__ in _CONJUGATE:
        a = conjugate(a)
    like = None if keepdims or out is not None else _result_layout(plan, a, b)
    terms = Term(a, plan.a_labels), Term(b, plan.b_labels)
    result = contract(*terms, plan.labels, dtype, None if keepdims else target, like)
    if keepdims:
        result = result.reshape(plan.shape)
    if out is None and keywords.order != "K":
        return cast(DeviceArray, in_operand_order(result._node, keywords.order, operands))
    if out is None or result is out:
        return result
    if result.ndim > out.ndim:
        result = result.reshape(result.shape[result.ndim - out.ndim :])
    assign(out, broadcast(result._node, out.shape))
    return out


def _result_layout(plan: _Contraction, a: DeviceArray, b: DeviceArray) -> View:
    """Return the result's memory layout: loop axes in the operands' order, then core axes in C order."""
    layouts = []
    for x, own_labels in ((a, plan.a_labels), (b, plan.b_labels)):
        label_strides = dict(zip(own_labels, result_view(x._node).strides, strict=True))
        strides = [0 if isinstance(label, str) else label_strides.get(label, 0) for label in plan.labels]
        layouts.append(View(plan.shape, tuple(strides)))
    return View(plan.shape, k_order_strides(layouts, plan.shape))


class _Contraction(NamedTuple):
    """The contraction of a call: labels and shape of the result, labels of the operands.

    `a_broadcast` and `b_broadcast` are the axes of length 1 that broadcast, which the operands lose first.
    """

    a_labels: list[Any]
    b_labels: list[Any]
    labels: list[Any]
    shape: tuple[int, ...]
    a_broadcast: tuple[int, ...]
    b_broadcast: tuple[int, ...]


@lru_cache(maxsize=1024)
def _plan(
    ufunc: np.ufunc, a: tuple[int, ...], b: tuple[int, ...], axes: Any, axis: Any, keepdims: bool
) -> _Contraction:
    """Plan the contraction of operands of shapes `a` and `b`."""
    cores = _core_axes(ufunc, a, b)
    positions = _core_axis_positions(ufunc, cores, axes, axis, keepdims)
    a_labels = _axis_labels(len(a), cores[0], _normalize_positions(positions[0], len(a)))
    b_labels = _axis_labels(len(b), cores[1], _normalize_positions(positions[1], len(b)))
    extents = _label_extents((a, a_labels), (b, b_labels))
    loop_labels = sorted(label for label in extents if not isinstance(label, str))
    labels = _result_labels([*loop_labels, *cores[2]], len(cores[2]), positions[2], keepdims)
    if keepdims:
        extents["kept"] = 1
    shape = tuple(extents[label] for label in labels)
    a_broadcast, b_broadcast = (
        tuple(i for i, label in enumerate(own_labels) if extents_given[i] != extents[label])
        for extents_given, own_labels in ((a, a_labels), (b, b_labels))
    )
    return _Contraction(
        [label for i, label in enumerate(a_labels) if i not in a_broadcast],
        [label for i, label in enumerate(b_labels) if i not in b_broadcast],
        [label for label in labels if label != "kept"],
        shape,
        a_broadcast,
        b_broadcast,
    )


def _as_axes_list(axes: Any) -> list[Any]:
    if not isinstance(axes, list):
        raise TypeError("axes should be a list.")
    return axes


def _as_axes(axes: Any) -> tuple[int, ...]:
    return tuple(map(operator.index, axes)) if isinstance(axes, tuple | list) else (operator.index(axes),)


def _label_extents(*operands: tuple[tuple[int, ...], list[Any]]) -> dict[Any, int]:
    """Return the extent of each label. Only the loop axes broadcast."""
    extents: dict[Any, int] = {}
    for shape, labels in operands:
        for label, extent in zip(labels, shape, strict=True):
            common = extents.get(label, extent)
            if common != extent and (isinstance(label, str) or 1 not in (common, extent)):
                raise _ShapeMismatch
            extents[label] = extent if common == 1 else common
    return extents


def _result_labels(labels: list[Any], core_ndim: int, positions: tuple[int, ...], keepdims: bool) -> list[Any]:
    """Insert the core labels, or the label of the kept axis, at the positions in the result that the call asks for."""
    core_labels = ["kept"] if keepdims else labels[len(labels) - core_ndim :]
    labels_out = labels[: len(labels) - core_ndim]
    ndim = len(labels_out) + len(core_labels)
    targets = [p % ndim for p in positions if -ndim <= p < ndim]
    if len(targets) != len(core_labels) or len(set(targets)) != len(targets):
        raise _ShapeMismatch
    for p, label in sorted(zip(targets, core_labels, strict=True), key=lambda pair: pair[0]):
        labels_out.insert(p, label)
    return labels_out


def _core_axes(ufunc: np.ufunc, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[str, str, str]:
    """Return the labels of the core axes. matmul drops the ones that 1-d operands lack."""
    a_core, b_core, out_core = generalized[ufunc]
    if ufunc is np.matmul:
        if len(a) == 1:
            a_core, out_core = "k", out_core.replace("m", "")
        if len(b) == 1:
            b_core, out_core = "k", out_core.replace("n", "")
    if len(a) < len(a_core) or len(b) < len(b_core):
        raise _ShapeMismatch
    return a_core, b_core, out_core


def _core_axis_positions(
    ufunc: np.ufunc, cores: tuple[str, str, str], axes: Any, axis: Any, keepdims: bool
) -> list[tuple[int, ...]]:
    """Return the positions of the core axes of the operands and of the result. By default, they are the last axes."""
    default = [tuple(range(-len(core), 0)) for core in cores]
    one_axis = cores[0] == cores[1] and len(cores[0]) == 1 and not cores[2] and ufunc is not np.matmul
    if axis is not None:
        if axes is not None:
            raise TypeError("cannot specify both 'axis' and 'axes'")
        if not one_axis:
            raise _ShapeMismatch
        return [(axis,), (axis,), (axis,) if keepdims else ()]
    if keepdims and not one_axis:
        raise _ShapeMismatch
    if axes is None:
        return [*default[:2], default[0]] if keepdims else default
    positions: list[tuple[int, ...]] = [*axes, ()] if len(axes) == 2 and not cores[2] else list(axes)
    if len(positions) != 3:
        raise _ShapeMismatch
    core_ndims = [len(core) for core in cores]
    if keepdims:
        positions[2] = positions[2] or (default[0] if len(axes) == 2 else positions[0])
        core_ndims[2] = 1
    if [len(operand_axes) for operand_axes in positions] != core_ndims:
        raise _ShapeMismatch
    return positions


def _normalize_positions(positions: Sequence[int], ndim: int) -> tuple[int, ...]:
    if any(not -ndim <= p < ndim for p in positions):
        raise _ShapeMismatch
    normalized = tuple(p % ndim for p in positions)
    if len(set(normalized)) != len(normalized):
        raise _ShapeMismatch
    return normalized


def _axis_labels(ndim: int, core: str, positions: tuple[int, ...]) -> list[Any]:
    """Return one label per axis: letters for core axes, numbers for loop axes, -1 for the last one."""
    labels: list[Any] = [None] * ndim
    for letter, position in zip(core, positions, strict=True):
        labels[position] = letter
    loop_label = 0
    for axis in reversed(range(ndim)):
        if labels[axis] is None:
            loop_label -= 1
            labels[axis] = loop_label
    return labels


def _check_output(
    out: DeviceArray, plan: _Contraction, dtype: np.dtype, casting: Any, ufunc: np.ufunc
) -> DeviceArray | None:
    """Return `out` if the kernel can write to it, or None if the result is copied to it afterwards.

    Loop axes broadcast to those of `out`, which may lack leading axes of length 1. Core axes come last and have the
    same length in both.
    """
    if not np.can_cast(dtype, out.dtype, casting):
        raise TypeError(
            f"Cannot cast ufunc '{ufunc.__name__}' output from {dtype!r} to {out.dtype!r} with casting rule {casting!r}"
        )
    if out.shape == plan.shape:
        return out if out.dtype == dtype else None
    core_ndim = sum(isinstance(label, str) for label in plan.labels)
    loop_ndim, out_loop_ndim = len(plan.shape) - core_ndim, out.ndim - core_ndim
    dropped = max(loop_ndim - out_loop_ndim, 0)
    if (
        out_loop_ndim < 0
        or out.shape[out_loop_ndim:] != plan.shape[loop_ndim:]
        or plan.shape[:dropped] != (1,) * dropped
        or not can_broadcast(plan.shape[dropped:loop_ndim], out.shape[:out_loop_ndim])
    ):
        raise _ShapeMismatch
    return None


def _raise_numpy_error(ufunc: np.ufunc, a: Any, b: Any, keywords: ProductKeywords) -> None:
    """Call NumPy's function on zeros of the operands' shapes for its error."""
    kwargs = {name: value for name, value in keywords._asdict().items() if value is not None and value is not False}
    if "out" in kwargs:
        kwargs["out"] = np.empty(kwargs["out"].shape, kwargs["out"].dtype)
    ufunc(
        *(np.broadcast_to(np.zeros((), x.dtype), x.shape) if isinstance(x, DeviceArray) else x for x in (a, b)),
        **kwargs,
    )


__all__ = ["call", "count_pairs", "count_products", "generalized"]
