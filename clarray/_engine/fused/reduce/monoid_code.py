"""The code of a monoid for templates: types, constants and tests at the vector width of a kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from clarray._engine.fast_dataclass import dataclass
from clarray._engine.ops.ctype import CType, Dialect, cast, compute_type, convert, select
from clarray._engine.ops.dtypes import dtype_row, wide_dtype
from clarray._engine.ops.monoids import Monoid, literal
from clarray._engine.ops.ufuncs import emit, find_loop

_BOOL = np.dtype(bool)


def lane_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype of a state's component in memory between two launches, which is its dtype in the kernel."""
    return np.dtype(np.int8) if dtype.kind == "b" else wide_dtype(dtype)


class ResultWidth:
    """The types of a finished result, for one lane or for all lanes of a vector accumulator."""

    def __init__(self, code: MonoidCode, dialect: Dialect, finish: str, state: str) -> None:
        self.dialect = dialect
        self.finish = finish
        self.state = state
        self.out_dtype = code.monoid.out_dtype
        self.result = self.type(self.out_dtype)
        self.real = CType(code.real_lane, dialect.width).name

    def type(self, dtype: np.dtype) -> str:
        return str(compute_type(dtype, self.dialect.width))

    def cast(self, text: str, dtype: np.dtype) -> str:
        return cast(text, dtype, self.out_dtype, self.dialect)

    def where(self, test: str, a: str, b: str, dtype: np.dtype) -> str:
        """Return the choice between `a` and `b` by a native comparison of values of `dtype`."""
        return f"(({test}) ? ({self.type(dtype)})({a}) : {b})"

    def number(self, text: str) -> str:
        """Return a count converted to the real type."""
        real = CType(self.real, 1) if self.dialect.width == 1 else None
        if real is not None:
            return f"({self.real})({text})"
        lane = self.real.removesuffix(str(self.dialect.width))
        return convert(text, CType("long", self.dialect.width), CType(lane, self.dialect.width), self.dialect)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateEntry:
    """The way in which the loops of a kernel enter values into a state.

    Parameters
    ----------
    block : int
        Values that enter at once.
    position : str
        Name of the index operand of an indexed monoid.
    ascending : bool
        Whether the loops visit positions in order.
    product_dtype : dtype, optional
        Dtype in which blocks of products are summed.
    """

    block: int = 1
    position: str = ""
    ascending: bool = True
    product_dtype: np.dtype | None = None


