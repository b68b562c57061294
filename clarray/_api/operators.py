"""The operators of arrays. The code that every small operation runs is inlined here."""

from __future__ import annotations

import math
import operator as operators
import struct
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.exceptions import AxisError

from clarray._api.protocols import device_ufunc
from clarray._core import ufunc_calls
from clarray._core.device_array import DeviceArray, is_scalar, is_writeable, wrap
from clarray._core.fallback import by_numpy
from clarray._core.host_data import device_dtype
from clarray._core.numbers import repeats_sequence
from clarray._core.operands import (
    LARGE,
    RANGES,
    STRONG,
    OperandProtocol,
    operand_from_host,
    operand_protocol,
    scalar_node,
    scalar_value,
)
from clarray._core.own_frames import hide_own_frames
from clarray._engine.evaluate import evaluate
from clarray._engine.expr import build
from clarray._engine.expr.graph import inputs_of
from clarray._engine.expr.growth import is_costly
from clarray._engine.expr.memory_views import has_views
from clarray._engine.expr.node import CONST, EAGER, MASKED, HostScalar, Node, constant, host_scalar
from clarray._engine.expr.result_layout import has_same_order
from clarray._engine.expr.view import broadcast_shapes
from clarray._engine.ops.dtypes import HostOnly
from clarray._engine.ops.promotion import resolve
from clarray._engine.ops.ufuncs import Loop, find_loop, supported_ufuncs
from clarray._engine.speedups import native
from clarray._engine.writing import write
from clarray._numpy.products import gufuncs
from clarray._numpy.products.vectors import vector_product

if TYPE_CHECKING:
    from clarray._engine.runtime import Memory

__all__ = ["binary", "binary_any", "augmented", "matmul", "matmul_in_place", "power", "short_calls", "unary"]

Operator = Callable[["DeviceArray", Any], Any]

_BOOL = np.dtype(bool)
_COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)


# Operations off the fast path ---------------------------------------------------------------------


def _operate_by_protocol(ufunc: np.ufunc, operands: tuple[Any, Any], other: Any) -> Any:
    """Compute ``a op b`` off the fast path, by the protocol of `other`, one of the operands."""
    if repeats_sequence(ufunc, operands[operands[0] is other], other):
        return NotImplemented
    manner = operand_protocol(type(other))
    if manner is OperandProtocol.OVERRIDES:
        return ufunc(*operands)  # NumPy calls ``__array_ufunc__`` of all operands, in its order
    if manner is OperandProtocol.HIGHER_PRIORITY and ufunc in (np.equal, np.not_equal):
        return _compare_by_other_type(ufunc, operands, other)
    return _compute_binary(ufunc, operands, other) if manner is OperandProtocol.CONVERT else NotImplemented


def _compare_by_other_type(ufunc: np.ufunc, operands: tuple[Any, Any], other: Any) -> Any:
    """Compare by the other type's method. If both sides returned NotImplemented, Python would compare identities."""
    name = "__eq__" if ufunc is np.equal else "__ne__"
    comparison = getattr(type(other), name)
    equal = comparison(other, operands[operands[0] is other])
    if equal is NotImplemented and comparison is not getattr(object, name):
        raise TypeError(f"neither DeviceArray nor {type(other).__name__} can compare one with the other")
    return equal


def _compute_binary(ufunc: np.ufunc, operands: tuple[Any, Any], other: Any) -> Any:
    """Compute a ufunc of two operands, one of which is `other`, on the device or by NumPy on the host."""
    try:
        return device_ufunc(ufunc, "__call__", operands, {})
    except HostOnly as error:
        unequal: dict[Any, bool] = {np.equal: False, np.not_equal: True}
        value = unequal.get(ufunc)
        kind, shape = error.dtype.kind, np.shape(other)
        if value is not None and (kind in "SU" or (kind == "O" and not shape)):
            # no number equals None or a string
            array = operands[operands[0] is other]
            shape = broadcast_shapes((array.shape, shape))
            return wrap(ufunc_calls.full(scalar_node(value, _BOOL), shape))
    return by_numpy(ufunc, operands, {})


