"""Expressions that compare elements within a tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core import callers
from clarray._core.composing import Operand, apply_ufunc, as_operand
from clarray._core.creation import as_array
from clarray._core.device_array import wrap
from clarray._core.ufunc_calls import cast, device_of_operands
from clarray._engine.expr.node import Node
from clarray._engine.runtime.capture import abort_capture
from clarray._numpy.reduction import reductions

__all__: list[str] = []


def close_mask(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> Node:
    """Return a pending mask of the elements that `isclose` calls equal."""
    device = device_of_operands((a, b, rtol, atol))
    x, y, relative, absolute = (as_operand(value, device) for value in (a, b, rtol, atol))
    if not isinstance(x, Node) and not isinstance(y, Node):
        x = as_array(x, device)._node
    if isinstance(y, Node):
        y = cast(y, np.result_type(y.dtype, 1.0))
    elif isinstance(y, int):
        y = float(y)
    _check_tolerances(relative, absolute)
    tolerance = apply_ufunc(np.add, absolute, apply_ufunc(np.multiply, relative, apply_ufunc(np.absolute, y)))
    within = apply_ufunc(np.less_equal, apply_ufunc(np.absolute, apply_ufunc(np.subtract, x, y)), tolerance)
    finite = apply_ufunc(np.logical_and, within, apply_ufunc(np.isfinite, y))
    close = apply_ufunc(np.logical_or, finite, apply_ufunc(np.equal, x, y))
    if equal_nan:
        close = apply_ufunc(np.logical_or, close, both_nan(x, y))
    assert isinstance(close, Node)
    return close


def both_nan(x: Operand, y: Operand) -> Node:
    """Return a pending mask of the elements that are NaN in both operands."""
    both: Node = apply_ufunc(np.logical_and, apply_ufunc(np.isnan, x), apply_ufunc(np.isnan, y))
    return both


def _check_tolerances(relative: Operand, absolute: Operand) -> None:
    """Warn of tolerances that are not finite, in the way that `numpy.errstate` sets."""
    if all(is_all_true(apply_ufunc(np.isfinite, tolerance)) for tolerance in (relative, absolute)):
        return
    abort_capture()  # a signature does not contain `numpy.errstate`
    tolerances = [wrap(x) if isinstance(x, Node) else x for x in (absolute, relative)]
    message = "One of rtol or atol is not valid, atol: {}, rtol: {}".format(*tolerances)
    error_mode = np.geterr()["invalid"]
    if error_mode == "warn":
        callers.warn_user(message, RuntimeWarning)
    elif error_mode == "raise":
        raise FloatingPointError(message)
    elif error_mode == "print":
        print(message)


def is_all_true(mask: Operand) -> bool:
    """Return whether a mask is true everywhere. Waits for a pending mask."""
    return bool(reductions.all(wrap(mask)) if isinstance(mask, Node) else mask)
