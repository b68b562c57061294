"""Render the kernels of histograms: the kernel that counts, and the kernel that merges tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clarray._engine.algorithms.histogram.plan import (
    DIRECT,
    LOCAL,
    PRIVATE,
    SCALARS,
    STEPS,
    HistogramPlan,
    MergePlan,
)
from clarray._engine.codegen.arguments import Fields, Group, numbers
from clarray._engine.codegen.arguments import axes as axis_group
from clarray._engine.codegen.expression import Call, Inputs, converted
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.expr.layout import PAIRS
from clarray._engine.expr.node import Node
from clarray._engine.ops.ctype import CType, cast, compute_type
from clarray._engine.ops.dtypes import dtype_row
from clarray._engine.ops.ufuncs import find_loop

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


class Steps(NamedTuple):
    """The constants of NumPy's arithmetic for equal bins, as nodes of the dtype of the edges."""

    first: Node
    width: Node
    bins: Node


class AxisCode:
    """The code for the bins of one axis, for the template."""

    def __init__(
        self,
        number: int,
        kind: str,
        dtype: np.dtype,
        value: Node,
        steps: Steps | None,
        inputs: Inputs,
    ) -> None:
        dialect = inputs.dialect
        self.k = number
        self.kind = kind
        self.dialect = dialect
        self.dtype = dtype
        self.type = compute_type(dtype, dialect.width)
        self.wide = str(self.type)
        self.lane = str(self.type.lane)
        self.is_float = self.type.is_float
        self.mask = str(self.type.int_)
        self.bins = str(CType("uint", dialect.width))
        self.ints = str(CType("int", dialect.width))
        self.half = self.type.lane.lit("0.5") if self.is_float else ""
        # 1.5 times the smallest power of two from which on all floats are integers
        self.magic = "12582912.0f" if self.lane == "float" else "6755399441055744.0"
        self.position_type = "uint" if self.lane == "float" else "ulong"
        entering = converted(value, dtype)
        self.value = Call(f"value{number}", entering, inputs=inputs)
        self.text = self.value.text
        self.position: Call | None = None
        if steps is not None:
            self.position = Call(f"position{number}", _numpy_steps(entering, steps), inputs=inputs)
            self.text += self.position.text

    @property
    def params(self) -> list[str]:
        """The declarations of the edges, the number of bins, and the scalars of equal bins."""
        if self.kind == DIRECT:
            return []
        scalars = numbers(self.lane, [f"{name}{self.k}" for name in SCALARS.get(self.kind, ())])
        return [f"__global const {self.lane} *e{self.k}", f"const uint n{self.k}", *scalars]

    def clamped(self, text: str, width: int | None = None) -> str:
        """Return the text that converts values to bins. Values of more than 32 bits become the largest number."""
        ctype = CType(self.type.scalar, width or self.type.width)
        if ctype.bits == 32:
            return text
        if ctype.width == 1:
            return f"((uint)({text}) | (uint)(-(int)(({text}) >> 32 != 0)))"
        halves, whole = CType("uint", 2 * ctype.width), CType("uint", ctype.width)
        return f"(as_{halves}({text}).even | as_{whole}(as_{halves}({text}).odd != ({whole})(0)))"

    def bin_of(self, lane: str, position: str = "") -> str:
        """Return the call that computes the bin of a value."""
        k = self.k
        extra = "".join(f", {name}{k}" for name in SCALARS.get(self.kind, ()))
        between = f", {position}" if self.kind == STEPS else ""
        return f"bin{k}({lane}{between}, n{k}, e{k}{extra})"

    def bin(self, part: int, tag: str) -> str:
        """Return the call that computes the bin of one lane of the loaded elements."""
        position = self.position.call(part, tag) if self.position is not None else ""
        if self.kind == DIRECT:
            return f"direct({self.value.call(part, tag)})"
        return self.bin_of(self.value.call(part, tag), position)

    @property
    def direct_helper(self) -> str:
        return f"HELPER uint direct(const {self.lane} v) {{ return {self.clamped('v', 1)}; }}\n"

    def to_int(self, text: str) -> str:
        return self.dialect.convert(text, self.type, CType("int", self.dialect.width))

    def from_int(self, text: str) -> str:
        return self.dialect.convert(text, CType("int", self.dialect.width), self.type)

    def as_position(self, text: str) -> str:
        """Return the text that reinterprets a value as an unsigned integer."""
        return f"as_{self.position_type}({text})"

    def as_bins(self, text: str) -> str:
        return f"as_{self.bins}({text})"

    def narrow(self, text: str) -> str:
        """Return the text that converts the lanes of a comparison to 32 bits."""
        return self.dialect.convert(text, self.type.int_, CType("int", self.dialect.width))


def _numpy_steps(value: Node, steps: Steps) -> Node:
    """Return ``(value - first) / width * bins``, with each step rounded to the dtype."""
    dtype = value.dtype
    result = value
    for ufunc, constant in (
        (np.subtract, steps.first),
        (np.true_divide, steps.width),
        (np.multiply, steps.bins),
    ):
        loop = find_loop(ufunc, (dtype, dtype), (dtype,))
        result = Node(loop, (result, constant), value.shape, dtype, value.size)
    return result