def _update_by_ufunc(ufunc: np.ufunc, array: Any, *others: Any) -> Any:
    """Compute ``array op= other`` by the ufunc: write to the array's memory, or replace its pending value."""
    for other in others:
        manner = operand_protocol(type(other))
        if manner is not OperandProtocol.CONVERT:
            return _delegate_update(manner, ufunc, array, other)
    pending = array._node.memory is None and array._base is None
    if pending:
        return ufunc_calls.update_pending(ufunc, array, others)
    return ufunc_calls.call(ufunc, (array, *others), out=(array,))


def _delegate_update(manner: OperandProtocol, ufunc: np.ufunc, array: Any, other: Any, **kwargs: Any) -> Any:
    """Compute ``array op= other`` by the other operand's type. NotImplemented means ``array = array op other``."""
    if manner is OperandProtocol.HIGHER_PRIORITY:
        return NotImplemented
    if manner is OperandProtocol.OVERRIDES:
        return other.__array_ufunc__(ufunc, "__call__", array, other, out=(array,), **kwargs)
    return ufunc(array, other, out=(array,), **kwargs)


# Constant folding ------------------------------------------------------------------------------------


def _exact_quotient(a: Any, b: Any) -> Any:
    """Return a quotient that is rounded once even if it is converted to float32, or None. None for integers."""
    exact = type(a) is type(b) is float and b != 0
    return a / b if exact and (a == 0 or abs(a / b) >= _NORMAL) else None


# Operations whose result is rounded at most once, so that host and device compute the same number. For float32 operands
# double precision is exact enough, because it has more than twice the digits.
_FOLDS: dict[np.ufunc, Callable[[Any, Any], Any]] = {
    np.add: operators.add,
    np.subtract: operators.sub,
    np.multiply: operators.mul,
    np.true_divide: _exact_quotient,
    np.equal: operators.eq,
    np.not_equal: operators.ne,
    np.less: operators.lt,
    np.less_equal: operators.le,
    np.greater: operators.gt,
    np.greater_equal: operators.ge,
}
_LOGICAL = frozenset((np.logical_and, np.logical_or, np.logical_xor))  # NumPy converts integers to arrays for these
_single = struct.Struct("f")
_NORMAL = float(np.finfo(np.float32).tiny)
# Operations that the compiled core folds.
_SIGNS: dict[Any, str] = {np.add: "+", np.subtract: "-", np.multiply: "*", np.true_divide: "/"}
_SIGNS |= {np.equal: "=", np.not_equal: "!", np.less: "<", np.less_equal: "l", np.greater: ">", np.greater_equal: "g"}


def _fold_constants(
    fold: Callable[[Any, Any], Any] | None, known_node: Node, other: Any, reflected: bool
) -> Node | None:
    """Compute an operation on a constant and another constant, or return None if a kernel has to compute it."""
    if fold is None or not isinstance(known_node, HostScalar):
        return None
    dtype = known_node.dtype
    other_value = _rounded_to_dtype(_constant_operand(known_node, other), dtype)
    if other_value is None:
        return None
    own_value = known_node.value
    value = fold(other_value, own_value) if reflected else fold(own_value, other_value)
    if type(value) is bool:
        return host_scalar(value, _BOOL, known_node.device)
    value = _rounded_to_dtype(value, dtype)
    return None if value is None else host_scalar(value, dtype, known_node.device)


def _exact_root(a: Any) -> Any:
    """Return a square root, or None for negative numbers and integers."""
    return math.sqrt(a) if type(a) is float and a >= 0 else None


_UNARY_FOLDS: dict[np.ufunc, Callable[[Any], Any]] = {
    np.negative: operators.neg,
    np.absolute: abs,
    np.square: lambda a: a * a,
    np.sqrt: _exact_root,
}


def _fold_constant(fold: Callable[[Any], Any] | None, node: Node) -> Node | None:
    """Compute an operation on a single constant, or return None if a kernel has to compute it."""
    if fold is None or not isinstance(node, HostScalar) or type(node.value) not in (int, float):
        return None
    folded = _rounded_to_dtype(fold(node.value), node.dtype)
    return None if folded is None else host_scalar(folded, node.dtype, node.device)


