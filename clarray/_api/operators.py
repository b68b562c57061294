"""The operators of arrays: what is on the path of every small operation is written out here."""

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
from clarray._core.device_array import DeviceArray, is_number, is_writeable, wrap
from clarray._core.fallback import by_numpy
from clarray._core.host_data import device_dtype
from clarray._core.numbers import is_repeated
from clarray._core.operands import (
    LARGE,
    RANGES,
    STRONG,
    Manner,
    manner_of,
    operand_from_host,
    scalar_node,
    scalar_value,
)
from clarray._core.own_frames import hide_own_frames
from clarray._engine.evaluate import evaluate
from clarray._engine.expr import build
from clarray._engine.expr.node import CONST, EAGER, MASKED, Known, Node, constant, known
from clarray._engine.expr.result_layout import lies_alike
from clarray._engine.expr.view import broadcast_shapes
from clarray._engine.ops.dtypes import HostOnly
from clarray._engine.ops.promotion import resolve
from clarray._engine.ops.ufuncs import Loop, find_loop, supported_ufuncs
from clarray._engine.speedups import core
from clarray._engine.writing import write
from clarray._numpy.products import gufuncs
from clarray._numpy.products.vectors import vector_product

if TYPE_CHECKING:
    from clarray._engine.runtime import Memory

__all__ = ["binary", "binary_any", "in_place", "matmul", "matmul_in_place", "power", "short_calls", "unary"]

Operator = Callable[["DeviceArray", Any], Any]

_BOOL = np.dtype(bool)
_COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)


# What is not on the short way ---------------------------------------------------------------------


def _operate(ufunc: np.ufunc, operands: tuple[Any, Any], other: Any) -> Any:
    """``a op b``, one of which is `other`, where an operator has no short way."""
    if is_repeated(ufunc, operands[operands[0] is other], other):
        return NotImplemented
    manner = manner_of(type(other))
    if manner is Manner.ASKED:
        return ufunc(*operands)  # NumPy asks all operands in its order
    if manner is Manner.OUTRANKS and ufunc in (np.equal, np.not_equal):
        return _equal_to_them(ufunc, operands, other)
    return _answer(ufunc, operands, other) if manner is Manner.PLAIN else NotImplemented


def _equal_to_them(ufunc: np.ufunc, operands: tuple[Any, Any], other: Any) -> Any:
    """Ask an operand whether it equals an array: where both gave up Python would compare identities."""
    name = "__eq__" if ufunc is np.equal else "__ne__"
    theirs = getattr(type(other), name)
    found = theirs(other, operands[operands[0] is other])
    if found is NotImplemented and theirs is not getattr(object, name):
        raise TypeError(f"neither DeviceArray nor {type(other).__name__} can compare one with the other")
    return found


def _answer(ufunc: np.ufunc, operands: tuple[Any, Any], other: Any) -> Any:
    """The value of a ufunc of two operands, one of which is `other`, where no operand's type computes it."""
    try:
        return device_ufunc(ufunc, "__call__", operands, {})
    except HostOnly as error:
        unequal: dict[Any, bool] = {np.equal: False, np.not_equal: True}
        value = unequal.get(ufunc)
        kind, shape = error.dtype.kind, np.shape(other)
        if value is not None and (kind in "SU" or (kind == "O" and not shape)):
            # no number equals None or a text
            mine = operands[operands[0] is other]
            shape = broadcast_shapes((mine.shape, shape))
            return wrap(ufunc_calls.full(scalar_node(value, _BOOL), shape))
    return by_numpy(ufunc, operands, {})


def _in_place(ufunc: np.ufunc, array: Any, *others: Any) -> Any:
    """``array op= other``: into the array's memory, or, while it has none, a new pending value."""
    for other in others:
        manner = manner_of(type(other))
        if manner is not Manner.PLAIN:
            return _theirs_in_place(manner, ufunc, array, other)
    pending = array._node.memory is None and array._base is None
    return ufunc_calls.call(ufunc, (array, *others), out=(array,), _write=not pending)


def _theirs_in_place(manner: Manner, ufunc: np.ufunc, array: Any, other: Any, **kwargs: Any) -> Any:
    """``array op= other``, which the other's type shall compute; NotImplemented makes it ``array = array op other``."""
    if manner is Manner.OUTRANKS:
        return NotImplemented
    if manner is Manner.ASKED:
        return other.__array_ufunc__(ufunc, "__call__", array, other, out=(array,), **kwargs)
    return ufunc(array, other, out=(array,), **kwargs)


# Numbers that are known ------------------------------------------------------------------------------


