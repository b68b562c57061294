"""Views: shape, strides and offset of an array, and NumPy's operations on them.

Strides and offsets count elements, not bytes, and nothing here touches memory or a device. Errors
are NumPy's own: an invalid request is repeated on a one-byte NumPy array of the same shape, which
raises.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from clarray._engine.expr.axes import c_integer, normalize_axes, normalize_axis, strict_axis

Shape = tuple[int, ...]


class View(NamedTuple):
    """Element ``i`` of the array is element ``offset + sum(i * strides)`` of its memory."""

    shape: Shape
    strides: Shape
    offset: int = 0

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def contiguous(self) -> bool:
        """Whether the elements are contiguous in C order."""
        return is_contiguous(self.shape, self.strides)

    @property
    def f_contiguous(self) -> bool:
        """Whether the elements are contiguous in Fortran order."""
        return is_contiguous(self.shape[::-1], self.strides[::-1])


def contiguous(shape: Shape) -> Shape:
    """Return the strides of a C-contiguous array."""
    if len(shape) == 1:
        return (1,)
    strides = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent or 1
    return tuple(reversed(strides))


def strides_descend(strides: Shape) -> bool:
    """Return whether the nonzero strides are positive and none is larger than the one before it."""
    last = None
    for stride in strides:
        if stride:
            if stride < 0 or (last is not None and stride > last):
                return False
            last = stride
    return True


def is_contiguous(shape: Shape, strides: Shape) -> bool:
    """Return whether strides are C-contiguous. Strides of axes of one element do not matter."""
    step = 1
    for axis in range(len(shape) - 1, -1, -1):
        extent = shape[axis]
        if extent != 1:
            if extent == 0:
                return True
            if strides[axis] != step:
                return 0 in shape
            step *= extent
    return True


def numpy_error(shape: Shape, request: Callable[[np.ndarray], object]) -> NoReturn:
    """Raise the error that NumPy raises for a request on an array of this shape."""
    request(np.broadcast_to(np.uint8(0), shape))
    raise AssertionError(f"NumPy accepts for shape {shape} what clarray refused: please report it")


# Axes and shapes ------------------------------------------------------------------------------


MAX_DIMENSIONS = 64  # NumPy's limit
_LARGE = 2**20  # shapes with smaller extents are not checked before memory is allocated
_TOO_BIG = "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size."


def as_shape(shape: Any, too_big: str = _TOO_BIG) -> Shape:
    """Convert an integer or a sequence of integers to a shape; `too_big` is the error of 2**63 elements."""
    if type(shape) is int:
        return (shape,)
    if isinstance(shape, Iterable) and not isinstance(shape, str | bytes | dict | set | frozenset):
        try:
            extents = tuple(map(as_count, shape))
        except TypeError:
            if getattr(shape, "ndim", None) != 0:
                raise
        else:
            if (n := len(extents)) > MAX_DIMENSIONS:
                raise ValueError(f"maximum supported dimension for an ndarray is currently {MAX_DIMENSIONS}, found {n}")
            if max(extents, default=0) > _LARGE:
                check_size(extents, 1, too_big)
            return extents
    return (as_count(shape),)


def check_size(shape: Shape, itemsize: int = 1, too_big: str = _TOO_BIG) -> None:
    """Raise NumPy's ValueError if the extents other than 0 make 2**63 bytes or more."""
    if prod(filter(None, shape)) * itemsize >= 2**63:
        raise ValueError(too_big)


def as_count(number: Any) -> int:
    """Convert an extent or another number of elements to int; TypeError for a bool."""
    if type(number) is bool:  # an index to Python, but not to NumPy
        raise TypeError("an integer is required")
    return operator.index(number)


def broadcast_shapes(shapes: Sequence[Shape]) -> Shape:
    """Broadcast the shapes of a ufunc's operands, with a ufunc's error message."""
    first = shapes[0] if shapes else ()
    for shape in shapes:
        if shape != first:
            break
    else:
        return first
    ndim = max(map(len, shapes))
    result = [1] * ndim
    for shape in shapes:
        for axis, extent in enumerate(shape, ndim - len(shape)):
            if extent != 1 and extent != result[axis]:
                if result[axis] != 1:
                    shape_texts = " ".join(str(s).replace(" ", "") for s in shapes)
                    raise ValueError(f"operands could not be broadcast together with shapes {shape_texts} ")
                result[axis] = extent
    return tuple(result)


def can_broadcast(have: Shape, shape: Shape) -> bool:
    """Return whether an array of shape `have` can be broadcast to `shape`."""
    fits = all(n in (1, m) for n, m in zip(reversed(have), reversed(shape), strict=False))
    return fits and len(have) <= len(shape)