def _constant_operand(known_node: HostScalar, other: Any) -> Any:
    """Return the other operand's value if it is a Python number, or a NumPy scalar or constant of the same dtype."""
    if STRONG.get(type(other)) is known_node.dtype:
        return other.item()
    if type(other) in (int, float):
        return other if type(other) is int or known_node.dtype.kind == "f" else None
    node = getattr(other, "_node", None)
    if not isinstance(node, HostScalar) or node.op is not CONST:
        return None
    return node.value if node.dtype is known_node.dtype and node.device is known_node.device else None


def _rounded_to_dtype(value: Any, dtype: np.dtype) -> Any:
    """Round a number to `dtype`. Return None for numbers that are not finite or out of range, and for other dtypes."""
    if value is None:
        return None
    if dtype.char == "f":
        return _single.unpack(_single.pack(value))[0] if -LARGE < value < LARGE else None
    if dtype.char == "d":
        return float(value) if -LARGE < value < LARGE else None
    if dtype.kind in "iu":
        low, high = RANGES[dtype]
        return value if low <= value <= high else None
    return None


def _native_operator(
    ufunc: np.ufunc, operator: Callable[..., Any], find: Callable[..., Any], **kind: bool
) -> Callable[..., Any]:
    """Return the native implementation of an operator, which calls `find` for loops, or the operator without a core."""
    if native is None:
        return operator
    defaults = {"reflected": False, "integers_apart": False, "in_place": False, "folds": _SIGNS.get(ufunc, " ")}
    native_operator: Callable[..., Any] = native.Operator(operator, find, **defaults | kind)
    return native_operator


# The fast path --------------------------------------------------------------------------------------


def binary(
    ufunc: np.ufunc, reflected: bool = False, otherwise: Callable[..., Any] = _operate_by_protocol
) -> Callable[[DeviceArray, Any], Any]:
    """Make a binary operator: it caches the loop by the operands' dtypes, and calls `otherwise` for rare operands."""
    loops: dict[Any, tuple[Loop, np.dtype]] = {}
    grow = build.binary
    new = object.__new__
    integers_apart = ufunc is np.power  # exponents have to be checked for negative values
    compares = ufunc in _COMPARISONS  # comparisons are defined for integers that fit no dtype
    of_int = "" if ufunc in _LOGICAL else "fc" if integers_apart else "biufc"
    folds = _FOLDS.get(ufunc)
    # the key of scalars by their type: a dtype, or the type itself
    numbers = {float: float} | {k: d for k, d in STRONG.items() if not (integers_apart and d.kind in "iu")}

    def find(array: DeviceArray, b: Any) -> tuple[Loop, np.dtype]:
        a = array._node.dtype
        operands = (b, a) if reflected else (a, b)
        in_dtypes, out_dtypes = resolve(ufunc, operands)
        for dtype in (*in_dtypes, *out_dtypes):
            device_dtype(dtype, array.device)
        loop_and_dtype = find_loop(ufunc, in_dtypes, out_dtypes), in_dtypes[0 if reflected else 1]
        loops[a, b] = loop_and_dtype
        return loop_and_dtype

    def operator(self: DeviceArray, other: Any) -> Any:
        a = self._node
        own_type = type(self)
        kind = type(other)
        if a.op is CONST and (value := _fold_constants(folds, a, other, reflected)) is not None:
            return wrap(value)
        if kind is own_type:
            b = other._node
            if integers_apart and b.dtype.kind in "iu":
                return ufunc_calls.call(ufunc, (self, other))
            loop_and_dtype = loops.get((a.dtype, b.dtype)) or find(self, b.dtype)
        elif kind in numbers or (kind is int and a.dtype.kind in of_int):
            key = numbers.get(kind, int)
            loop_and_dtype = loops.get((a.dtype, key)) or find(self, key)
            dtype = loop_and_dtype[1]
            try:
                b = constant(scalar_value(other, dtype), dtype)
            except OverflowError:
                if not compares:
                    raise
                operands = (other, self) if reflected else (self, other)
                return otherwise(ufunc, operands, other)
        elif (operand := operand_from_host(other, self)) is not None:
            return operator(self, operand)
        else:
            operands = (other, self) if reflected else (self, other)
            return otherwise(ufunc, operands, other)
        node = grow(loop_and_dtype[0], b, a) if reflected else grow(loop_and_dtype[0], a, b)
        if node.flags & EAGER or is_costly(node):
            evaluate(node)
        array = new(own_type)
        array._node = node
        array._base = None
        return array

    return _native_operator(ufunc, operator, find, reflected=reflected, integers_apart=integers_apart)