def _divided(a: Any, b: Any) -> Any:
    """A quotient that is rounded once, also where it goes on to float32; None for any other, and for integers."""
    exact = type(a) is type(b) is float and b != 0
    return a / b if exact and (a == 0 or abs(a / b) >= _NORMAL) else None


# Whose result is rounded once, or not at all, so that it is the same number wherever it is computed. Of two float32
# it may be computed in double precision, which has more than twice the digits.
_FOLDS: dict[np.ufunc, Callable[[Any, Any], Any]] = {
    np.add: operators.add,
    np.subtract: operators.sub,
    np.multiply: operators.mul,
    np.true_divide: _divided,
    np.equal: operators.eq,
    np.not_equal: operators.ne,
    np.less: operators.lt,
    np.less_equal: operators.le,
    np.greater: operators.gt,
    np.greater_equal: operators.ge,
}
_TRUTHS = frozenset((np.logical_and, np.logical_or, np.logical_xor))  # NumPy makes arrays of ints for these
_single = struct.Struct("f")
_NORMAL = float(np.finfo(np.float32).tiny)
# Those that the compiled core folds.
_SIGNS: dict[Any, str] = {np.add: "+", np.subtract: "-", np.multiply: "*", np.true_divide: "/"}
_SIGNS |= {np.equal: "=", np.not_equal: "!", np.less: "<", np.less_equal: "l", np.greater: ">", np.greater_equal: "g"}


def _folded(fold: Callable[[Any, Any], Any] | None, known_node: Node, other: Any, reflected: bool) -> Node | None:
    """The number that an operation of a known one and another gives; None where kernels shall say what it is."""
    if fold is None or not isinstance(known_node, Known):
        return None
    dtype = known_node.dtype
    number = _rounded(_number_beside(known_node, other), dtype)
    if number is None:
        return None
    mine = known_node.value
    value = fold(number, mine) if reflected else fold(mine, number)
    if type(value) is bool:
        return known(value, _BOOL, known_node.device)
    value = _rounded(value, dtype)
    return None if value is None else known(value, dtype, known_node.device)


def _root(a: Any) -> Any:
    """A square root, which is rounded once; None of what has none, and of integers."""
    return math.sqrt(a) if type(a) is float and a >= 0 else None


_FOLDS_OF_ONE: dict[np.ufunc, Callable[[Any], Any]] = {
    np.negative: operators.neg,
    np.absolute: abs,
    np.square: lambda a: a * a,
    np.sqrt: _root,
}


def _folded_alone(fold: Callable[[Any], Any] | None, node: Node) -> Node | None:
    """Do what `_folded` does, for an operation with a known number as its only operand."""
    if fold is None or not isinstance(node, Known) or type(node.value) not in (int, float):
        return None
    value = _rounded(fold(node.value), node.dtype)
    return None if value is None else known(value, node.dtype, node.device)


def _number_beside(known_node: Known, other: Any) -> Any:
    """The value of the other operand where it is a Python number, or NumPy's or a known one of the same dtype."""
    if STRONG.get(type(other)) is known_node.dtype:
        return other.item()
    if type(other) in (int, float):
        return other if type(other) is int or known_node.dtype.kind == "f" else None
    node = getattr(other, "_node", None)
    if not isinstance(node, Known) or node.op is not CONST:
        return None
    return node.value if node.dtype is known_node.dtype and node.device is known_node.device else None


def _rounded(value: Any, dtype: np.dtype) -> Any:
    """A number as `dtype` holds it; None where it does not, for what is no finite number, and for other dtypes."""
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


def _compiled(ufunc: np.ufunc, operator: Operator, find: Callable[..., Any], **kind: bool) -> Operator:
    """Give an operator's twin in the compiled core, which asks `find` for loops; itself where there is no core."""
    if core is None:
        return operator
    usual = {"reflected": False, "integers_apart": False, "in_place": False, "folds": _SIGNS.get(ufunc, " ")}
    twin: Operator = core.Operator(operator, find, **usual | kind)
    return twin


# The short way --------------------------------------------------------------------------------------


