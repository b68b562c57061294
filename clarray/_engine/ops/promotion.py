"""Which loop a ufunc call uses: always NumPy's own answer."""

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
        left, arrow, right = signature.partition("->")
        if not arrow:
            return (None,) * ufunc.nin + (np.dtype(signature),) * ufunc.nout
        signature = tuple(left) + tuple(right)
    if not isinstance(signature, tuple):
        return (None,) * ufunc.nin + (np.dtype(signature),) * ufunc.nout
    if len(signature) == 1 and ufunc.nin + ufunc.nout > 1:
        return (None,) * ufunc.nin + (np.dtype(signature[0]),) * ufunc.nout
    return tuple(None if one is None else np.dtype(one) for one in signature)


def _reduction(dtype: Any) -> tuple[Any, ...] | None:
    """What ``ufunc.reduce(..., dtype=)`` fixes: the dtype of the running result."""
    return None if dtype is None else (np.dtype(dtype), None, None)


def resolve(
    ufunc: np.ufunc,
    operands: tuple[Operand, ...],
    dtype: Any = None,
    signature: Any = None,
    casting: Any = "same_kind",
    reduction: bool = False,
) -> tuple[tuple[np.dtype, ...], tuple[np.dtype, ...]]:
    """The dtypes a ufunc computes with and returns, as NumPy (NEP 50) chooses them.

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
    kinds = tuple(np.dtype(bool) if one is bool else one for one in operands)
    if casting == "equiv":  # asked for a weak scalar, NumPy 2.4 and 2.5 crash; it is weak only beside integers compared
        if ufunc in _COMPARISONS and all(one is int or np.dtype(one).kind in "iu" for one in kinds):
            casting = "no"
        else:
            kinds = tuple(np.dtype(one) for one in kinds)
    wanted = _reduction(dtype) if reduction else _signature(ufunc, dtype, signature)
    found = ufunc.resolve_dtypes(
        kinds if reduction else kinds + (None,) * ufunc.nout,
        **({} if wanted is None else {"signature": wanted}),  # NumPy takes no None here
        casting=casting,
        reduction=reduction,
    )
    answer = (tuple(found[: ufunc.nin]), tuple(found[ufunc.nin :]))
    _cache[key] = answer
    return answer
