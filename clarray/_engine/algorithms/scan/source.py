"""Render the kernels of scans along an axis, and of reductions of segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clarray._engine.algorithms.scan.plan import COLUMNS, LOOKBACK, SPLIT, ParallelPlan, ScanPlan
from clarray._engine.codegen.arguments import Fields, Group, axes, numbers
from clarray._engine.codegen.expression import Call, Inputs, Operand, converted, operand, parameters
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.expr.node import Node
from clarray._engine.fused.reduce.monoid_code import MonoidCode, lane_dtype
from clarray._engine.ops.ctype import Dialect, compute_type, convert
from clarray._engine.ops.dtypes import wide_dtype
from clarray._engine.ops.monoids import Monoid, literal
from clarray._engine.ops.ufuncs import emit

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


def scan_source(
    plan: ScanPlan, monoid: Monoid, value: Node, nodes: Sequence[Node], capabilities: Capabilities
) -> Source:
    """Render the sequential scan of `value` over its distinct inputs `nodes`."""
    dialect = make_dialect(capabilities, 1)
    inputs = Inputs(nodes, plan.accesses, dialect, base=True)
    inputs.operands = [_in_row(o, plan) for o in inputs.operands]
    entering = converted(value, monoid.accumulated_dtype)
    call = Call("value", entering, inputs=inputs)
    out = _in_row(operand("y", monoid.out_dtype, "strided", dialect), plan)
    everyone = [*inputs.operands, out]
    fields = Fields(
        ("inputs", inputs.params),
        *(["__global const long *at"] if plan.segmented else []),
        *parameters(out, const=False),
        "const long units",
        "const long blocks",
        *(["const long segments"] if plan.segmented else []),
        *_line_fields(plan.index, plan.kept_rank, everyone),
    )
    body = call.text + render(
        "scan/reference",
        d=dialect,
        V=1,
        spread=1,
        I=plan.index,
        policy=plan.policy,
        inputs=inputs,
        out=out,
        value=call,
        m=MonoidCode(monoid, dialect, entering.dtype, np.dtype(np.int64)),
        first=_first_state(monoid),
        everyone=everyone,
        params=fields.declared,
        rank=plan.kept_rank,
        block=plan.block,
        segmented=plan.segmented,
    )
    text = source(body, dialect, capabilities.function_attribute)
    return Source.of("scan", text, fields)


def _line_fields(index: str, rank: int, operands: Sequence[Operand]) -> list[str | Group]:
    """Declare the length of the lines, the other extents, and the strides of each operand."""
    parts: list[str | Group] = [f"const {index} n", axes(index, "k", rank)]
    for o in operands:
        parts += [f"const {index} {o.name}s", axes(index, f"{o.name}k", rank)]
    return parts


def _first_state(monoid: Monoid) -> list[tuple[str, str]]:
    """Return the name and C text of each component of a state that has one value x."""
    components = [(monoid.components[0][0], "x")]
    for name, dtype in monoid.components[1:]:
        text = literal(dtype.kind == "b", dtype)
        components.append((name, f"x - x == 0 ? {text} : x" if monoid.algebra == "compensated" else text))
    return components


def _in_row(o: Operand, plan: ScanPlan) -> Operand:
    """Return the operand with the base of line `first + l`, and its stride along the scanned axis."""
    base = f"{o.name}b"
    if plan.kept_rank:
        base += f" + (first + l) * {o.name}k0"
    return replace(o, base=base, step=f"{o.name}s")


# Parallel scans ----------------------------------------------------------------------------------------


class StateComponent:
    """A component of a state, with its conversion to 32-bit words and back."""

    def __init__(self, target: str, lane: str, nbytes: int) -> None:
        self.target = target
        self.lane = lane
        self.words = max(1, nbytes // 4)

    def word(self, k: int) -> str:
        if self.words == 1:
            return f"as_uint({self.target})" if self.lane in _WORD else f"(uint)({self.target})"
        return f"as_uint{self.words}({self.target}).s{k}"

    def value(self, words: list[str]) -> str:
        if self.words == 1:
            return f"as_{self.lane}({words[0]})" if self.lane in _WORD else f"({self.lane})({words[0]})"
        return f"as_{self.lane}((uint{self.words})({', '.join(words)}))"


_WORD = ("int", "uint", "float")


def _state_components(components: Sequence[tuple[str, np.dtype]], prefix: str = "x.") -> list[StateComponent]:
    parts = []
    for name, dtype in components:
        lane = compute_type(dtype)
        nbytes = lane.bits // 8 * lane.width
        parts.append(StateComponent(prefix + name, str(lane), nbytes))
    return parts


class ScanCode(MonoidCode):
    """A monoid for the templates of scans.

    Its identity preserves every value: for a float sum it is -0.0.
    """

    def __init__(self, monoid: Monoid, dialect: Dialect, dtype: np.dtype) -> None:
        super().__init__(monoid, dialect, dtype, np.dtype(np.int64))
        self.entering = dtype
        self.plain = not monoid.has_first_flag
        self.block = False
        self.products = monoid.algebra == "product"
        self.sums = monoid.algebra in ("compensated", "widened")

    def initial(self, component: str) -> str:
        dtype = dict(self.components)[component]
        return _zero(dtype) if self.sums else super().initial(component)

    @property
    def neutral(self) -> str:
        """The identity in the entering dtype."""
        return _zero(self.entering) if self.sums else self.initial(self.components[0][0])

    def state_at(self, width: int) -> str:
        """Return the C type of the first component of `width` states."""
        return str(compute_type(self.components[0][1], width))

    def widen(self, text: str, width: int = 0) -> str:
        """Return the text that converts a value, or a vector of values, to the first component of a state."""
        width = width or self.width
        to = compute_type(self.components[0][1], width)
        return convert(text, compute_type(self.entering, width), to, self.dialect)

    def narrow(self, text: str, width: int = 0) -> str:
        """Return the text that converts the first component of a state to the entering dtype."""
        width = width or self.width
        to = compute_type(self.entering, width)
        return convert(text, compute_type(self.components[0][1], width), to, self.dialect)

    def type_at(self, width: int) -> str:
        return str(compute_type(self.entering, width))

    def meet_at(self, width: int, a: str, b: str) -> str:
        """Return the text that combines two values. `a` belongs to earlier positions."""
        if self.sums:
            return f"({a} + {b})"
        return emit(self._loop, [a, b], replace(self.dialect, width=width))

    def meet(self, a: str, b: str) -> str:
        return self.meet_at(self.width, a, b)

    def meet_lane(self, a: str, b: str) -> str:
        return self.meet_at(1, a, b)

    @property
    def state_bytes(self) -> int:
        """Bytes of a state."""
        return _struct_bytes([d for _, d in self.components])

    @property
    def state_parts(self) -> list[StateComponent]:
        return _state_components(self.components)


def _zero(dtype: np.dtype) -> str:
    return literal(complex(-0.0, -0.0) if dtype.kind == "c" else -0.0, dtype)


def state_dtypes(monoid: Monoid) -> list[np.dtype]:
    """Return the dtypes of the components of a state in memory."""
    return [lane_dtype(d) for _, d in monoid.components]


def state_words(monoid: Monoid) -> int:
    """Return the number of 32-bit words of a state."""
    return sum(p.words for p in _state_components(monoid.components))


def _struct_bytes(dtypes: Sequence[np.dtype]) -> int:
    sizes = [compute_type(d).bits // 8 * compute_type(d).width for d in dtypes]
    return len(sizes) * max(sizes)  # an upper bound for any alignment


def local_element_bytes(monoid: Monoid) -> int:
    """Return the local memory per element of a parallel scan: the larger of its input and its output."""
    entering = [entering_dtype(monoid)] if not monoid.has_first_flag else [d for _, d in monoid.components]
    return max(_struct_bytes(entering), _struct_bytes([monoid.out_dtype]))


def entering_dtype(monoid: Monoid) -> np.dtype:
    """Return the dtype in which values are combined."""
    return wide_dtype(monoid.in_dtype) if monoid.algebra == "widened" else monoid.accumulated_dtype


def parallel_source(
    plan: ParallelPlan, monoid: Monoid, value: Node, nodes: Sequence[Node], capabilities: Capabilities
) -> tuple[str, dict[str, Fields]]:
    """Render the program of a parallel scan over the distinct inputs `nodes`.

    Returns
    -------
    text : str
    fields : dict
        The arguments of each kernel.
    """
    chunked, columns = plan.policy.chunked, plan.form == COLUMNS
    dialect = make_dialect(capabilities, plan.vector if plan.explicit else 1)
    inputs = Inputs(nodes, plan.accesses, dialect, base=True, aligned=plan.aligned)
    step = "k0" if columns else "s"
    inputs.operands = [replace(o, step=o.name + step) for o in inputs.operands]
    entering = converted(value, entering_dtype(monoid))
    call = Call("value", entering, inputs=inputs)
    out = operand("y", monoid.out_dtype, plan.out_access, dialect, base="yb", aligned=plan.aligned)
    out = replace(out, step="y" + step)
    everyone = [*inputs.operands, out]
    code = ScanCode(monoid, dialect, entering.dtype)
    states = [f"__global {code.lane(d)} *q_{n}" for n, d in code.components]
    fields = _parallel_fields(plan, inputs, out, states)
    body = call.text + render(
        "scan/chunks" if chunked else "scan/columns" if columns else "scan/tiles",
        d=dialect,
        V=plan.vector,
        spread=1,
        I=plan.index,
        policy=plan.policy,
        inputs=inputs,
        out=out,
        value=call,
        m=code,
        first=_first_state(monoid),
        everyone=everyone,
        params={name: each.declared for name, each in fields.items()},
        rank=plan.kept_rank,
        form=plan.form,
        mode=plan.mode,
        stream=plan.stream and capabilities.clang_builtins,
        strip=plan.policy.strip,
        WG=plan.work_group,
        down=plan.down,
        block=plan.block,
        held=local_element_bytes(monoid),
        state_parts=code.state_parts,
    )
    text = source(body, dialect, capabilities.function_attribute)
    return text, fields


def _parallel_fields(plan: ParallelPlan, inputs: Inputs, out: Operand, states: list[str]) -> dict[str, Fields]:
    """Declare the arguments of each kernel of a program."""
    pointers: list[str | Group] = [("inputs", inputs.params), *parameters(out, const=False)]
    lines = _line_fields(plan.index, plan.kept_rank, [*inputs.operands, out])
    if plan.mode == LOOKBACK:
        look_back = ["__global ulong *tile_state", "const uint epoch", "const long tiles", "const long region"]
        return {"scan_lookback": Fields(*pointers, "const long units", *lines, *look_back)}
    counts = numbers("long", ["units", "lines", "parts", "length"])
    finish = Fields(*pointers, ("states", states), *counts, *lines)
    kernels = {"scan_finish": finish}
    if plan.policy.chunked or plan.mode == SPLIT:
        kernels["scan_reduce"] = finish
    if not plan.policy.chunked and plan.mode == SPLIT:
        kernels["scan_carry"] = Fields(("states", states), *numbers("long", ["lines", "parts"]))
    return kernels