def binary(
    ufunc: np.ufunc, reflected: bool = False, otherwise: Callable[..., Any] = _operate
) -> Callable[[DeviceArray, Any], Any]:
    """An operator: the loop is looked up by the operands' dtypes, everything rare goes to `otherwise`."""
    loops: dict[Any, tuple[Loop, np.dtype]] = {}
    grow = build.binary
    limit = build.COST_LIMIT
    new = object.__new__
    integers_apart = ufunc is np.power  # negative exponents have to be looked for
    compares = ufunc in _COMPARISONS  # they have an answer for ints that no dtype holds
    of_int = "" if ufunc in _TRUTHS else "fc" if integers_apart else "biufc"
    folds = _FOLDS.get(ufunc)
    # by their types, what they go by: a dtype, or the type itself
    numbers = {float: float} | {k: d for k, d in STRONG.items() if not (integers_apart and d.kind in "iu")}

    def find(array: DeviceArray, b: Any) -> tuple[Loop, np.dtype]:
        a = array._node.dtype
        operands = (b, a) if reflected else (a, b)
        in_dtypes, out_dtypes = resolve(ufunc, operands)
        for dtype in (*in_dtypes, *out_dtypes):
            device_dtype(dtype, array.device)
        found = find_loop(ufunc, in_dtypes, out_dtypes), in_dtypes[0 if reflected else 1]
        loops[a, b] = found
        return found

    def operator(self: DeviceArray, other: Any) -> Any:
        a = self._node
        mine = type(self)
        kind = type(other)
        if a.op is CONST and (value := _folded(folds, a, other, reflected)) is not None:
            return wrap(value)
        if kind is mine:
            b = other._node
            if integers_apart and b.dtype.kind in "iu":
                return ufunc_calls.call(ufunc, (self, other))
            found = loops.get((a.dtype, b.dtype)) or find(self, b.dtype)
        elif kind in numbers or (kind is int and a.dtype.kind in of_int):
            key = numbers.get(kind, int)
            found = loops.get((a.dtype, key)) or find(self, key)
            dtype = found[1]
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
        node = grow(found[0], b, a) if reflected else grow(found[0], a, b)
        if node.flags & EAGER or node.cost > limit:
            evaluate(node)
        array = new(mine)
        array._node = node
        array._base = None
        return array

    return _compiled(ufunc, operator, find, reflected=reflected, integers_apart=integers_apart)


def unary(ufunc: np.ufunc) -> Callable[[DeviceArray], Any]:
    """An operator of one operand."""
    fold = _FOLDS_OF_ONE.get(ufunc)

    def operator(self: DeviceArray) -> Any:
        node = self._node
        if node.op is CONST and (value := _folded_alone(fold, node)) is not None:
            return wrap(value)
        loop = ufunc_calls.loops_of_one.get((ufunc, node.dtype))
        if loop is None:
            try:
                return ufunc_calls.call(ufunc, (self,))
            except Exception as error:
                hide_own_frames(error)
                raise
        return ufunc_calls.evaluate_if_eager(build.nary(loop, (node,)))

    return operator


_POWERS = {2: np.square, 1: np.positive, -1: np.reciprocal, 0.5: np.sqrt}


def _short_power(dtype: np.dtype, exponent: Any) -> np.ufunc | None:
    """A cheaper function for a power, where NumPy takes one."""
    kind = type(exponent)
    if (kind is int or kind is float) and exponent in _POWERS:
        letter = dtype.kind
        if letter in "fc" or (letter in "biu" and kind is int and exponent == 2):
            return _POWERS[exponent]
    return None


def power() -> tuple[Callable[[DeviceArray, Any], Any], Callable[[DeviceArray, Any], Any]]:
    """``x ** y`` and ``x **= y``."""
    power = binary(np.power)
    special: dict[Any, Any] = {ufunc: unary(ufunc) for ufunc in _POWERS.values()}

    def operator(self: DeviceArray, other: Any) -> Any:
        short = _short_power(self._node.dtype, other)
        try:
            return power(self, other) if short is None else special[short](self)
        except Exception as error:
            hide_own_frames(error)
            raise

    def in_place(self: DeviceArray, other: Any) -> Any:
        if is_number(self):
            return operator(self, other)
        short = _short_power(self._node.dtype, other)
        try:
            return _in_place(np.power, self, other) if short is None else _in_place(short, self)
        except Exception as error:
            hide_own_frames(error)
            raise

    return operator, in_place


def binary_any(ufunc: np.ufunc, reflected: bool = False) -> Callable[[DeviceArray, Any], Any]:
    """An operator that is rarely used: it goes to the ufunc."""

    def operator(self: DeviceArray, other: Any) -> Any:
        operands = (other, self) if reflected else (self, other)
        return _operate(ufunc, operands, other)

    return operator


def _loop_in_place(ufunc: np.ufunc, array: DeviceArray, b: Any) -> tuple[Loop, np.dtype] | None:
    """The loop of ``array op= b`` and the dtype in which it takes b; None where the result has another dtype."""
    a = array._node.dtype
    try:
        in_dtypes, out_dtypes = resolve(ufunc, (a, b))
    except TypeError:
        return None  # `_in_place` says what is wrong
    if out_dtypes[0] != a:
        return None
    for dtype in in_dtypes:
        device_dtype(dtype, array.device)
    return find_loop(ufunc, in_dtypes, out_dtypes), in_dtypes[1]


