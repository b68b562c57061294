"""Arrays as text, like NumPy's. Only the shown elements of a large array are evaluated and copied to the host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clarray._core.conversion import asnumpy
from clarray._core.device_array import DeviceArray, wrap
from clarray._engine.evaluate import device_of, evaluate
from clarray._engine.expr.indexing import index
from clarray._engine.expr.slicing import ViewFunction, slice_expression
from clarray._engine.expr.view import View

__all__ = ["array2string", "array_repr", "array_str"]

_PRINTS_SHAPE = np.lib.NumpyVersion(np.__version__) >= "2.2.0"  # the repr of a summarised array shows its shape
_IMPLIED = {np.dtype(t) for t in (bool, int, float, complex)}  # dtypes that a repr need not name


def array2string(
    a: Any,
    max_line_width: Any = None,
    precision: Any = None,
    suppress_small: Any = None,
    separator: str = " ",
    prefix: str = "",
    *,
    formatter: Any = None,
    threshold: Any = None,
    edgeitems: Any = None,
    sign: Any = None,
    floatmode: Any = None,
    suffix: str = "",
    legacy: Any = None,
) -> str:
    """Format the elements of an array as text in nested brackets.

    Parameters
    ----------
    a : array_like
    max_line_width, precision, suppress_small : optional
        Replace the values of `set_printoptions` for this call.
    separator : str, optional
        Text between elements.
    prefix : str, optional
        Text that the caller will put before the result. Its length counts when lines are broken.
    formatter, threshold, edgeitems, sign, floatmode : optional
        Replace the values of `set_printoptions` for this call.
    suffix : str, optional
        Text that the caller will put after the result. Its length counts when lines are broken.
    legacy : optional
        Replaces the value of `set_printoptions` for this call.

    Returns
    -------
    str

    Notes
    -----
    For a large array, clarray computes only the elements that are shown, and copies only these to the host.

    Examples
    --------
    >>> import clarray
    >>> clarray.array2string(clarray.asarray([1, 2, 3]), separator=", ")
    '[1, 2, 3]'
    """
    options = np.get_printoptions()
    edge = options["edgeitems"] if edgeitems is None else edgeitems
    limit = options["threshold"] if threshold is None else threshold
    sample, threshold = _corners(a, edge, limit)
    return np.array2string(
        sample,
        max_line_width,
        precision,
        suppress_small,
        separator,
        prefix,
        formatter=formatter,
        sign=sign,
        threshold=threshold,
        edgeitems=edgeitems,
        floatmode=floatmode,
        suffix=suffix,
        legacy=legacy,
    )


def array_repr(arr: Any, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None) -> str:
    """Format an array as its `repr` does: ``array(...)``, with shape and dtype if the elements do not show them.

    Parameters
    ----------
    arr : DeviceArray or ndarray
    max_line_width, precision, suppress_small : optional
        Replace the values of `set_printoptions` for this call.

    Returns
    -------
    str

    Examples
    --------
    >>> import clarray
    >>> clarray.array_repr(clarray.asarray([1, 2], clarray.float32))
    'array([1., 2.], dtype=float32)'
    """
    options: Mapping[str, Any] = np.get_printoptions()
    limits = max_line_width, precision, suppress_small
    if not isinstance(arr, DeviceArray):
        return np.array_repr(arr, *limits)
    if arr.size <= options["threshold"] or options.get("override_repr") is not None or options["legacy"]:
        return np.array_repr(asnumpy(arr), *limits)
    text = array2string(arr, *limits, ", ", "array(", suffix=")")
    extras = [f"shape={arr.shape}"] if _PRINTS_SHAPE else []
    if arr.dtype not in _IMPLIED:
        extras.append(f"dtype={arr.dtype.name}")
    if not extras:
        return f"array({text})"
    head, tail = f"array({text},", ", ".join(extras) + ")"
    last_line = len(head) - (head.rfind("\n") + 1)
    width = options["linewidth"] if max_line_width is None else max_line_width
    separator = " " if last_line + 1 + len(tail) <= width else "\n" + " " * len("array(")
    return head + separator + tail


def array_str(a: Any, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None) -> str:
    """Format an array as its `str` does: the elements in brackets, without ``array(...)``.

    Parameters
    ----------
    a : DeviceArray
    max_line_width, precision, suppress_small : optional
        Replace the values of `set_printoptions` for this call.

    Returns
    -------
    str

    Examples
    --------
    >>> import clarray
    >>> clarray.array_str(clarray.asarray([1, 2]))
    '[1 2]'
    """
    if not a.ndim:
        return np.array_str(asnumpy(a), max_line_width, precision, suppress_small)
    return array2string(a, max_line_width, precision, suppress_small)


def _corners(a: Any, edge: int, threshold: int) -> tuple[np.ndarray, int]:
    """Return an ndarray that prints like an array, and the threshold to print it with.

    For a large array, the ndarray is just large enough to be summarised: the ends of each axis and one element between
    them.
    """
    if not isinstance(a, DeviceArray):
        return np.asanyarray(a), threshold
    if a.size <= threshold or edge < 1:  # without edge items, NumPy formats by all elements
        return asnumpy(a), threshold
    shortened = [axis for axis, n in enumerate(a.shape) if n > 2 * edge]
    corners = part(a, lambda view: _ends(view, edge))
    corners = corners.reshape([min(n, 2 * edge) for n in a.shape])
    for axis in shortened:
        corners = np.insert(corners, edge, 0, axis)
    return corners, 0


def _ends(view: View, edge: int) -> View:
    """View the first and the last elements along each axis. An axis that is longer than both becomes two axes."""
    shape: list[int] = []
    strides: list[int] = []
    for extent, stride in zip(view.shape, view.strides, strict=True):
        if extent > 2 * edge:
            shape += 2, edge
            strides += (extent - edge) * stride, stride
        else:
            shape.append(extent)
            strides.append(stride)
    return View(tuple(shape), tuple(strides), view.offset)


def part(array: DeviceArray, select: ViewFunction) -> np.ndarray:
    """Copy a part of an array to the host. Only this part of a pending array is evaluated, and it stays pending."""
    node = array._node
    with device_of(node).lock:
        part_leaf = evaluate(slice_expression(node, select, evaluate))
    return asnumpy(wrap(part_leaf))


def inline(array: DeviceArray, max_width: int) -> str:
    """Return the first and last elements in one line, for xarray's ``_repr_inline_``."""
    max_shown = max(2, max_width // 2)
    if array.size <= max_shown:
        first = last = _words(asnumpy(array))
        text = " ".join(first)
        if len(text) <= max_width or len(first) < 2:
            return _cut(text, max_width)
    else:
        first, last = _words(_end(array, max_shown, 0)), _words(_end(array, max_shown, -1))
    for shown in range(min(max_shown, array.size), 1, -1):
        front = (shown + 1) // 2
        text = f"{' '.join(first[:front])} ... {' '.join(last[front - shown :])}"
        if len(text) <= max_width:
            break
    return _cut(text, max_width)


def _end(array: DeviceArray, count: int, last: int) -> np.ndarray:
    """Copy at least `count` elements of a larger array to the host: the first (0) or last (-1) in C order."""
    axis, inner, block = array.ndim, 1, 1
    while block < count:
        axis, inner = axis - 1, block
        block *= array.shape[axis]
    rows = -(-count // inner)
    key = (last,) * axis + (slice(-rows, None) if last else slice(rows),)
    return part(array, lambda view: index(view, key))


def _words(array: np.ndarray) -> list[str]:
    return [f"{x:.4}" if array.dtype.kind == "f" else str(x) for x in array.ravel().tolist()]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 3, 0)] + "..."
