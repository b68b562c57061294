"""Promotion: the dtypes of a ufunc call, resolved by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["resolve"]

Operand = np.dtype | type
_COMPARISONS = {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}
_cache: dict[tuple, tuple[tuple[np.dtype, ...], tuple[np.dtype, ...]]] = {}


def _signature(ufunc: np.ufunc, dtype: Any, signature: Any) -> tuple[Any, ...] | None:
    if signature is None:
        if dtype is None:
            return None
        return (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
    if dtype is not None:
        raise TypeError("cannot specify both 'signature' and 'dtype'")
    if isinstance(signature, str):
        in_chars, arrow, out_chars = signature.partition("->")
        if not arrow:
            return (None,) * ufunc.nin + (np.dtype(signature),) * ufunc.nout
        signature = tuple(in_chars) + tuple(out_chars)
    if not isinstance(signature, tuple):
        return (None,) * ufunc.nin + (np.dtype(signature),) * ufunc.nout
    if len(signature) == 1 and ufunc.nin + ufunc.nout > 1:
        return (None,) * ufunc.nin + (np.dtype(signature[0]),) * ufunc.nout
    return tuple(None if dtype is None else np.dtype(dtype) for dtype in signature)


def _reduction_signature(dtype: Any) -> tuple[Any, ...] | None:
    """Return the signature for ``ufunc.reduce(..., dtype=)``, which sets the dtype of the accumulator."""
    return None if dtype is None else (np.dtype(dtype), None, None)


def resolve(
    ufunc: np.ufunc,
    operands: tuple[Operand, ...],
    dtype: Any = None,
    signature: Any = None,
    casting: Any = "same_kind",
    reduction: bool = False,
) -> tuple[tuple[np.dtype, ...], tuple[np.dtype, ...]]:
    """Return the dtypes a ufunc computes with and returns, as NumPy (NEP 50) chooses them.

    Parameters
    ----------
    ufunc : numpy.ufunc
    operands : tuple
        One per input: a dtype, or the Python type ``bool``, ``int``, ``float`` or ``complex`` for
        a weak scalar.
    dtype, signature, casting
        As in a ufunc call.
    reduction : bool
        Resolve for ``ufunc.reduce`` (three operands: the output, the input, the output).

    Returns
    -------
    in_dtypes, out_dtypes : tuple of dtype

    Raises
    ------
    TypeError
        NumPy's own: no loop, or inputs that ``casting`` does not allow.
    """
    key = (ufunc, operands, dtype, signature, casting, reduction)
    try:
        return _cache[key]
    except KeyError:
        pass
    types = tuple(np.dtype(bool) if operand is bool else operand for operand in operands)
    if casting == "equiv":  # NumPy 2.4 and 2.5 crash for a weak scalar, which is weak only in comparisons of integers
        if ufunc in _COMPARISONS and all(each is int or np.dtype(each).kind in "iu" for each in types):
            casting = "no"
        else:
            types = tuple(np.dtype(each) for each in types)
    fixed = _reduction_signature(dtype) if reduction else _signature(ufunc, dtype, signature)
    dtypes = ufunc.resolve_dtypes(
        types if reduction else types + (None,) * ufunc.nout,
        **({} if fixed is None else {"signature": fixed}),  # NumPy takes no None here
        casting=casting,
        reduction=reduction,
    )
    resolved = (tuple(dtypes[: ufunc.nin]), tuple(dtypes[ufunc.nin :]))
    _cache[key] = resolved
    return resolved