def unary(ufunc: np.ufunc) -> Callable[[DeviceArray], Any]:
    """Make a unary operator: it caches the loop by the operand's dtype."""
    loops: dict[np.dtype, Loop] = {}
    fold = _UNARY_FOLDS.get(ufunc)

    def find(array: DeviceArray, _: None = None) -> tuple[Loop, None]:
        operand = array._node.dtype
        in_dtypes, out_dtypes = resolve(ufunc, (operand,))
        for dtype in (*in_dtypes, *out_dtypes):
            device_dtype(dtype, array.device)
        loop = loops[operand] = find_loop(ufunc, in_dtypes, out_dtypes)
        return loop, None

    def operator(self: DeviceArray) -> Any:
        node = self._node
        if node.op is CONST and (value := _fold_constant(fold, node)) is not None:
            return wrap(value)
        try:
            loop = loops.get(node.dtype) or find(self)[0]
            return ufunc_calls.evaluate_if_eager(build.nary(loop, (node,)))
        except Exception as error:
            hide_own_frames(error)
            raise

    return _native_operator(ufunc, operator, find)


_POWERS = {2: np.square, 1: np.positive, -1: np.reciprocal, 0.5: np.sqrt}


def _cheaper_power(dtype: np.dtype, exponent: Any) -> np.ufunc | None:
    """Return the cheaper ufunc that NumPy uses for a power, or None."""
    kind = type(exponent)
    if (kind is int or kind is float) and exponent in _POWERS:
        letter = dtype.kind
        if letter in "fc" or (letter in "biu" and kind is int and exponent == 2):
            return _POWERS[exponent]
    return None


def power() -> tuple[Callable[[DeviceArray, Any], Any], Callable[[DeviceArray, Any], Any]]:
    """Make the operators ``x ** y`` and ``x **= y``."""
    power = binary(np.power)
    special: dict[Any, Any] = {ufunc: unary(ufunc) for ufunc in _POWERS.values()}

    def operator(self: DeviceArray, other: Any) -> Any:
        short = _cheaper_power(self._node.dtype, other)
        try:
            return power(self, other) if short is None else special[short](self)
        except Exception as error:
            hide_own_frames(error)
            raise

    def augmented(self: DeviceArray, other: Any) -> Any:
        if is_scalar(self):
            return operator(self, other)
        short = _cheaper_power(self._node.dtype, other)
        try:
            return _update_by_ufunc(np.power, self, other) if short is None else _update_by_ufunc(short, self)
        except Exception as error:
            hide_own_frames(error)
            raise

    return operator, augmented


def binary_any(ufunc: np.ufunc, reflected: bool = False) -> Callable[[DeviceArray, Any], Any]:
    """Make a rarely used binary operator, which calls the ufunc."""

    def operator(self: DeviceArray, other: Any) -> Any:
        operands = (other, self) if reflected else (self, other)
        return _operate_by_protocol(ufunc, operands, other)

    return operator


def _find_update_loop(ufunc: np.ufunc, array: DeviceArray, b: Any) -> tuple[Loop, np.dtype] | None:
    """Return the loop of ``array op= b`` and its dtype for b, or None if the result has another dtype."""
    a = array._node.dtype
    try:
        in_dtypes, out_dtypes = resolve(ufunc, (a, b))
    except TypeError:
        return None  # `_update_by_ufunc` raises the error
    if out_dtypes[0] != a:
        return None
    for dtype in in_dtypes:
        device_dtype(dtype, array.device)
    return find_loop(ufunc, in_dtypes, out_dtypes), in_dtypes[1]


def _evaluate_if_overwritten(operand: Node, memory: Memory) -> None:
    """Evaluate a pending operand that reads the overwritten memory. `write` would evaluate it later anyway."""
    for node in inputs_of(operand):
        if node.memory is memory:
            evaluate(operand)
            return


def _assign_value(array: DeviceArray, node: Node) -> DeviceArray:
    """Write a value to an array's memory, or replace the array's node if it is pending."""
    target = array._node
    if target.memory is not None or array._base is not None or has_views(target) or not has_same_order(node, target):
        write(evaluate(target), node)
        return array
    if node.flags & EAGER or is_costly(node):
        evaluate(node)
    array._node = node
    return array