class MonoidCode:
    """The code of a monoid at the vector width of a kernel.

    Parameters
    ----------
    monoid : Monoid
    dialect : Dialect
        The dialect of the kernel, with its width.
    value_dtype, index_dtype : dtype
        Dtypes of the values that enter a state, and of positions.
    entry : StateEntry, optional
        How values enter a state.
    """

    def __init__(
        self,
        monoid: Monoid,
        dialect: Dialect,
        value_dtype: np.dtype,
        index_dtype: np.dtype,
        entry: StateEntry | None = None,
    ) -> None:
        entry = entry or StateEntry()
        self.monoid = monoid
        self.dialect = dialect
        self.scalar = replace(dialect, width=1)
        self.width = dialect.width
        self.components = [(n, index_dtype if monoid.indexed and n == "i" else d) for n, d in monoid.components]
        self.block_size = entry.block
        self.position = entry.position
        self.ascending = entry.ascending
        self.indexed = monoid.indexed
        self.block = monoid.block
        self.algebra = monoid.algebra
        # the identity does not change an accumulator when it enters
        self.absorbs = monoid.algebra in ("fold", "product", "compensated", "widened")
        # two vector accumulators are combined before their lanes are
        self.joins = monoid.algebra in (
            "fold",
            "first",
            "extremum",
            "extremum_index",
            "product",
            "compensated",
            "widened",
        )
        self.takes_first = monoid.has_first_flag
        self.nan_is_worst = monoid.identity != monoid.identity
        self.entering = monoid.accumulated_dtype
        self.complex = value_dtype.kind == "c"
        self.value_type = str(compute_type(value_dtype, self.width))
        self.value_dtype, self.product_dtype = value_dtype, entry.product_dtype
        self.index_type = str(compute_type(index_dtype, self.width))
        self.index_param = f", const {self.index_type} i" if monoid.indexed else ""
        self.index_arg = ", i" if monoid.indexed else ""
        self.mask_type = str(CType("char", self.width))
        self.real_lane = CType(dtype_row(value_dtype).compute).name
        self.narrow_result = ResultWidth(self, self.scalar, "finish", "state_t")
        self.wide_result = ResultWidth(self, dialect, "finish_wide", "acc_t")

    def at(self, width: int) -> MonoidCode:
        """Return the code at another width, for accumulators only."""
        index = dict(self.components)["i"] if self.indexed else np.dtype(np.int64)
        dialect = replace(self.dialect, width=width)
        return MonoidCode(self.monoid, dialect, self.value_dtype, index, StateEntry(ascending=self.ascending))

    def lane(self, dtype: np.dtype) -> str:
        return str(compute_type(dtype))

    def wide(self, dtype: np.dtype) -> str:
        return str(compute_type(dtype, self.width))

    def initial(self, component: str) -> str:
        """Return a component of the identity."""
        dtype = dict(self.components)[component]
        value: Any = 0
        if self.algebra == "fold" or (self.algebra == "product" and component == "v"):
            value = self.monoid.identity
        elif component == "i":
            value = np.iinfo(dtype).max
        elif self.algebra in ("extremum", "extremum_index"):
            value = self.monoid.identity
        return literal(value, dtype)

    def real(self, text: str) -> str:
        """Return a constant of the accumulator's real type."""
        return text + "f" if self.real_lane == "float" else text

    def scale(self, power: float) -> str:
        """Return a power of the scale of products. The product of two square roots of the scale is in range."""
        return self.real(f"0x1p{int(power * (104 if self.real_lane == 'float' else 768))}")

    def size(self, text: str) -> str:
        """Return the magnitude of a factor for scaling: the larger one of the parts of a complex factor."""
        return f"max(fabs({text}.x), fabs({text}.y))" if self.complex else f"fabs({text})"

    @property
    def comparison(self) -> str:
        """The type of a native comparison of reals."""
        return "int" if self.width == 1 else str(CType(self.real_lane, self.width).int_)

    def some(self, test: str) -> str:
        """Return the test whether a native comparison of reals holds for any lane."""
        return f"ca_some_{self.comparison}({test})" if self.width > 1 else f"({test})"

    def every(self, test: str) -> str:
        """Return the test whether a native comparison holds for all lanes, and for both parts of complex values."""
        if self.complex:
            return f"all({test})"
        return self._in_every_lane(test, self.comparison)

    def _in_every_lane(self, test: str, type_of_test: str) -> str:
        return f"!ca_some_{type_of_test}(~({test}))" if self.width > 1 else f"({test})"

    @property
    def carries(self) -> bool:
        """Whether single values have a fast path that may leave the range, and a fallback."""
        return self.algebra in ("product", "compensated", "mean") and not self.takes_first

    @property
    def check_type(self) -> str:
        """The type of the fast path's check: bits for products, else numbers that are finite within the range."""
        if self.algebra == "product":
            return self.bits
        return self.value_type if self.algebra in ("compensated", "mean") else str(CType(self.real_lane, self.width))

    @property
    def check_join(self) -> str:
        """The operator that combines two checks."""
        return "&" if self.algebra == "product" else "+"

    def passed(self, check: str) -> str:
        """Return the test whether the fast path stayed in range."""
        if self.algebra == "product":
            if self.width == 1:
                return f"({check} & {self.high_bit}) != 0"
            return f"!ca_some_{self.comparison}(as_{self.comparison}(~({check}) & {self.high_bit}))"
        finite = f"{check} - {check} == 0"
        if self.complex and self.algebra in ("moments", "variance"):  # the squares are real
            return f"({finite})"
        return self.every(finite)

    @property
    def bits(self) -> str:
        """The unsigned type of the bits of a real."""
        return str(CType(self.real_lane, self.width).uint)

    @property
    def high_bit(self) -> str:
        """The highest bit of a real's exponent."""
        return "0x40000000U" if self.real_lane == "float" else "0x4000000000000000UL"

    @property
    def product_type(self) -> str:
        """The type in which a block of products is summed."""
        assert self.product_dtype is not None
        return self.wide(self.product_dtype)

    def block_sum(self, text: str) -> str:
        """Return the sum of a block of products in the dtype in which it enters a state."""
        assert self.product_dtype is not None
        return cast(text, self.product_dtype, self.value_dtype, self.dialect)

    def in_range(self, sums: list[str]) -> str:
        """Return the test whether sums of blocks of products are finite."""
        assert self.product_dtype is not None
        test = f"{' + '.join(f'({s} - {s})' for s in sums)} == 0"
        return self._in_every_lane(test, str(compute_type(self.product_dtype, self.width).int_))

    def apply(self, a: str, b: str) -> str:
        return emit(self._loop, [a, b], self.dialect)

    def apply_lane(self, a: str, b: str) -> str:
        return emit(self._loop, [a, b], self.scalar)

    @property
    def _loop(self) -> Any:
        assert self.monoid.loop is not None
        return self.monoid.loop

    def select(self, mask_text: str, a: str, b: str, dtype: np.dtype) -> str:
        return select(mask_text, a, b, dtype, self.dialect)

    def where_set(self, mask_text: str, x: str) -> str:
        """Return `x` for set lanes of the mask and the identity for the others."""
        identity = f"({self.value_type})({self.initial(self.components[0][0])})"
        return self.select(mask_text, x, identity, self.entering)

    def precedes(self, a: str, b: str, width: int) -> str:
        """Return the test whether value `a` precedes `b` as an extremum.

        It does if it is better, or if only `a` is NaN. If NaN is the worst value (``fmax``), only `b` must be NaN.
        """
        dialect = self.dialect if width > 1 else self.scalar
        better = emit(self._loop, [a, b], dialect)
        dtype = self.monoid.in_dtype
        if dtype_row(dtype).kind not in "fc":
            return better
        isnan = find_loop(np.isnan, (dtype,), (_BOOL,))
        if self.nan_is_worst:
            a, b = b, a
        return f"({better} | ({emit(isnan, [a], dialect)} & ~{emit(isnan, [b], dialect)}))"

    def earlier(self, i: str, j: str) -> str:
        """Return the mask of the lanes in which position `i` comes before `j`."""
        dtype = dict(self.components)["i"]
        return emit(find_loop(np.less, (dtype, dtype), (_BOOL,)), [i, j], self.dialect)

    def lanes_below(self, count: str) -> str:
        """Return the mask of the lanes whose number is below `count`."""
        return f"({self._lanes} < ({self.mask_type})({count}))"

    def lanes_from(self, first: str) -> str:
        """Return the mask of the lanes from number `first` on."""
        return f"({self._lanes} >= ({self.mask_type})({first}))"

    @property
    def _lanes(self) -> str:
        return f"({self.mask_type})({', '.join(map(str, range(self.width)))})"