def sum_types(summed: str) -> tuple[str, str]:
    """Return the C types of a sum and of a weight, or of a counter and an empty string."""
    if not summed:
        return "uint", ""
    if summed == "pair":
        return "float2", "float"
    name = str(compute_type(np.dtype(summed)))
    return name, name


def histogram_source(
    plan: HistogramPlan,
    values: Sequence[Node],
    steps: Sequence[Steps | None],
    weight: Node | None,
    nodes: Sequence[Node],
    capabilities: Capabilities,
) -> Source:
    """Render the kernel that counts `values`, one per axis, over the distinct inputs `nodes`."""
    dialect = make_dialect(capabilities, plan.vector if plan.explicit else 1)
    inputs = Inputs(nodes, plan.accesses, dialect, base=True, aligned=plan.aligned)
    axes = [
        AxisCode(k, kind, np.dtype(name), value, step, inputs)
        for k, (kind, name, value, step) in enumerate(zip(plan.kinds, plan.dtypes, values, steps, strict=True))
    ]
    text = "".join(a.text for a in axes)
    if axes[0].kind == DIRECT:
        text += axes[0].direct_helper
    sum_type, lane_sum = sum_types(plan.summed)
    call = None
    if weight is not None:
        dtype = np.dtype(np.float32 if plan.summed == "pair" else plan.summed)
        call = Call("weight", converted(weight, dtype), inputs=inputs)
        text += call.text
    fields = _fields(plan, inputs, axes, sum_type)
    body = text + render(
        "histogram/histogram",
        d=dialect,
        V=plan.vector,
        X=plan.loads,
        I=plan.index,
        spread=1,
        inputs=inputs,
        axes=axes,
        rank=plan.rank,
        space=plan.space,
        shifted=plan.shifted,
        rounds=plan.policy.rounds,
        table=plan.table,
        copies=plan.copies,
        policy=plan.policy,
        last=dtype_row(np.dtype(plan.last)).storage if plan.last else "",
        work_group=plan.work_group,
        summed=plan.summed,
        pair=plan.summed == "pair",
        sum_type=sum_type,
        lane_sum=lane_sum,
        weight=call,
        params=fields.declared,
        pairs=PAIRS in plan.accesses,
    )
    return Source.of("histogram", source(body, dialect, capabilities.function_attribute), fields)


def _fields(plan: HistogramPlan, inputs: Inputs, axes: list[AxisCode], sum_type: str) -> Fields:
    parts: list[str | Group] = [("inputs", inputs.params)]
    for a in axes:
        parts += a.params
    volatile = "volatile " if plan.space not in (PRIVATE,) and not plan.summed else ""
    parts.append(f"{volatile}__global {sum_type} *tables")
    if plan.summed and plan.space not in (PRIVATE, LOCAL):
        parts.append("volatile __global uint *owners")
    if axes[0].kind == DIRECT:
        parts.append("volatile __global uint *status")
    if plan.last:
        storage = dtype_row(np.dtype(plan.last)).storage
        parts += [f"__global {storage} *yp", "const int again", "volatile __global int *done"]
    parts += ["const long begin", "const long end", "const uint low", "const uint bins", "const long stride_"]
    parts.append(axis_group(plan.index, "n_", plan.rank))
    parts += [axis_group(plan.index, f"{o.name}s", plan.rank) for o in inputs.operands]
    return Fields(*parts)


def merge_source(plan: MergePlan, capabilities: Capabilities) -> Source:
    """Render the kernel that merges tables."""
    dialect = make_dialect(capabilities, 1)
    sum_type, _ = sum_types(plan.summed)
    out = np.dtype(plan.out)
    row = dtype_row(out)
    policy = plan.policy
    if not plan.summed:
        total, text = "long", "sum"
        held: np.dtype = np.dtype(np.int64)
    elif plan.summed == "pair":
        total, held, text = "float2", np.dtype(np.float32), "(isfinite(sum.x) ? sum.x + sum.y : sum.x)"
    else:
        total, held, text = sum_type, np.dtype(plan.summed), "sum"
    store = "yp[b] = y;"
    if row.kind == "b":
        store = "yp[b] = (uchar)(y & 1);"
    elif row.packed:
        store = row.packed.store.format(v="y", at="b", p="yp")
    fields = Fields(
        f"__global {sum_type} *tables",
        *numbers("long", ["rows", "stride", "bins"]),
        f"__global {row.storage} *yp",
        "const int again",
        *(["__global uint *status", "const long capacity"] if plan.direct else []),
    )
    body = render(
        "histogram/merge",
        d=dialect,
        work_group=policy.merge_group,
        lanes=policy.merge_lanes,
        chunked=policy.chunked,
        summed=plan.summed,
        pair=plan.summed == "pair",
        sum_type=total,
        direct=plan.direct,
        zero=plan.zero,
        params=fields.declared,
        result_type=row.storage,
        result_lane=str(compute_type(out)),
        result=cast(text, held, out, dialect),
        store=store,
    )
    return Source.of("histogram_merge", source(body, dialect, capabilities.function_attribute), fields)
