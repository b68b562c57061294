"""Einstein summation: NumPy's ``einsum`` as a chain of contractions of two arrays."""

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
from clarray._core.writes import with_device_lock
from clarray._engine.expr.view import View
from clarray._engine.ops.dtypes import wide_dtype
from clarray._engine.speedups import captured
from clarray._numpy.manipulation import shapes as manipulation
from clarray._numpy.products.contraction import Term, contract
from clarray._numpy.reduction.reduce_calls import ufunc_reduce

__all__ = ["einsum", "einsum_path"]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@captured
@with_device_lock("out")
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
    subscripts, operand_list = _as_subscripts(operands)
    if (letter := str(order).upper()) not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got '{order}')")
    np.can_cast(np.bool_, np.bool_, casting)  # raises for an unknown casting rule
    device = device_of_operands((*operand_list, out))
    arrays = [as_array(x, device) for x in operand_list]
    inputs, result = _parse(subscripts, [x.ndim for x in arrays])
    # NumPy's iterator has the output among its operands
    types = [x.dtype for x in (*arrays, out) if isinstance(x, DeviceArray)]
    work = device_dtype(np.result_type(*types) if dtype is None else np.dtype(dtype), device)
    only_view = len(arrays) == 1 and set(inputs[0]) == set(result)  # a view: NumPy converts nothing
    for x in () if only_view else arrays:
        if not np.can_cast(x.dtype, work, casting):
            raise TypeError(
                f"Iterator operand {arrays.index(x)} dtype could not be cast from {x.dtype!r} to {work!r} "
                f"according to the rule '{casting}'"
            )
        callers.warn_complex_cast(x.dtype, work)
    extents = _label_extents(inputs, arrays)
    terms = [_merge_labels(x, labels, extents) for x, labels in zip(arrays, inputs, strict=True)]
    shape = tuple([extents[label] for label in result])
    if out is not None:
        _check_out_shape(out, shape)
    if len(terms) == 1:
        total = _contract_operand(terms[0], result, work)
    else:
        target = out if out is not None and out.shape == shape else None
        total = _contract_all(terms, result, work, _path(subscripts, arrays, optimize), target)
    if out is None and only_view:
        return total if total.ndim else total[()]  # NumPy returns a scalar here
    if out is None:
        return _in_requested_order(total, arrays, letter)
    return out if total is out else _write_out(out, total, casting, len(arrays))


def _check_out_shape(out: Any, shape: tuple[int, ...]) -> None:
    """Raise unless the output is an array to which the result broadcasts without new axes."""
    if not isinstance(out, DeviceArray):
        raise TypeError("out must be a DeviceArray")
    if len(shape) != out.ndim or any(n not in (1, extent) for n, extent in zip(shape, out.shape, strict=True)):
        raise ValueError(f"operand shape mismatch: the output has shape {out.shape}, the subscripts give {shape}")


def _write_out(out: DeviceArray, total: DeviceArray, casting: Any, position: int) -> DeviceArray:
    """Assign the total to the output, which is the operand of this position in NumPy's error."""
    if not np.can_cast(total.dtype, out.dtype, casting):
        raise TypeError(
            f"Iterator requested dtype could not be cast from {total.dtype!r} to {out.dtype!r}, the operand "
            f"{position} dtype, according to the rule '{casting}'"
        )
    out.check_writeable("output array is read-only")
    assign(out, total._node if total.shape == out.shape else broadcast(total._node, out.shape))
    return out


def _in_requested_order(total: DeviceArray, arrays: list[DeviceArray], order: str) -> DeviceArray:
    """Return the total in the memory order that the caller asked for."""
    if order == "A":
        order = "F" if all(x.flags.f_contiguous for x in arrays) else "C"
    if order == "K" or (total.flags.f_contiguous if order == "F" else total.flags.c_contiguous):
        return total
    return total.copy(order)


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
    subscripts, arrays = _as_subscripts(operands)
    shapes = [x.shape if isinstance(x, DeviceArray) else np.shape(x) for x in arrays]
    return np.einsum_path(subscripts, *map(_broadcast_zeros, shapes), optimize=optimize)


def _broadcast_zeros(shape: tuple[int, ...]) -> np.ndarray:
    return np.broadcast_to(np.zeros(()), shape)


# The notation -----------------------------------------------------------------------------------


