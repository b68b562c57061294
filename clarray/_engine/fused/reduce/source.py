"""The sources of a reduction: the first launch, and the one that combines its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clarray._engine.codegen.arguments import arguments
from clarray._engine.codegen.expression import Call, Inputs, Operand, operand, parameters, scalar_parameters
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.expr.node import Node
from clarray._engine.fused.reduce.plan import COLUMNS, ROWS, ReducePlan
from clarray._engine.fused.reduce.products import ProductCall, entering
from clarray._engine.ops.ctype import CType, Dialect, cast, compute_type, convert, select
from clarray._engine.ops.dtypes import dtype_row, wide_dtype
from clarray._engine.ops.monoids import Monoid, literal
from clarray._engine.ops.ufuncs import emit, find_loop
from clarray._engine.tuning.policy import ReducePolicy

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities

_BOOL = np.dtype(bool)


def lane_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype in which a component lies in memory between two launches: as in the kernel."""
    return np.dtype(np.int8) if dtype.kind == "b" else wide_dtype(dtype)


class ResultWidth:
    """The types of a finished result, for one lane or for all of a vector accumulator."""

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
        """`a` where a native comparison of values of `dtype` holds, else `b`."""
        return f"(({test}) ? ({self.type(dtype)})({a}) : {b})"

    def number(self, text: str) -> str:
        """A count as a real."""
        real = CType(self.real, 1) if self.dialect.width == 1 else None
        if real is not None:
            return f"({self.real})({text})"
        lane = self.real.removesuffix(str(self.dialect.width))
        return convert(text, CType("long", self.dialect.width), CType(lane, self.dialect.width), self.dialect)


