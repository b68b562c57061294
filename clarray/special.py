"""Compute some functions of `scipy.special` on the device.

Each function reads its operands once. If an expression uses the result, the function becomes part of the expression's
kernel.

The functions of the same names in `scipy.special` call the functions of this module if an operand is a device array.
For all other functions, the environment variable SCIPY_ARRAY_API decides. If the variable is set, SciPy computes these
functions on the host and returns device arrays. If the variable is not set, these functions return NumPy arrays or
raise TypeError.

>>> from clarray import special
>>> special.xlogy([0.0, 2.0], [0.0, 1.0]).tolist()
[0.0, 0.0]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._core.absent_names import absent
from clarray._core.composing import Operand, apply_ufunc, where
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray
from clarray._core.host_data import device_dtype
from clarray._core.operands import scalar_node, weak_type
from clarray._core.own_frames import add_boundaries
from clarray._core.ufunc_calls import cast, device_of_operands, evaluate_if_eager
from clarray._engine.expr import build
from clarray._engine.expr.node import Node
from clarray._engine.ops.special import builtin_loop, i0_loop

__all__ = [
    "entr",
    "erf",
    "erfc",
    "exp10",
    "expit",
    "gamma",
    "gammaln",
    "i0",
    "kl_div",
    "logit",
    "ndtr",
    "rel_entr",
    "xlog1py",
    "xlogy",
]

_INFINITY = math.inf


def _floats(name: str, *values: Any) -> list[Node]:
    """Convert operands to float32 if it can represent all their dtypes, or to float64: SciPy's rule from 1.18 on.

    Raises
    ------
    TypeError
        An operand is complex, or the device has no float64.
    """
    device = device_of_operands(values)
    all_scalars = all(weak_type(value) is not None for value in values)
    operands = [as_array(x, device)._node if all_scalars or weak_type(x) is None else x for x in values]
    dtype = np.result_type(np.float32, *(x.dtype if isinstance(x, Node) else x for x in operands))
    if dtype.kind == "c":
        raise TypeError(f"clarray.special.{name} takes real numbers")
    dtype = device_dtype(dtype, device)
    return [cast(x, dtype) if isinstance(x, Node) else scalar_node(x, dtype) for x in operands]


def _builtin(name: str, value: Node) -> Node:
    return build.unary(builtin_loop(name, value.dtype), value)


def _array(node: Any) -> DeviceArray:
    array: DeviceArray = evaluate_if_eager(node)
    return array


def erf(x: Any) -> DeviceArray:
    """Compute the error function.

    Parameters
    ----------
    x : array_like
        Real numbers.

    Returns
    -------
    DeviceArray
        float32 if that holds the dtype of `x`, else float64.

    Raises
    ------
    TypeError
        `x` is complex, or the device lacks float64, which is needed.

    Examples
    --------
    >>> from clarray import special
    >>> special.erf([0.0, 1.0, float("inf")]).round(6).tolist()
    [0.0, 0.842701, 1.0]
    """
    return _array(_builtin("erf", *_floats("erf", x)))


def erfc(x: Any) -> DeviceArray:
    """Compute ``1 - erf(x)``. The result is accurate even if it is small.

    Parameters
    ----------
    x : array_like
        Real numbers.

    Returns
    -------
    DeviceArray
        float32 if that holds the dtype of `x`, else float64.

    Raises
    ------
    TypeError
        `x` is complex, or the device lacks float64, which is needed.

    Examples
    --------
    >>> from clarray import special
    >>> special.erfc([0.0, 1.0]).round(6).tolist()
    [1.0, 0.157299]
    >>> bool(special.erfc(10.0) > 0)
    True
    """
    return _array(_builtin("erfc", *_floats("erfc", x)))


def gamma(x: Any) -> DeviceArray:
    """Compute the gamma function: ``factorial(x - 1)`` for whole numbers.

    Parameters
    ----------
    x : array_like
        Real numbers. The result is NaN at negative integers.

    Returns
    -------
    DeviceArray
        float32 if that holds the dtype of `x`, else float64.

    Raises
    ------
    TypeError
        `x` is complex, or the device lacks float64, which is needed.

    Examples
    --------
    >>> from clarray import special
    >>> special.gamma([1.0, 2.0, 5.0]).round(6).tolist()
    [1.0, 1.0, 24.0]
    """
    return _array(_builtin("tgamma", *_floats("gamma", x)))


def gammaln(x: Any) -> DeviceArray:
    """Compute the logarithm of the magnitude of the gamma function.

    Parameters
    ----------
    x : array_like
        Real numbers. The result of minus infinity is minus infinity, as in SciPy.

    Returns
    -------
    DeviceArray
        float32 if that holds the dtype of `x`, else float64.

    Raises
    ------
    TypeError
        `x` is complex, or the device lacks float64, which is needed.

    Examples
    --------
    >>> from clarray import special
    >>> special.gammaln([3.0, 1000.0]).round(6).tolist()
    [0.693147, 5905.220423]
    """
    (node,) = _floats("gammaln", x)
    return _array(where(apply_ufunc(np.equal, node, -_INFINITY), node, _builtin("lgamma", node)))


def i0(x: Any) -> DeviceArray:
    """Compute the modified Bessel function of the first kind and order zero.

    Parameters
    ----------
    x : array_like
        Real numbers.

    Returns
    -------
    DeviceArray
        float32 if that holds the dtype of `x`, else float64.

    Raises
    ------
    TypeError
        `x` is complex, or the device lacks float64, which is needed.

    Examples
    --------
    >>> from clarray import special
    >>> special.i0([0.0, 1.0]).round(6).tolist()
    [1.0, 1.266066]
    """
    (node,) = _floats("i0", x)
    return _array(build.unary(i0_loop(node.dtype), node))


def ndtr(x: Any) -> DeviceArray:
    """Compute the standard normal distribution function: the probability of a number of at most `x`.

    Parameters
    ----------
    x : array_like
        Real numbers.

    Returns
    -------
    DeviceArray
        float32 if that holds the dtype of `x`, else float64.

    Raises
    ------
    TypeError
        `x` is complex, or the device lacks float64, which is needed.

    Examples
    --------
    >>> from clarray import special
    >>> special.ndtr([0.0, 1.96]).round(6).tolist()
    [0.5, 0.975002]
    """
    (node,) = _floats("ndtr", x)
    return _array(apply_ufunc(np.multiply, _builtin("erfc", apply_ufunc(np.multiply, node, -math.sqrt(0.5))), 0.5))


def exp10(x: Any) -> DeviceArray:
    """Compute ``10**x``.

    Parameters
    ----------
    x : array_like
        Real numbers.

    Returns
    -------
    DeviceArray
        float32 if that holds the dtype of `x`, else float64.

    Raises
    ------
    TypeError
        `x` is complex, or the device lacks float64, which is needed.

    Examples
    --------
    >>> from clarray import special
    >>> special.exp10([0.0, 2.0, -1.0]).round(6).tolist()
    [1.0, 100.0, 0.1]
    """
    (node,) = _floats("exp10", x)
    return _array(apply_ufunc(np.power, 10.0, node))


def expit(x: Any) -> DeviceArray:
    """Compute the logistic function ``1 / (1 + exp(-x))``.

    Parameters
    ----------
    x : array_like
        Real numbers.

    Returns
    -------
    DeviceArray
        float32 if that holds the dtype of `x`, else float64.

    Raises
    ------
    TypeError
        `x` is complex, or the device lacks float64, which is needed.

    Examples
    --------
    >>> from clarray import special
    >>> special.expit([0.0, 1.0, -float("inf")]).round(6).tolist()
    [0.5, 0.731059, 0.0]
    """
    (node,) = _floats("expit", x)
    return _array(
        apply_ufunc(np.reciprocal, apply_ufunc(np.add, apply_ufunc(np.exp, apply_ufunc(np.negative, node)), 1.0))
    )


def logit(x: Any) -> DeviceArray:
    """Compute ``log(x / (1 - x))``, the inverse of `expit`. The result is accurate even near one half.

    Parameters
    ----------
    x : array_like
        Real numbers of [0, 1]. The result of other numbers is NaN.

    Returns
    -------
    DeviceArray
        float32 if that holds the dtype of `x`, else float64.

    Raises
    ------
    TypeError
        `x` is complex, or the device lacks float64, which is needed.

    Examples
    --------
    >>> from clarray import special
    >>> special.logit([0.5, 0.75]).round(6).tolist()
    [0.0, 1.098612]
    """
    (node,) = _floats("logit", x)
    ratio = apply_ufunc(np.log, apply_ufunc(np.divide, node, apply_ufunc(np.subtract, 1.0, node)))
    twice = apply_ufunc(np.subtract, apply_ufunc(np.multiply, node, 2.0), 1.0)
    near_half = apply_ufunc(
        np.subtract, apply_ufunc(np.log1p, twice), apply_ufunc(np.log1p, apply_ufunc(np.negative, twice))
    )
    return _array(where(apply_ufunc(np.less, apply_ufunc(np.absolute, twice), 0.4), near_half, ratio))


def entr(x: Any) -> DeviceArray:
    """Compute the entropy ``-x * log(x)``: 0 at zero, and minus infinity below it.

    Parameters
    ----------
    x : array_like
        Real numbers.

    Returns
    -------
    DeviceArray
        float32 if that holds the dtype of `x`, else float64.

    Raises
    ------
    TypeError
        `x` is complex, or the device lacks float64, which is needed.

    Examples
    --------
    >>> from clarray import special
    >>> special.entr([0.0, 0.5, -1.0]).round(6).tolist()
    [0.0, 0.346574, -inf]
    """
    (node,) = _floats("entr", x)
    inside = apply_ufunc(np.negative, apply_ufunc(np.multiply, node, apply_ufunc(np.log, node)))
    edge = where(apply_ufunc(np.equal, node, 0), node, inside)
    return _array(where(apply_ufunc(np.less, node, 0), -_INFINITY, edge))


def xlogy(x: Any, y: Any) -> DeviceArray:
    """Compute ``x * log(y)``: 0 if `x` is zero, unless `y` is NaN.

    Parameters
    ----------
    x, y : array_like
        Real numbers that broadcast.

    Returns
    -------
    DeviceArray
        float32 if that holds both dtypes, else float64.

    Raises
    ------
    TypeError
        An operand is complex, or the device lacks float64, which is needed.

    Examples
    --------
    >>> from clarray import special
    >>> special.xlogy([0.0, 2.0], [0.0, 3.0]).round(6).tolist()
    [0.0, 2.197225]
    """
    return _array(_times_log(np.log, *_floats("xlogy", x, y)))


def xlog1py(x: Any, y: Any) -> DeviceArray:
    """Compute ``x * log(1 + y)``: 0 if `x` is zero, unless `y` is NaN. The result is accurate even for a small `y`.

    The parameters, the result and the errors are as in `xlogy`.

    Examples
    --------
    >>> from clarray import special
    >>> special.xlog1py([0.0, 2.0], [-1.0, 1.0]).round(6).tolist()
    [0.0, 1.386294]
    """
    return _array(_times_log(np.log1p, *_floats("xlog1py", x, y)))


def _times_log(logarithm: np.ufunc, x: Node, y: Node) -> Node:
    zero = apply_ufunc(np.logical_and, apply_ufunc(np.equal, x, 0), apply_ufunc(np.equal, y, y))
    return where(zero, 0.0, apply_ufunc(np.multiply, x, apply_ufunc(logarithm, y)))


def rel_entr(x: Any, y: Any) -> DeviceArray:
    """Compute the relative entropy ``x * log(x / y)`` of positive numbers.

    The result is 0 if `x` is zero and `y` is not negative, and infinity for all other numbers.

    The parameters, the result and the errors are as in `xlogy`.

    Examples
    --------
    >>> from clarray import special
    >>> special.rel_entr([0.5, 0.0, -1.0], [0.25, 0.5, 1.0]).round(6).tolist()
    [0.346574, 0.0, inf]
    """
    p, q = _floats("rel_entr", x, y)
    return _array(_divergence(p, q, _relative(p, q), 0.0))


def kl_div(x: Any, y: Any) -> DeviceArray:
    """Compute the Kullback-Leibler divergence ``x * log(x / y) - x + y`` of positive numbers.

    The result is `y` if `x` is zero and `y` is not negative, and infinity for all other numbers.

    The parameters, the result and the errors are as in `xlogy`.

    Examples
    --------
    >>> from clarray import special
    >>> special.kl_div([0.5, 0.0, -1.0], [0.25, 0.5, 1.0]).round(6).tolist()
    [0.096574, 0.5, inf]
    """
    p, q = _floats("kl_div", x, y)
    return _array(_divergence(p, q, apply_ufunc(np.add, apply_ufunc(np.subtract, _relative(p, q), p), q), q))


def _relative(x: Node, y: Node) -> Node:
    product: Node = apply_ufunc(np.multiply, x, apply_ufunc(np.log, apply_ufunc(np.divide, x, y)))
    return product


def _divergence(x: Node, y: Node, inside: Node, border: Operand) -> Node:
    """Return `inside` above zero, `border` if only `x` is zero, NaN for NaN, and infinity for all other operands."""
    above = apply_ufunc(np.logical_and, apply_ufunc(np.greater, x, 0), apply_ufunc(np.greater, y, 0))
    on_border = apply_ufunc(np.logical_and, apply_ufunc(np.equal, x, 0), apply_ufunc(np.greater_equal, y, 0))
    without_nan = apply_ufunc(np.logical_and, apply_ufunc(np.equal, x, x), apply_ufunc(np.equal, y, y))
    return where(above, inside, where(on_border, border, where(without_nan, _INFINITY, apply_ufunc(np.add, x, y))))


def function_for_ufunc(ufunc: np.ufunc) -> Callable[..., DeviceArray] | None:
    """Return this module's function for a ufunc of SciPy's, or None."""
    name = ufunc.__name__
    theirs = getattr(sys.modules.get("scipy.special"), name, None)
    if name not in __all__ or getattr(theirs, "__wrapped__", theirs) is not ufunc:
        return None
    function: Callable[..., DeviceArray] = globals()[name]
    return function


def __getattr__(name: str) -> Any:
    raise absent(name, f"if SciPy has it, call scipy.special.{name}(clarray.asnumpy(x))", __name__)


add_boundaries(sys.modules[__name__], __all__)