def _apart(operand: Node, memory: Memory) -> None:
    """Compute a pending operand that reads what is overwritten: its array holds it, so `write` would do so later."""
    for node in operand.inputs:
        if node.memory is memory:
            evaluate(operand)
            return


def _become(array: DeviceArray, node: Node) -> DeviceArray:
    """Write a value to an array's memory, or let it be the value while there is none."""
    a = array._node
    if a.memory is not None or array._base is not None or not lies_alike(node, a):
        write(evaluate(a), node)
        return array
    if node.flags & EAGER or node.cost > build.COST_LIMIT:
        evaluate(node)
    array._node = node
    return array


def in_place(ufunc: np.ufunc, apart: Callable[[DeviceArray, Any], Any]) -> Callable[[DeviceArray, Any], Any]:
    """``x += y``: written to memory where there is some, else the pending value is replaced.

    What NumPy has as a number is not changed: ``apart`` is the operator that makes another.

    The short way is that of an array of whose dtype and shape the result is, and goes straight to `write`.
    """
    loops: dict[Any, tuple[Loop, np.dtype] | None] = {}
    grow = build.binary
    folds = _FOLDS.get(ufunc)

    def operator(self: DeviceArray, other: Any) -> Any:
        if is_number(self):
            return apart(self, other)
        kind = type(other)
        if kind is type(self) or kind is float or kind is int or kind in STRONG:
            with self.device.lock:  # from reading the operands to the launch that stores
                return operate(self, other)
        operand = operand_from_host(other, self)
        return _in_place(ufunc, self, other) if operand is None else operator(self, operand)

    def operate(self: DeviceArray, other: Any) -> Any:
        a = self._node
        if a.op is CONST and (value := _folded(folds, a, other, False)) is not None:
            self._node = value
            return self
        kind = type(other)
        fits = True
        if kind is type(self):
            b = other._node
            key = b.dtype
            masked = (a.flags | b.flags) & MASKED
            fits = build.selected_alike(a, b) if masked else not b.shape or b.shape == a.shape
        else:
            key = STRONG.get(kind, kind)
        if not fits or (a.memory is not None and not is_writeable(self)):
            return _in_place(ufunc, self, other)
        try:
            found = loops[a.dtype, key]
        except KeyError:
            found = loops[a.dtype, key] = _loop_in_place(ufunc, self, key)
        if found is None:
            return _in_place(ufunc, self, other)
        if kind is not type(self):
            b = constant(scalar_value(other, found[1]), found[1])
        elif b.args and a.memory is not None:
            _apart(b, a.memory)
        return _become(self, grow(found[0], a, b))

    return _compiled(ufunc, operator, partial(_loop_in_place, ufunc), in_place=True)


def matmul(self: DeviceArray, other: Any) -> Any:
    """``x @ y``: of a vector and a vector or a matrix by the short way."""
    try:
        short = vector_product(self, other)
        if short is not None:
            return short
        if type(other) is type(self) is DeviceArray:
            return gufuncs.product(self, other)
        if (operand := operand_from_host(other, self)) is not None:
            return matmul(self, operand)
        return _operate(np.matmul, (self, other), other)
    except Exception as error:
        hide_own_frames(error)
        raise


_NO_MATRIX = (
    "inplace matrix multiplication requires the first operand to have at least one and "
    "the second at least two dimensions."
)


def matmul_in_place(self: DeviceArray, other: Any) -> Any:
    """Compute ``x @= y`` into the memory of x, a vector or a matrix whose shape the product has. y is a matrix."""
    own = (-1,) if self.ndim == 1 else (-2, -1)
    axes = [own, (-2, -1), own]
    manner = manner_of(type(other))
    if manner is not Manner.PLAIN:
        return _theirs_in_place(manner, np.matmul, self, other, axes=axes)
    try:
        return gufuncs.call(np.matmul, (self, other), out=self, axes=axes)
    except AxisError:
        raise ValueError(_NO_MATRIX) from None


# What calls of ufuncs without keywords go to: one function, or those for an array first and second.
short_calls: dict[Any, tuple[Callable[..., Any], ...]] = {
    ufunc: (unary(ufunc),) if ufunc.nin == 1 else (binary(ufunc, False, _answer), binary(ufunc, True, _answer))
    for ufunc in supported_ufuncs
    if ufunc.nout == 1 and ufunc.nin <= 2
}