class MonoidCode:
    """A monoid, at a kernel's width, as the templates see it."""

    def __init__(
        self,
        monoid: Monoid,
        dialect: Dialect,
        value_dtype: np.dtype,
        index_dtype: np.dtype,
        block: int = 1,
        position: str = "",
        ascending: bool = True,
        product_dtype: np.dtype | None = None,
    ) -> None:
        self.monoid = monoid
        self.dialect = dialect
        self.scalar = Dialect(1, dialect.clang, dialect.fp64, dialect.fp16)
        self.width = dialect.width
        self.components = [(n, index_dtype if monoid.indexed and n == "i" else d) for n, d in monoid.components]
        self.block_size = block
        self.position = position
        self.ascending = ascending
        self.indexed = monoid.indexed
        self.block = monoid.block
        self.algebra = monoid.algebra
        # an accumulator of one value stays as it is when its identity enters
        self.absorbs = monoid.algebra in ("fold", "product", "compensated", "widened")
        # two vector accumulators become one before their lanes do
        self.joins = monoid.algebra in (
            "fold",
            "first",
            "extremum",
            "extremum_index",
            "product",
            "compensated",
            "widened",
        )
        self.takes_first = monoid.takes_first
        self.nan_is_worst = monoid.identity != monoid.identity
        self.entering = monoid.entering
        self.complex = value_dtype.kind == "c"
        self.value_type = str(compute_type(value_dtype, self.width))
        self.value_dtype, self.product_dtype = value_dtype, product_dtype
        self.index_type = str(compute_type(index_dtype, self.width))
        self.index_param = f", const {self.index_type} i" if monoid.indexed else ""
        self.index_arg = ", i" if monoid.indexed else ""
        self.mask_type = str(CType("char", self.width))
        self.real_lane = CType(dtype_row(value_dtype).compute).name
        self.narrow_result = ResultWidth(self, self.scalar, "finish", "state_t")
        self.wide_result = ResultWidth(self, dialect, "finish_wide", "acc_t")

    def at(self, width: int) -> MonoidCode:
        """The same at another width, of which only the accumulators count."""
        index = dict(self.components)["i"] if self.indexed else np.dtype(np.int64)
        dialect = replace(self.dialect, width=width)
        return MonoidCode(self.monoid, dialect, self.value_dtype, index, ascending=self.ascending)

    def lane(self, dtype: np.dtype) -> str:
        return str(compute_type(dtype))

    def wide(self, dtype: np.dtype) -> str:
        return str(compute_type(dtype, self.width))

    def initial(self, component: str) -> str:
        """The identity's value of a component."""
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
        """A constant of the accumulator's real type."""
        return text + "f" if self.real_lane == "float" else text

    def scale(self, power: float) -> str:
        """A power of the number by which a product is scaled: products of two of its square roots are in range."""
        return self.real(f"0x1p{int(power * (104 if self.real_lane == 'float' else 768))}")

    def size(self, text: str) -> str:
        """The magnitude of a factor, for scaling: of a complex one that of its larger part."""
        return f"fmax(fabs({text}.x), fabs({text}.y))" if self.complex else f"fabs({text})"

    @property
    def comparison(self) -> str:
        """The type of a native comparison of reals."""
        return "int" if self.width == 1 else str(CType(self.real_lane, self.width).int_)

    def some(self, test: str) -> str:
        """Whether a native comparison of reals holds for any lane."""
        return f"ca_some_{self.comparison}({test})" if self.width > 1 else f"({test})"

    def every(self, test: str) -> str:
        """Whether a native comparison of accumulated values holds for all lanes, and for both parts of complex ones."""
        if self.complex:
            return f"all({test})"
        return f"!ca_some_{self.comparison}(~({test}))" if self.width > 1 else f"({test})"

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

    def of_block(self, text: str) -> str:
        """The sum of a block of products as it enters."""
        assert self.product_dtype is not None
        return cast(text, self.product_dtype, self.value_dtype, self.dialect)

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
        """`x` where the mask is set, else the identity, which changes nothing when it enters."""
        identity = f"({self.value_type})({self.initial(self.components[0][0])})"
        return self.select(mask_text, x, identity, self.entering)

    def precedes(self, a: str, b: str, width: int) -> str:
        """Return the test whether value `a` precedes `b` as an extremum.

        It is better, or it alone is NaN; if NaN is the worst value (``fmax``), `b` alone is.
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
        """Whether position `i` comes before `j`, as a mask."""
        dtype = dict(self.components)["i"]
        return emit(find_loop(np.less, (dtype, dtype), (_BOOL,)), [i, j], self.dialect)

    def lanes_below(self, count: str) -> str:
        """Mask of the lanes whose number is below `count`."""
        return f"({self._lanes} < ({self.mask_type})({count}))"

    def lanes_from(self, first: str) -> str:
        """Mask of the lanes from number `first` on."""
        return f"({self._lanes} >= ({self.mask_type})({first}))"

    @property
    def _lanes(self) -> str:
        return f"({self.mask_type})({', '.join(map(str, range(self.width)))})"


class Epilogue(NamedTuple):
    """What is done to a finished result before it is stored.

    Parameters
    ----------
    root : Node
        The tree above the reduction (the reduction node itself if there is none).
    reduced : Node
        The reduction in it.
    constants : tuple of Node
        Its other inputs: constants only.
    """

    root: Node
    reduced: Node
    constants: tuple[Node, ...]

    @property
    def scalar(self) -> bool:
        """Whether it is compiled for one result at a time: complex values have no vectors, whatever is reduced."""
        level = [self.root]
        while level:
            node = level.pop()
            if node.dtype.kind == "c":
                return True
            level.extend(() if node is self.reduced else node.args)
        return False


class _EpilogueCode:
    """The epilogue as a C function of the finished result and the constants."""

    def __init__(self, epilogue: Epilogue, dialect: Dialect, name: str = "epilogue") -> None:
        self.name = name
        self.params: list[str] = []
        self.arg_types: list[str] = []
        self.prepare: list[str] = []
        inputs = Inputs((), (), dialect, base=False)
        inputs.slots[id(epilogue.reduced)] = "result"
        inputs.types.append(("result", epilogue.reduced.dtype, False))
        self.constants: list[str] = []
        for number, node in enumerate(epilogue.constants):
            constant = f"e{number}"
            params, kinds, lines = scalar_parameters(constant, node.dtype)
            self.params += params
            self.arg_types += kinds
            self.prepare += lines
            inputs.slots[id(node)] = constant
            inputs.types.append((constant, node.dtype, True))
            self.constants.append(constant)
        self.text = Call(name, epilogue.root, inputs).text

    def call(self, result: str) -> str:
        return f"{self.name}({', '.join([result, *self.constants])})"


def _stride_params(o: Operand, prefix: str, axes: range, index: str) -> list[str]:
    return [f"const {index} {o.name}{prefix}{a}" for a in axes]


class _ResultCode:
    """What the first launch does with a finished result: the output, and the epilogue where it makes one."""

    def __init__(self, plan: ReducePlan, epilogue: Epilogue, code: MonoidCode, inner: str) -> None:
        final = plan.last or not plan.partial
        vectors = final and plan.form == COLUMNS and code.width > 1 and not epilogue.scalar
        out = operand(
            "y",
            epilogue.root.dtype,
            plan.out_access,
            code.dialect if vectors else code.scalar,
            base="yb",
            aligned=plan.out_aligned,
        )
        self.out = _with_step(out, inner)
        self.outs = [self.out] if final else []
        self.ends = _EpilogueCode(epilogue, code.scalar) if final else None
        self.wide = _EpilogueCode(epilogue, code.dialect, "epilogue_wide") if vectors else None
        self.text = "".join(each.text for each in (self.ends, self.wide) if each is not None)
        self.prepare = self.ends.prepare if self.ends is not None else []
        self.params, self.arg_types = _result_parameters(plan, code, self.out)
        if self.ends is not None:
            self.params, self.arg_types = self.ends.params + self.params, self.ends.arg_types + self.arg_types


def _loop_parameters(plan: ReducePlan, operands: list[Operand], outs: list[Operand]) -> tuple[list[str], list[str]]:
    """Sizes, extents of the loops, and every operand's strides along them: the output has none that are reduced."""
    kept, reduced = range(plan.kept_rank), range(plan.reduced_rank)
    loops = [f"const {plan.index} k{a}" for a in kept] + [f"const {plan.index} r{a}" for a in reduced]
    for o in operands:
        loops += _stride_params(o, "k", kept, plan.index) + _stride_params(o, "r", reduced, plan.index)
    for o in outs:
        loops += _stride_params(o, "k", kept, plan.index)
    sizes = ["const long tasks", "const long outputs", "const long rows"]
    if plan.partial:
        sizes += [f"const long {name}" for name in ("parts", "rows_per_part", "inner_parts", "inner_per_part")]
    kinds = ["int64"] * len(sizes)
    if not plan.lanes:
        sizes.append("const int lanes")
        kinds.append("int32")
    integer = "int32" if plan.index == "int" else "int64"
    return sizes + loops, kinds + [integer] * len(loops)


