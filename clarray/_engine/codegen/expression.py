"""An expression tree as one C function.

The tree is a graph: a node used twice is computed once, and so are two nodes of equal structure on
equal inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from clarray._engine.expr.layout import COUNT
from clarray._engine.expr.node import Node, NodeEvaluated
from clarray._engine.ops.ctype import Dialect, cast, compute_type
from clarray._engine.ops.dtypes import Packed, dtype_row, is_exact
from clarray._engine.ops.special import cast_loop
from clarray._engine.ops.ufuncs import emit
from clarray._engine.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """One array or index that a kernel reads or writes; the fields are C names and types."""

    name: str
    dtype: np.dtype
    access: str
    type: str
    lane: str
    storage: str
    kind: str
    packed: Packed | None
    aligned: bool
    base: str
    step: str
    constant: bool = False

    @property
    def p(self) -> str:
        """The pointer."""
        return f"{self.name}p"

    @property
    def start(self) -> str:
        """The run-time offset of the first element."""
        return f"{self.name}o"


def operand(
    name: str,
    dtype: np.dtype,
    access: str,
    dialect: Dialect,
    *,
    base: str = "0",
    aligned: bool = False,
) -> Operand:
    """Describe an array of `dtype` to the templates."""
    row = dtype_row(dtype)
    ctype = compute_type(dtype, dialect.width)
    complex_ = row.kind == "c"
    return Operand(
        name=name,
        dtype=dtype,
        access=access,
        type=str(ctype),
        lane=str(ctype if complex_ else ctype.lane),
        storage=row.storage,
        kind=row.kind,
        packed=row.packed,
        aligned=aligned and not complex_,
        base=base,
        step="1" if access == "unit" else f"{name}s0",
    )


def parameters(o: Operand, *, const: bool) -> tuple[list[str], list[str]]:
    """Kernel parameters that place an operand: declarations and argument types."""
    if o.access == COUNT:
        return [], []
    if o.access == "index":
        return [f"const long {o.start}"], ["int64"]
    qualifier = "const " if const else ""
    return (
        [f"__global {qualifier}{o.storage} *{o.p}", f"const long {o.start}"],
        ["buffer", "int64"],
    )


def scalar_parameters(name: str, dtype: np.dtype) -> tuple[list[str], list[str], list[str]]:
    """Parameters of a constant, their argument types, and the lines that make the variable `name`."""
    row = dtype_row(dtype)
    lane = compute_type(dtype)
    if row.kind == "c":
        real = "float" if row.compute == "float" else "double"
        kind = "float32" if real == "float" else "float64"
        return (
            [f"const {real} {name}r", f"const {real} {name}i"],
            [kind, kind],
            [f"const {lane} {name} = ({lane})({name}r, {name}i);"],
        )
    if row.kind == "b":
        return [f"const uchar {name}b"], ["uint8"], [f"const char {name} = (char)(-({name}b != 0));"]
    return [f"const {row.compute} {name}"], [row.wide.name], []


class Function:
    """The C function of a tree: ``value(x0, x1, ...)`` over its distinct inputs.

    Parameters
    ----------
    name : str
        Name of the function.
    root : Node
        What it returns.
    slots : mapping of int to str
        Variable name of each input node, by ``id``.
    types : sequence of (str, dtype, bool)
        Name, dtype and whether it is one scalar for all lanes, in parameter order.

    Raises
    ------
    NodeEvaluated
        A re-entrant call has computed one of its nodes meanwhile.
    """

    def __init__(
        self,
        name: str,
        root: Node,
        slots: Mapping[int, str],
        types: Sequence[tuple[str, np.dtype, bool]],
        dialect: Dialect,
    ) -> None:
        self.name = name
        self.dialect = dialect
        self.lines: list[str] = []
        self._slots = slots
        self._scalar = {n for n, _, s in types if s}
        self._names: dict[int, str] = {}
        self._equal: dict[tuple, str] = {}
        params = [f"const {compute_type(d, 1 if s else dialect.width)} {n}" for n, d, s in types]
        result = self._emit(root)
        out = compute_type(root.dtype, dialect.width)
        body = "\n".join(f"  {line}" for line in [*self.lines, f"return {result};"])
        self.text = f"HELPER {out} {name}({', '.join(params)}) {{\n{body}\n}}\n"

    def _emit(self, node: Node) -> str:
        """Name of the variable that holds `node`."""
        found = self._names.get(id(node))
        if found is not None:
            return found
        slot = self._slots.get(id(node))
        if slot is not None:
            ctype = compute_type(node.dtype, self.dialect.width)
            wide = slot in self._scalar and self.dialect.width > 1
            text = f"({ctype})({slot})" if wide else slot
            name = self._assign(str(ctype), text) if wide else slot
        elif node.op is cast_loop(node.dtype):
            name = self._converted(node.args[0], node.dtype)
        else:
            loop, operands = node.op, node.args
            if loop is None:
                raise NodeEvaluated
            args = [self._converted(a, wanted) for a, wanted in zip(operands, loop.in_dtypes, strict=True)]
            text = emit(loop, args, self.dialect)
            name = self._assign(str(compute_type(node.dtype, self.dialect.width)), text)
        self._names[id(node)] = name
        return name

    def _converted(self, node: Node, wanted: np.dtype) -> str:
        """Name of the variable that holds `node` in another dtype.

        Conversions below it that change no value are left out, so that equal values have equal sources however they
        were written: ``x.astype('f8') + d`` and ``x + d`` are one program.
        """
        while node.args and node.memory is None and node.op is cast_loop(node.dtype):
            inner = node.args[0]
            lossless = is_exact(inner.dtype, node.dtype) and (inner.dtype.kind in "biu" or wanted.kind in "fc")
            if not lossless and node.dtype != wanted:
                break
            node = inner
        name = self._emit(node)
        if node.dtype == wanted:
            return name
        text = cast(name, node.dtype, wanted, self.dialect)
        return self._assign(str(compute_type(wanted, self.dialect.width)), text)

    def _assign(self, ctype: str, text: str) -> str:
        key = (ctype, text)
        found = self._equal.get(key)
        if found is None:
            found = self._equal[key] = f"t{len(self._equal)}"
            self.lines.append(f"const {ctype} {found} = {text};")
        return found


class Inputs:
    """The distinct inputs of a kernel: what the templates load, and the parameters that name it.

    Parameters
    ----------
    nodes : sequence of Node
        Leaves, constants and indices.
    accesses : sequence of str
        ``'const'`` or the access class of each.
    dialect : Dialect
    base : bool
        Whether each operand has an offset variable of its own (strided loops).
    aligned : bool
        Whether contiguous operands may be loaded by aligned vectors.
    prefix : str
        First letter of the names.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        accesses: Sequence[str],
        dialect: Dialect,
        *,
        base: bool,
        aligned: bool = False,
        prefix: str = "x",
    ) -> None:
        self.dialect = dialect
        self.operands: list[Operand] = []
        self.prepare: list[str] = []
        self.params: list[str] = []
        self.arg_types: list[str] = []
        self.slots: dict[int, str] = {}
        self.types: list[tuple[str, np.dtype, bool]] = []
        for number, (node, access) in enumerate(zip(nodes, accesses, strict=True)):
            name = f"{prefix}{number}"
            self.slots[id(node)] = name
            self.types.append((name, node.dtype, access == "const"))
            if access == "const":
                params, kinds, lines = scalar_parameters(name, node.dtype)
                self.prepare += lines
            else:
                at = f"{name}b" if base else "0"
                o = operand(name, node.dtype, access, dialect, base=at, aligned=aligned)
                self.operands.append(o)
                params, kinds = parameters(o, const=True)
            self.params += params
            self.arg_types += kinds


class Call:
    """A tree over some `Inputs`, as a C function and the calls to it."""

    def __init__(self, name: str, root: Node, inputs: Inputs) -> None:
        self.name = name
        self._types = inputs.types
        self.text = Function(name, root, inputs.slots, inputs.types, inputs.dialect).text

    def call(self, part: int | str, tag: str = "") -> str:
        """The call that computes part `part` from the variables loaded under `tag`."""
        names = [n if scalar else f"{n}{tag}_{part}" for n, _, scalar in self._types]
        return f"{self.name}({', '.join(names)})"


def converted(value: Node, dtype: np.dtype) -> Node:
    """`value` in another dtype, as part of a kernel only: nothing is noted as its reader."""
    if value.dtype == dtype:
        return value
    return Node(
        cast_loop(dtype),
        (value,),
        value.shape,
        dtype,
        value.size,
        0,
        0,
        0,
        value.inputs or (value,),
    )