def augmented(ufunc: np.ufunc, out_of_place: Callable[[DeviceArray, Any], Any]) -> Callable[[DeviceArray, Any], Any]:
    """Make an operator such as ``x += y``: it writes to the memory of x, or replaces a pending value.

    A number is immutable, as NumPy's scalars are: `out_of_place` is the operator that computes a new number.

    The fast path is for results of the array's own shape and dtype, and calls `write` directly.
    """
    loops: dict[Any, tuple[Loop, np.dtype] | None] = {}
    grow = build.binary
    folds = _FOLDS.get(ufunc)

    def operator(self: DeviceArray, other: Any) -> Any:
        if is_scalar(self):
            return out_of_place(self, other)
        kind = type(other)
        if kind is type(self) or kind is float or kind is int or kind in STRONG:
            with self.device.lock:  # from reading the operands to the launch that writes
                return operate(self, other)
        operand = operand_from_host(other, self)
        return _update_by_ufunc(ufunc, self, other) if operand is None else operator(self, operand)

    def operate(self: DeviceArray, other: Any) -> Any:
        a = self._node
        if a.op is CONST and (value := _fold_constants(folds, a, other, False)) is not None:
            self._node = value
            return self
        kind = type(other)
        fits = True
        if kind is type(self):
            b = other._node
            key = b.dtype
            masked = (a.flags | b.flags) & MASKED
            fits = build.select_by_same_mask(a, b) if masked else not b.shape or b.shape == a.shape
        else:
            key = STRONG.get(kind, kind)
        if not fits or (a.memory is not None and not is_writeable(self)):
            return _update_by_ufunc(ufunc, self, other)
        try:
            loop_and_dtype = loops[a.dtype, key]
        except KeyError:
            loop_and_dtype = loops[a.dtype, key] = _find_update_loop(ufunc, self, key)
        if loop_and_dtype is None:
            return _update_by_ufunc(ufunc, self, other)
        if kind is not type(self):
            b = constant(scalar_value(other, loop_and_dtype[1]), loop_and_dtype[1])
        elif b.args and a.memory is not None:
            _evaluate_if_overwritten(b, a.memory)
        return _assign_value(self, grow(loop_and_dtype[0], a, b))

    return _native_operator(ufunc, operator, partial(_find_update_loop, ufunc), in_place=True)


def matmul(self: DeviceArray, other: Any) -> Any:
    """Compute ``x @ y``. A vector times a vector or a matrix has a fast path."""
    try:
        product = vector_product(self, other)
        if product is not None:
            return product
        if type(other) is type(self) is DeviceArray:
            return gufuncs.product(self, other)
        if (operand := operand_from_host(other, self)) is not None:
            return matmul(self, operand)
        return _operate_by_protocol(np.matmul, (self, other), other)
    except Exception as error:
        hide_own_frames(error)
        raise


_NO_MATRIX = (
    "inplace matrix multiplication requires the first operand to have at least one and "
    "the second at least two dimensions."
)


def matmul_in_place(self: DeviceArray, other: Any) -> Any:
    """Compute ``x @= y`` into the memory of x. The product has the shape of x, a vector or matrix. y is a matrix."""
    own_axes = (-1,) if self.ndim == 1 else (-2, -1)
    axes = [own_axes, (-2, -1), own_axes]
    manner = operand_protocol(type(other))
    if manner is not OperandProtocol.CONVERT:
        return _delegate_update(manner, np.matmul, self, other, axes=axes)
    try:
        return gufuncs.call(np.matmul, (self, other), out=self, axes=axes)
    except AxisError:
        raise ValueError(_NO_MATRIX) from None


# Functions for calls of ufuncs without keywords: one, or two for an array as first and as second operand.
short_calls: dict[Any, tuple[Callable[..., Any], ...]] = {
    ufunc: (unary(ufunc),)
    if ufunc.nin == 1
    else (binary(ufunc, False, _compute_binary), binary(ufunc, True, _compute_binary))
    for ufunc in supported_ufuncs
    if ufunc.nout == 1 and ufunc.nin <= 2
}