def broadcast_to(view: View, shape: Shape) -> View:
    """Broadcast a view: repeat axes of one element, and add leading axes."""
    old = view.shape
    if old == shape:
        return view
    added = len(shape) - len(old)
    strides = [0] * len(shape)
    fits = added >= 0 and min(shape, default=0) >= 0
    if fits:
        for axis, (extent, stride) in enumerate(zip(old, view.strides, strict=True), added):
            if extent == shape[axis]:
                strides[axis] = stride
            elif extent != 1:
                fits = False
    if not fits:
        numpy_error(old, lambda array: np.broadcast_to(array, shape))
    return View(shape, tuple(strides), view.offset)


# Permuted, dropped and new axes -------------------------------------------------------------


def transpose(view: View, axes: Any = None) -> View:
    """Permute the axes; reverse them when None."""
    if axes is None:
        return View(view.shape[::-1], view.strides[::-1], view.offset)
    ndim = len(view.shape)
    try:
        order = [strict_axis(axis, ndim) for axis in (axes if hasattr(axes, "__len__") else (axes,))]
        wrong = not len(order) == len(set(order)) == ndim
    except (TypeError, ValueError, OverflowError):
        wrong = True
    if wrong:
        numpy_error(view.shape, lambda array: array.transpose(axes))
    return View(
        tuple(view.shape[axis] for axis in order),
        tuple(view.strides[axis] for axis in order),
        view.offset,
    )


def swapaxes(view: View, axis1: Any, axis2: Any) -> View:
    """Interchange two axes."""
    ndim = len(view.shape)
    first = normalize_axis(axis1, ndim, "axis1")
    second = normalize_axis(axis2, ndim, "axis2")
    order = list(range(ndim))
    order[first], order[second] = second, first
    return transpose(view, order)