def reduce_source(
    plan: ReducePlan,
    monoid: Monoid,
    value: Node,
    mask_node: Node | None,
    position: Node | None,
    nodes: Sequence[Node],
    epilogue: Epilogue,
    capabilities: Capabilities,
) -> Source:
    """Render the first launch of a reduction of `value` over its distinct inputs `nodes`."""
    dialect = make_dialect(capabilities, plan.vector if plan.explicit else 1)
    inputs = Inputs(nodes, plan.accesses, dialect, base=True, aligned=plan.aligned)
    inner = "k0" if plan.form == COLUMNS else "r0"
    operands = [_with_step(o, inner) for o in inputs.operands]
    enters = entering(value, monoid)
    # on a GPU all the values of an iteration along a row are one block
    together = plan.form == ROWS and not plan.policy.chunked and enters.dtype.kind != "c"
    code = MonoidCode(
        monoid,
        dialect,
        enters.dtype,
        position.dtype if position is not None else np.dtype(np.int64),
        plan.loads * (plan.vector if together else 1),
        inputs.slots[id(position)] if position is not None else "",
        plan.ascending,
        value.dtype,
    )
    call = ProductCall(value, inputs, dialect) if plan.products else Call("value", enters, inputs)
    mask_call = Call("where", mask_node, inputs) if mask_node is not None else None
    result = _ResultCode(plan, epilogue, code, inner)
    params, arg_types = _loop_parameters(plan, operands, result.outs)
    everyone = [*operands, *result.outs]
    params = [*inputs.params, *result.params, *params]
    arg_types = [*inputs.arg_types, *result.arg_types, *arg_types]
    taken = arguments(params, arg_types, capabilities.numbers_together)
    functions = call.text + (mask_call.text if mask_call is not None else "") + result.text + taken.definition
    body = functions + render(
        "reduce/reduce",
        d=dialect,
        V=plan.vector,
        X=plan.loads,
        I=plan.index,
        policy=plan.policy,
        m=code,
        form=plan.form,
        spread="side" if plan.spread else 1,
        lanes=plan.lanes,
        strip=plan.strip,
        value=call,
        mask=mask_call,
        masked=mask_node is not None,
        epilogue=result.ends,
        wide_epilogue=result.wide,
        partial=plan.partial,
        last=plan.last,
        abreast=plan.abreast,
        products=plan.products,
        common={operands[number].name for number in plan.common},
        out=result.out,
        operands=operands,
        everyone=everyone,
        kept_rank=plan.kept_rank,
        reduced_rank=plan.reduced_rank,
        arguments=taken,
        at_row=_at_row,
        prepare=inputs.prepare + result.prepare,
    )
    return Source("reduce", source(body, dialect, capabilities.function_attribute), taken.types)


