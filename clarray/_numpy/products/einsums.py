"""Einstein's summation: NumPy's ``einsum`` as a chain of contractions of two arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clarray._core import callers
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import device_dtype
from clarray._core.ufunc_calls import assign, broadcast, cast, device_of_operands
from clarray._core.views import make_view, view_of
from clarray._core.writes import one_hold
from clarray._engine.expr.view import View
from clarray._engine.ops.dtypes import wide_dtype
from clarray._engine.speedups import recorded
from clarray._numpy.manipulation import shapes as manipulation
from clarray._numpy.products.contraction import contract
from clarray._numpy.reduction.reduce_calls import ufunc_reduce

__all__ = ["einsum", "einsum_path"]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@recorded
@one_hold("out")
def einsum(
    *operands: Any,
    out: DeviceArray | None = None,
    dtype: Any = None,
    order: str = "K",
    casting: Any = "safe",
    optimize: Any = False,
) -> DeviceArray:
    """Sum products of elements over labelled axes, by Einstein's notation.

    Each axis has a letter. Axes with the same letter are multiplied element by element. A letter that is missing after
    ``->`` is summed over. clarray accepts the whole notation that `numpy.einsum` describes.

    Parameters
    ----------
    subscripts : str
        Such as ``'ij,jk->ik'`` or ``'...ii'``. Operands and lists of integer labels in turn are accepted as well.
    *operands : array_like
        One array per group of letters.
    out : DeviceArray, optional
        Array for the result, with the shape of the result.
    dtype : dtype, optional
        Dtype of the computation. By default the common dtype of the operands.
    order : {'C', 'F', 'A', 'K'}
        Memory order of a new result. 'A' is 'F' if all operands are, else 'C'. 'K' is the order of the computation.
    casting : str
        Rule for the conversions that are allowed.
    optimize : bool, str or sequence
        Order of the contractions, as for `numpy.einsum_path`.

    Returns
    -------
    DeviceArray
        A view if there is one operand and nothing is summed.

    Raises
    ------
    ValueError
        The subscripts are wrong, or the extents of axes with one label differ.
    TypeError
        `casting` does not allow a conversion.

    See Also
    --------
    einsum_path, tensordot, matmul

    Notes
    -----
    Two operands are contracted at a time: by a matrix product, or by one fused pass if each element is used once. Three
    or more operands are always contracted in the order of `numpy.einsum_path`, unless `optimize` gives another.

    Examples
    --------
    >>> import clarray
    >>> a = clarray.arange(4).reshape(2, 2)
    >>> clarray.einsum("ij,j->i", a, [1, 10]).tolist()
    [10, 32]
    """
    text, given = _text(operands)
    if (layout := str(order).upper()) not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got '{order}')")
    np.can_cast(np.bool_, np.bool_, casting)  # raises for what is no rule
    device = device_of_operands((*given, out))
    arrays = [as_array(x, device) for x in given]
    inputs, result = _parse(text, [x.ndim for x in arrays])
    # NumPy's iterator has the output among its operands
    types = [x.dtype for x in (*arrays, out) if isinstance(x, DeviceArray)]
    wanted = np.result_type(*types) if dtype is None else np.dtype(dtype)
    work = device_dtype(wanted, device)
    only_view = len(arrays) == 1 and set(inputs[0]) == set(result)  # a view: NumPy converts nothing
    for x in () if only_view else arrays:
        if not np.can_cast(x.dtype, work, casting):
            raise TypeError(
                f"Iterator operand {arrays.index(x)} dtype could not be cast from {x.dtype!r} to {work!r} "
                f"according to the rule '{casting}'"
            )
        callers.warn_of_lost_parts(x.dtype, work)
    extents = _extents(inputs, arrays)
    terms = [_diagonal(x, labels, extents) for x, labels in zip(arrays, inputs, strict=True)]
    if out is not None:
        if not isinstance(out, DeviceArray):
            raise TypeError("out must be a DeviceArray")
        shape = tuple([extents[label] for label in result])
        if len(shape) != out.ndim or any(n not in (1, wanted) for n, wanted in zip(shape, out.shape, strict=True)):
            raise ValueError(f"operand shape mismatch: the output has shape {out.shape}, the subscripts give {shape}")
    if len(terms) == 1:
        made = _single(*terms[0], result, work)
    else:
        fitting = out if out is not None and out.shape == shape else None
        made = _chain(terms, result, work, _path(text, arrays, optimize), fitting)
    if out is None and only_view:
        return made if made.ndim else made[()]  # a value, for which NumPy gives a scalar
    if out is None:
        return _laid_out(made, arrays, layout)
    if made is out:
        return made
    if not np.can_cast(made.dtype, out.dtype, casting):
        raise TypeError(
            f"Iterator requested dtype could not be cast from {made.dtype!r} to {out.dtype!r}, the operand "
            f"{len(arrays)} dtype, according to the rule '{casting}'"
        )
    out.check_writeable("output array is read-only")
    assign(out, made._node if made.shape == out.shape else broadcast(made._node, out.shape))
    return out


def _laid_out(made: DeviceArray, arrays: list[DeviceArray], order: str) -> DeviceArray:
    """A result in the order that was asked for."""
    if order == "A":
        order = "F" if all(x.flags.f_contiguous for x in arrays) else "C"
    if order == "K" or (made.flags.f_contiguous if order == "F" else made.flags.c_contiguous):
        return made
    return made.copy(order)


def einsum_path(*operands: Any, optimize: Any = "greedy") -> tuple[list[Any], str]:
    """Return the order in which `einsum` contracts its operands.

    `numpy.einsum_path` finds the order from the shapes alone.

    Parameters
    ----------
    *operands
        Subscripts and arrays, as for `einsum`.
    optimize : bool, str or sequence, optional
        Search for the order: ``'greedy'``, ``'optimal'``, one of them with a limit of memory, or a ready order.

    Returns
    -------
    path : list
        Value for the `optimize` of `einsum`.
    text : str
        Printable description of the path and its cost.

    Raises
    ------
    ValueError
        There are no operands, or the subscripts are wrong.

    Examples
    --------
    >>> import clarray
    >>> a, b, c = clarray.ones((50, 2)), clarray.ones((2, 50)), clarray.ones((50, 1))
    >>> path, text = clarray.einsum_path("ij,jk,kl->il", a, b, c)
    >>> path
    ['einsum_path', (1, 2), (0, 1)]
    """
    text, given = _text(operands)
    shapes = [x.shape if isinstance(x, DeviceArray) else np.shape(x) for x in given]
    return np.einsum_path(text, *map(_dummy, shapes), optimize=optimize)


def _dummy(shape: tuple[int, ...]) -> np.ndarray:
    return np.broadcast_to(np.zeros(()), shape)


# The notation -----------------------------------------------------------------------------------


def _text(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Subscripts as text, and the operands."""
    if not operands:
        raise ValueError(
            "must specify the einstein sum subscripts string and at least one operand, or at "
            "least one operand and its corresponding subscripts list"
        )
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), list(operands[1:])
    given = list(operands[: len(operands) // 2 * 2 : 2])
    lists = list(operands[1 : len(operands) // 2 * 2 : 2])
    text = ",".join(map(_letters, lists))
    if len(operands) % 2:
        text += "->" + _letters(operands[-1])
    return text, given


def _letters(labels: Sequence[Any]) -> str:
    if not isinstance(labels, list | tuple | range | np.ndarray | DeviceArray):
        raise TypeError("subscripts for each operand must be a sequence of integers or Ellipsis")
    found = []
    for label in labels:
        if isinstance(label, DeviceArray) and not label.ndim:
            label = label.item()
        if label is Ellipsis:
            found.append("...")
        elif not isinstance(label, int | np.integer):
            raise TypeError("each subscript must be either an integer or an ellipsis")
        elif not 0 <= label < len(_LETTERS):
            raise ValueError("subscript is not within the valid range [0, 52)")
        else:
            found.append(_LETTERS[label])
    return "".join(found)


def _parse(text: str, ndims: list[int]) -> tuple[list[list[Any]], list[Any]]:
    """Labels of every operand and of the result; axes of an ellipsis are numbers, -1 the last."""
    left, arrow, right = text.partition("->")
    if "-" in left.replace("->", "") or ">" in left or "-" in right or ">" in right:
        raise ValueError("einstein sum subscript string does not contain proper '->' output specified")
    parts = left.split(",")
    if len(parts) != len(ndims):
        fewer = "more" if len(parts) < len(ndims) else "fewer"
        raise ValueError(f"{fewer} operands provided to einstein sum function than specified in the subscripts string")
    inputs = [_labels(part, ndim) for part, ndim in zip(parts, ndims, strict=True)]
    dots = max((sum(not isinstance(label, str) for label in labels) for labels in inputs), default=0)
    if not arrow:
        everyone = [label for labels in inputs for label in labels if isinstance(label, str)]
        once = sorted(label for label in set(everyone) if everyone.count(label) == 1)
        return inputs, [*range(-dots, 0), *once]
    if "," in right:
        raise ValueError("invalid subscript ',' in einstein sum subscripts string, subscripts must be letters")
    result = _labels(right, dots + len(right.replace("...", "")))
    if "..." not in right and dots:
        raise ValueError(
            "output has subscripts that do not include an ellipsis, which the operands broadcast: "
            "einstein sum subscripts string must contain '...' in the output"
        )
    if len(set(result)) != len(result):
        twice = next(label for label in result if result.count(label) > 1)
        raise ValueError(f"einstein sum subscripts string includes output subscript '{twice}' multiple times")
    known = {label for labels in inputs for label in labels}
    for label in result:
        if isinstance(label, str) and label not in known:
            raise ValueError(
                f"einstein sum subscripts string included output subscript '{label}' which never appeared in an input"
            )
    return inputs, result


def _labels(part: str, ndim: int) -> list[Any]:
    before, dots, after = part.partition("...")
    letters = before + after
    for letter in letters:
        if letter not in _LETTERS:
            if letter == ".":
                raise ValueError(
                    "einstein sum subscripts string contains a '.' that is not part of an ellipsis ('...')"
                )
            raise ValueError(
                f"invalid subscript '{letter}' in einstein sum subscripts string, subscripts must be letters"
            )
    extra = ndim - len(letters)
    if extra < 0 or (extra and not dots):
        what = "too many" if extra < 0 else "operand has more dimensions than"
        if extra < 0:
            raise ValueError(f"einstein sum subscripts string contains {what} subscripts for operand")
        raise ValueError(
            f"{what} subscripts given in einstein sum, but no '...' ellipsis provided to broadcast the extra "
            "dimensions."
        )
    return [*before, *range(-extra, 0), *after]


def _extents(inputs: list[list[Any]], arrays: list[DeviceArray]) -> dict[Any, int]:
    """The extent of each label; axes of one element repeat."""
    extents: dict[Any, int] = {}
    for number, (labels, array) in enumerate(zip(inputs, arrays, strict=True)):
        for axis, (label, extent) in enumerate(zip(labels, array.shape, strict=True)):
            known = extents.setdefault(label, extent)
            if labels.count(label) > 1:
                own = {n for each, n in zip(labels, array.shape, strict=True) if each == label}
                if len(own) > 1:  # what repeats within an operand does not broadcast
                    raise ValueError(
                        f"dimensions in operand {number} for collapsing index '{label}' don't match "
                        f"({' != '.join(map(str, sorted(own)))})"
                    )
            if known == 1:
                extents[label] = extent
            elif extent not in (1, known):
                raise ValueError(
                    f"operands could not be broadcast together: index '{label}' has extent {known} and, in axis "
                    f"{axis} of operand {number}, {extent}"
                )
    return extents


# The work ---------------------------------------------------------------------------------------


def _diagonal(array: DeviceArray, labels: list[Any], extents: dict[Any, int]) -> tuple[DeviceArray, list[Any]]:
    """An operand without repeated labels, and without axes of one element that repeat over others."""
    lone = [array.shape[i] == 1 and extents[label] != 1 for i, label in enumerate(labels)]
    if not any(lone) and len(set(labels)) == len(labels):
        return array, labels
    view = view_of(array)
    strides: dict[Any, int] = {}
    for i, label in enumerate(labels):
        if not lone[i]:
            strides[label] = strides.get(label, 0) + view.strides[i]
    found = list(strides)
    shape = tuple(extents[label] for label in found)
    return make_view(array, View(shape, tuple(strides.values()), view.offset)), found


def _single(array: DeviceArray, labels: list[Any], result: list[Any], work: np.dtype) -> DeviceArray:
    """Compute with one operand: a view, or a sum over some axes."""
    axes = tuple(i for i, label in enumerate(labels) if label not in result)
    kept = [label for label in labels if label in result]
    if axes:
        array = _sum(array, axes, work)
    if kept != result:
        array = manipulation.transpose(array, [kept.index(label) for label in result])
    return make_view(array, view_of(array)) if not axes and kept == result else array


def _sum(array: DeviceArray, axes: tuple[int, ...], work: np.dtype) -> DeviceArray:
    wide = wide_dtype(work)
    ufunc = np.logical_or if work.kind == "b" else np.add
    value = wrap(cast(array._node, wide)) if array.dtype != wide else array
    total = ufunc_reduce(ufunc, value, axes, None if work.kind == "b" else wide)
    return total.astype(work) if wide != work else total


def _path(text: str, arrays: list[DeviceArray], optimize: Any) -> list[tuple[int, ...]]:
    """Return the operands that are contracted at each step."""
    if len(arrays) <= 2:
        return [tuple(range(len(arrays)))]
    wanted = optimize if not isinstance(optimize, bool | str | type(None)) or optimize else "greedy"
    path = np.einsum_path(text, *(_dummy(x.shape) for x in arrays), optimize=wanted)[0]
    return [tuple(step) for step in path[1:]]


def _chain(
    terms: list[tuple[DeviceArray, list[Any]]],
    result: list[Any],
    work: np.dtype,
    path: list[tuple[int, ...]],
    out: DeviceArray | None,
) -> DeviceArray:
    """Contract two terms after another; the last contraction gives the result."""
    steps = [[*step] for step in path]
    inside = wide_dtype(work)
    while len(terms) > 1:
        step = sorted(steps.pop(0) if steps else range(len(terms)))
        chosen = [terms[i] for i in step]
        terms = [each for i, each in enumerate(terms) if i not in step]
        while len(chosen) > 1:
            (a, a_labels), (b, b_labels) = chosen.pop(0), chosen.pop(0)
            last = not chosen and not terms
            needed = {label for _, labels in (*terms, *chosen) for label in labels} | set(result)
            if last:
                labels = [label for label in result if label in a_labels or label in b_labels]
            else:
                labels = [x for x in dict.fromkeys((*a_labels, *b_labels)) if x in needed]
            target = None
            if last and labels == result and out is not None and out.dtype == work:
                target = out
                out.check_writeable("output array is read-only")
            made = contract(a, a_labels, b, b_labels, labels, work if last else inside, target)
            chosen.insert(0, (made, labels))
        terms.append(chosen[0])
    made, labels = terms[0]
    if labels != result:  # labels of extent 1 whose axes repeat nowhere are in no term
        made = _single(made, labels, [x for x in result if x in labels], work)
        missing = tuple(i for i, label in enumerate(result) if label not in labels)
        made = manipulation.expand_dims(made, missing) if missing else made
    return made