def moveaxis(view: View, source: Any, destination: Any) -> View:
    """Move axes to new positions; the others keep their order."""
    ndim = len(view.shape)
    sources = normalize_axis_tuple(source, ndim, "source")
    targets = normalize_axis_tuple(destination, ndim, "destination")
    if len(sources) != len(targets):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [axis for axis in range(ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return transpose(view, order)


def squeeze(view: View, axis: Any = None) -> View:
    """Drop axes of one element: all of them, or the given axes."""
    shape = view.shape
    if axis is None:
        drop = tuple(i for i, extent in enumerate(shape) if extent == 1)
    else:
        drop = normalize_axes(axis, len(shape))
        if any(shape[i] != 1 for i in drop):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    if not drop:
        return view
    keep = [i for i in range(len(shape)) if i not in drop]
    return View(tuple(shape[i] for i in keep), tuple(view.strides[i] for i in keep), view.offset)


def expand_dims(view: View, axis: Any) -> View:
    """Insert axes of one element at these axes of the result."""
    if not isinstance(axis, tuple | list):
        axis = (axis,)
    ndim = len(view.shape) + len(axis)
    added = normalize_axis_tuple(axis, ndim)
    old = iter(zip(view.shape, view.strides, strict=True))
    pairs = [(1, 0) if i in added else next(old) for i in range(ndim)]
    return View(tuple(p[0] for p in pairs), tuple(p[1] for p in pairs), view.offset)


def added_axes(take_view: Callable[[View], View], shape: Shape) -> Shape | None:
    """Return the axes of length 1, ascending, that a function of views adds to a shape if it does nothing else."""
    numbers = range(1, len(shape) + 1)
    view = take_view(View(shape, tuple(numbers)))  # each axis has its number as stride
    both = [*zip(view.shape, view.strides, strict=True)]
    added = tuple([axis for axis, each in enumerate(both) if each == (1, 0)])
    others = [each for each in both if each != (1, 0)]
    return added if added and others == [*zip(shape, numbers, strict=True)] and not view.offset else None


def diagonal(view: View, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> View:
    """Take the diagonal of two axes as the last axis."""
    ndim = len(view.shape)
    if ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    first = normalize_axis(axis1, ndim, "axis1")
    second = normalize_axis(axis2, ndim, "axis2")
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    offset = c_integer(offset, 32)
    rows = view.shape[first] - max(-offset, 0)
    columns = view.shape[second] - max(offset, 0)
    count = max(min(rows, columns), 0)
    start = view.offset
    if count:
        start += max(-offset, 0) * view.strides[first] + max(offset, 0) * view.strides[second]
    keep = [i for i in range(ndim) if i not in (first, second)]
    return View(
        (*(view.shape[i] for i in keep), count),
        (*(view.strides[i] for i in keep), view.strides[first] + view.strides[second]),
        start,
    )


def part(view: View, number: int, parts: int = 2) -> View:
    """View each element as `parts` smaller ones, and take number `number` of them (the real or imaginary part)."""
    return View(
        view.shape,
        tuple(stride * parts for stride in view.strides),
        view.offset * parts + number,
    )


# Reshaping ------------------------------------------------------------------------------------


def resolve_shape(old: Shape, shape: Any) -> Shape:
    """Return the shape for a reshape, with a negative extent computed from the size.

    Raises
    ------
    ValueError
        The sizes differ, or more than one extent is negative.
    """
    new = as_shape(shape)
    size = prod(old)
    unknown = [i for i, extent in enumerate(new) if extent < 0]
    known_size = prod(extent for extent in new if extent >= 0)
    if not unknown and known_size == size:
        return new
    if len(unknown) == 1 and known_size and size % known_size == 0:
        at = unknown[0]
        return (*new[:at], size // known_size, *new[at + 1 :])
    numpy_error(old, lambda array: array.reshape(new))


def check_order(order: Any) -> str:
    """Return a memory order as one of C, F, A, K, or raise NumPy's error."""
    if order is None:
        return "C"
    if isinstance(order, bytes):
        order = order.decode("ascii", "replace")
    letter = order.upper() if isinstance(order, str) else ""
    if letter not in ("C", "F", "A", "K"):
        np.empty(0).reshape(0, order=order)
    return letter


def reshape(view: View, shape: Any, order: str = "C") -> View | None:
    """Return the view in another shape; None if NumPy would have to copy the elements."""
    order = check_order(order)
    if order == "K":
        raise ValueError("order 'K' is not permitted for reshaping")
    new = resolve_shape(view.shape, shape)
    if new == view.shape:
        return view
    if order == "A":
        order = "F" if view.f_contiguous and not view.contiguous else "C"
    if order == "F":
        strides = _regroup(view.shape[::-1], view.strides[::-1], new[::-1])
        strides = strides if strides is None else strides[::-1]
    else:
        strides = _regroup(view.shape, view.strides, new)
    return None if strides is None else View(new, strides, view.offset)


def _regroup(old: Shape, strides: Shape, new: Shape) -> Shape | None:
    """Return the strides of the new shape, from groups of axes of equal size in both shapes; None for a copy."""
    if is_contiguous(old, strides):
        return contiguous(new)
    pairs = [(n, s) for n, s in zip(old, strides, strict=True) if n != 1]
    result: list[int] = []
    j = 0  # the first axis of `pairs` not yet used
    i = 0
    while i < len(new):
        if new[i] == 1:
            result.append(0)
            i += 1
            continue
        group, inside = new[i], pairs[j][0]
        i_end, j_end = i + 1, j + 1
        while group != inside:
            if group < inside:
                group *= new[i_end]
                i_end += 1
            else:
                inside *= pairs[j_end][0]
                j_end += 1
        for k in range(j, j_end - 1):
            if pairs[k][1] != pairs[k + 1][0] * pairs[k + 1][1]:
                return None
        base = pairs[j_end - 1][1]
        result.extend(base * prod(new[k + 1 : i_end]) for k in range(i, i_end))
        i, j = i_end, j_end
    return tuple(result)


def memory_order(view: View) -> list[int]:
    """Return the axes in memory order, largest stride first (NumPy's order 'K')."""
    return sorted(range(len(view.shape)), key=lambda axis: -abs(view.strides[axis]))


def ordered_strides(shape: Shape, axes: Sequence[int]) -> Shape:
    """Return the strides of a new array whose axes have this memory order, outermost first."""
    strides = [0] * len(shape)
    packed = contiguous(tuple(shape[axis] for axis in axes))
    for axis, stride in zip(axes, packed, strict=True):
        strides[axis] = stride
    return tuple(strides)


def iteration_order(view: View) -> list[int]:
    """Return the axes as NumPy iterates in order 'K': by stride, while repeated axes keep their position."""
    strides = [abs(stride) if extent > 1 else 0 for extent, stride in zip(view.shape, view.strides, strict=True)]
    inner: list[int] = []  # the innermost axis first
    for axis in reversed(range(view.ndim)):
        position = len(inner)
        for at in reversed(range(len(inner))):
            if strides[inner[at]] and strides[axis]:
                if strides[inner[at]] <= strides[axis]:
                    break
                position = at
        inner.insert(position, axis)
    return inner[::-1]


def ravel(view: View, order: str = "C") -> View | None:
    """Flatten to one axis; None if NumPy copies, which it does unless the elements are contiguous."""
    order = check_order(order)
    if order == "K":
        if not view.contiguous:
            view = transpose(view, memory_order(view))
    elif order == "F" or (order == "A" and view.f_contiguous and not view.contiguous):
        view = transpose(view)
    return View((view.size,), (1,), view.offset) if view.contiguous else None