def combine_source(
    plan: ReducePlan,
    monoid: Monoid,
    index_dtype: np.dtype,
    shared: bool,
    epilogue: Epilogue,
    capabilities: Capabilities,
) -> Source:
    """Render the second launch, which combines the parts of a first one."""
    dialect = make_dialect(capabilities, 1)
    code = MonoidCode(monoid, dialect, monoid.entering, index_dtype)
    ends = _EpilogueCode(epilogue, code.scalar)
    out = operand("y", epilogue.root.dtype, "zero", dialect, base="yb")
    states, kinds = _state_parameters(code)
    out_params, out_kinds = parameters(out, const=False)
    params = [*ends.params, *states, *out_params, "const long outputs", "const long parts"]
    if shared:
        params.append("const int lanes")
    params += [f"const long k{a}" for a in range(plan.kept_rank)]
    params += [f"const long yk{a}" for a in range(plan.kept_rank)]
    arg_types = [*ends.arg_types, *kinds, *out_kinds, *["int64"] * 2, *["int32"] * shared]
    arg_types += ["int64"] * (2 * plan.kept_rank)
    taken = arguments(params, arg_types, capabilities.numbers_together)
    body = (
        ends.text
        + taken.definition
        + render(
            "reduce/combine",
            d=dialect,
            V=1,
            spread=1,
            policy=plan.policy,
            m=code,
            wide=_wide(code, plan.policy),
            shared=shared,
            epilogue=ends,
            out=out,
            kept_rank=plan.kept_rank,
            arguments=taken,
            prepare=ends.prepare,
        )
    )
    attribute = capabilities.function_attribute
    return Source("combine_parts", source(body, dialect, attribute), taken.types)


def _wide(code: MonoidCode, policy: ReducePolicy) -> MonoidCode | None:
    """The monoid for vectors of neighbouring outputs; None where a device, or the monoid, has no use for them."""
    width = min(policy.max_width, policy.vector_bytes // max(dtype.itemsize for _, dtype in code.components))
    return code.at(width) if policy.explicit and code.joins and not code.complex and width > 1 else None


def _result_parameters(plan: ReducePlan, code: MonoidCode, out: Operand) -> tuple[list[str], list[str]]:
    """Where the first launch puts what it finds: states, the output, or both and the counters."""
    if not plan.partial:
        return parameters(out, const=False)
    states, kinds = _state_parameters(code)
    if not plan.last:
        return states, kinds
    place, place_kinds = parameters(out, const=False)
    return (
        [*(p.replace("__global", "volatile __global") for p in states), "volatile __global int *counters", *place],
        [*kinds, "buffer", *place_kinds],
    )


def _state_parameters(code: MonoidCode) -> tuple[list[str], list[str]]:
    names = [f"__global {code.lane(d)} *q_{n}" for n, d in code.components]
    return names, ["buffer"] * len(names)


def _with_step(o: Operand, inner: str) -> Operand:
    """The same operand with the stride parameter of the innermost loop."""
    if o.access == "unit":
        return o
    return replace(o, step=f"{o.name}{inner}")


def _at_row(o: Operand, x: int | str) -> Any:
    return replace(o, base=f"{o.base}_{x}")