def _as_subscripts(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Return the subscripts as text, and the operands."""
    if not operands:
        raise ValueError(
            "must specify the einstein sum subscripts string and at least one operand, or at "
            "least one operand and its corresponding subscripts list"
        )
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), list(operands[1:])
    arrays = list(operands[: len(operands) // 2 * 2 : 2])
    lists = list(operands[1 : len(operands) // 2 * 2 : 2])
    subscripts = ",".join(map(_letters, lists))
    if len(operands) % 2:
        subscripts += "->" + _letters(operands[-1])
    return subscripts, arrays


def _letters(labels: Sequence[Any]) -> str:
    if not isinstance(labels, list | tuple | range | np.ndarray | DeviceArray):
        raise TypeError("subscripts for each operand must be a sequence of integers or Ellipsis")
    letters = []
    for label in labels:
        if isinstance(label, DeviceArray) and not label.ndim:
            label = label.item()
        if label is Ellipsis:
            letters.append("...")
        elif not isinstance(label, int | np.integer):
            raise TypeError("each subscript must be either an integer or an ellipsis")
        elif not 0 <= label < len(_LETTERS):
            raise ValueError("subscript is not within the valid range [0, 52)")
        else:
            letters.append(_LETTERS[label])
    return "".join(letters)


def _parse(subscripts: str, ndims: list[int]) -> tuple[list[list[Any]], list[Any]]:
    """Return the labels of each operand and of the result. Axes of an ellipsis are numbers, -1 for the last."""
    input_text, arrow, output_text = subscripts.partition("->")
    if "-" in input_text.replace("->", "") or ">" in input_text or "-" in output_text or ">" in output_text:
        raise ValueError("einstein sum subscript string does not contain proper '->' output specified")
    parts = input_text.split(",")
    if len(parts) != len(ndims):
        fewer = "more" if len(parts) < len(ndims) else "fewer"
        raise ValueError(f"{fewer} operands provided to einstein sum function than specified in the subscripts string")
    inputs = [_operand_labels(part, ndim) for part, ndim in zip(parts, ndims, strict=True)]
    ellipsis_ndim = max((sum(not isinstance(label, str) for label in labels) for labels in inputs), default=0)
    if not arrow:
        letters = [label for labels in inputs for label in labels if isinstance(label, str)]
        unique = sorted(label for label in set(letters) if letters.count(label) == 1)
        return inputs, [*range(-ellipsis_ndim, 0), *unique]
    if "," in output_text:
        raise ValueError("invalid subscript ',' in einstein sum subscripts string, subscripts must be letters")
    result = _operand_labels(output_text, ellipsis_ndim + len(output_text.replace("...", "")))
    if "..." not in output_text and ellipsis_ndim:
        raise ValueError(
            "output has subscripts that do not include an ellipsis, which the operands broadcast: "
            "einstein sum subscripts string must contain '...' in the output"
        )
    if len(set(result)) != len(result):
        repeated = next(label for label in result if result.count(label) > 1)
        raise ValueError(f"einstein sum subscripts string includes output subscript '{repeated}' multiple times")
    input_labels = {label for labels in inputs for label in labels}
    for label in result:
        if isinstance(label, str) and label not in input_labels:
            raise ValueError(
                f"einstein sum subscripts string included output subscript '{label}' which never appeared in an input"
            )
    return inputs, result


def _operand_labels(subscripts: str, ndim: int) -> list[Any]:
    before, dots, after = subscripts.partition("...")
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
    ellipsis_ndim = ndim - len(letters)
    if ellipsis_ndim < 0 or (ellipsis_ndim and not dots):
        problem = "too many" if ellipsis_ndim < 0 else "operand has more dimensions than"
        if ellipsis_ndim < 0:
            raise ValueError(f"einstein sum subscripts string contains {problem} subscripts for operand")
        raise ValueError(
            f"{problem} subscripts given in einstein sum, but no '...' ellipsis provided to broadcast the extra "
            "dimensions."
        )
    return [*before, *range(-ellipsis_ndim, 0), *after]


def _label_extents(inputs: list[list[Any]], arrays: list[DeviceArray]) -> dict[Any, int]:
    """Return the extent of each label. Axes of length 1 broadcast."""
    extents: dict[Any, int] = {}
    for operand, (labels, array) in enumerate(zip(inputs, arrays, strict=True)):
        for axis, (label, extent) in enumerate(zip(labels, array.shape, strict=True)):
            common = extents.setdefault(label, extent)
            if labels.count(label) > 1:
                own_extents = {n for other, n in zip(labels, array.shape, strict=True) if other == label}
                if len(own_extents) > 1:  # repeated labels of one operand do not broadcast
                    raise ValueError(
                        f"dimensions in operand {operand} for collapsing index '{label}' don't match "
                        f"({' != '.join(map(str, sorted(own_extents)))})"
                    )
            if common == 1:
                extents[label] = extent
            elif extent not in (1, common):
                raise ValueError(
                    f"operands could not be broadcast together: index '{label}' has extent {common} and, in axis "
                    f"{axis} of operand {operand}, {extent}"
                )
    return extents


# The work ---------------------------------------------------------------------------------------


def _merge_labels(array: DeviceArray, labels: list[Any], extents: dict[Any, int]) -> Term:
    """View an operand along the diagonals of its repeated labels, without the axes of length 1 that broadcast."""
    broadcasts = [array.shape[i] == 1 and extents[label] != 1 for i, label in enumerate(labels)]
    if not any(broadcasts) and len(set(labels)) == len(labels):
        return Term(array, labels)
    view = view_of(array)
    strides: dict[Any, int] = {}
    for i, label in enumerate(labels):
        if not broadcasts[i]:
            strides[label] = strides.get(label, 0) + view.strides[i]
    shape = tuple(extents[label] for label in strides)
    return Term(make_view(array, View(shape, tuple(strides.values()), view.offset)), list(strides))


def _contract_operand(term: Term, result: list[Any], work: np.dtype) -> DeviceArray:
    """Contract one operand: a view, or a sum over some axes."""
    array, labels = term
    axes = tuple(i for i, label in enumerate(labels) if label not in result)
    remaining = [label for label in labels if label in result]
    if axes:
        array = _sum(array, axes, work)
    if remaining != result:
        array = manipulation.transpose(array, [remaining.index(label) for label in result])
    return make_view(array, view_of(array)) if not axes and remaining == result else array


def _sum(array: DeviceArray, axes: tuple[int, ...], work: np.dtype) -> DeviceArray:
    wide = wide_dtype(work)
    ufunc = np.logical_or if work.kind == "b" else np.add
    summand = wrap(cast(array._node, wide)) if array.dtype != wide else array
    total = ufunc_reduce(ufunc, summand, axes, None if work.kind == "b" else wide)
    return total.astype(work) if wide != work else total


def _path(subscripts: str, arrays: list[DeviceArray], optimize: Any) -> list[tuple[int, ...]]:
    """Return the positions of the operands that each step contracts."""
    if len(arrays) <= 2:
        return [tuple(range(len(arrays)))]
    strategy = optimize if not isinstance(optimize, bool | str | type(None)) or optimize else "greedy"
    path = np.einsum_path(subscripts, *(_broadcast_zeros(x.shape) for x in arrays), optimize=strategy)[0]
    return [tuple(step) for step in path[1:]]


def _contract_all(
    terms: list[Term],
    result: list[Any],
    work: np.dtype,
    path: list[tuple[int, ...]],
    out: DeviceArray | None,
) -> DeviceArray:
    """Contract the terms pairwise along the path. The last contraction has the result's dtype and may write `out`."""
    steps = [[*step] for step in path]
    intermediate = wide_dtype(work)
    while len(terms) > 1:
        step = sorted(steps.pop(0) if steps else range(len(terms)))
        contracted = [terms[i] for i in step]
        terms = [term for i, term in enumerate(terms) if i not in step]
        while len(contracted) > 1:
            a, b = contracted.pop(0), contracted.pop(0)
            last = not contracted and not terms
            needed = {label for term in (*terms, *contracted) for label in term.labels} | set(result)
            if last:
                labels = [label for label in result if label in a.labels or label in b.labels]
            else:
                labels = [x for x in dict.fromkeys((*a.labels, *b.labels)) if x in needed]
            target = None
            if last and labels == result and out is not None and out.dtype == work:
                target = out
                out.check_writeable("output array is read-only")
            contracted.insert(0, Term(contract(a, b, labels, work if last else intermediate, target), labels))
        terms.append(contracted[0])
    total, remaining = terms[0]
    if remaining == result:
        return total
    # labels of extent 1 whose axes broadcast nowhere are in no term
    total = _contract_operand(terms[0], [x for x in result if x in remaining], work)
    missing = tuple(i for i, label in enumerate(result) if label not in remaining)
    return manipulation.expand_dims(total, missing) if missing else total
