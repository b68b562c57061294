"""Expression trees as C functions.

A node that is used twice is computed once, and so are two nodes of equal structure on equal inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clarray._engine.expr.graph import constant_key, postorder
from clarray._engine.expr.layout import COUNT
from clarray._engine.expr.node import CONST, Node, NodeEvaluated
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.ops.ctype import Dialect, cast, compute_type
from clarray._engine.ops.dtypes import Packed, dtype_row, is_exact
from clarray._engine.ops.special import cast_loop
from clarray._engine.ops.ufuncs import emit


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """An array or index that a kernel reads or writes; the fields are C names and types."""

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
    """Return the template operand of an array of `dtype`."""
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


def parameters(o: Operand, *, const: bool) -> list[str]:
    """Declare the kernel parameters of an operand."""
    if o.access == COUNT:
        return []
    if o.access == "index":
        return [f"const long {o.start}"]
    qualifier = "const " if const else ""
    return [f"__global {qualifier}{o.storage} *{o.p}", f"const long {o.start}"]


def scalar_parameters(name: str, dtype: np.dtype) -> tuple[list[str], list[str]]:
    """Return the declarations of a constant's parameters, and the lines that define the variable `name`."""
    row = dtype_row(dtype)
    lane = compute_type(dtype)
    if row.kind == "c":
        real = "float" if row.compute == "float" else "double"
        return (
            [f"const {real} {name}r", f"const {real} {name}i"],
            [f"const {lane} {name} = ({lane})({name}r, {name}i);"],
        )
    if row.kind == "b":
        return [f"const uchar {name}b"], [f"const char {name} = (char)(-({name}b != 0));"]
    return [f"const {row.compute} {name}"], []


class Function:
    """The C function of expressions over distinct inputs.

    One result is returned: ``value(x0, x1)``. Several are written through pointers: ``value(x0, x1, &y0, &y1)``.

    Parameters
    ----------
    name : str
        Name of the function.
    roots : sequence of Node
        The nodes whose values it computes.
    slots : mapping
        Variable name of each input node: by ``id``, of a constant also by `constant_key`.
    types : sequence of (str, dtype, bool)
        Name, dtype and whether it is one scalar for all lanes, in parameter order.

    Raises
    ------
    NodeEvaluated
        A re-entrant call has evaluated one of its nodes.
    """

    def __init__(
        self,
        name: str,
        roots: Sequence[Node],
        slots: Mapping[Any, str],
        types: Sequence[tuple[str, np.dtype, bool]],
        dialect: Dialect,
    ) -> None:
        self.name = name
        self.dialect = dialect
        self.lines: list[str] = []
        self._slots = slots
        self._scalar = {n for n, _, s in types if s}
        self._names: dict[int, str] = {}
        self._variables: dict[tuple, str] = {}
        params = [f"const {compute_type(d, 1 if s else dialect.width)} {n}" for n, d, s in types]
        self._emit_below(roots)
        results = [self._emit(root) for root in roots]
        outs = [compute_type(root.dtype, dialect.width) for root in roots]
        if len(roots) == 1:
            self.lines.append(f"return {results[0]};")
            returned = str(outs[0])
        else:
            params += [f"{out} *r{number}" for number, out in enumerate(outs)]
            self.lines += [f"*r{number} = {result};" for number, result in enumerate(results)]
            returned = "void"
        body = "\n".join(f"  {line}" for line in self.lines)
        self.text = f"INLINE {returned} {name}({', '.join(params)}) {{\n{body}\n}}\n"

    def _emit_below(self, roots: Sequence[Node]) -> None:
        """Emit what `roots` read, and the roots. Conversions are emitted where they are used."""

        def operands(node: Node) -> list[Node]:
            return [arg for arg in node.args if arg.args and id(arg) not in self._slots]

        for node in postorder([root for root in roots if root.args and id(root) not in self._slots], operands):
            if node.op is not cast_loop(node.dtype):
                self._emit(node)

    def _emit(self, node: Node) -> str:
        """Emit `node`, and return the name of its variable."""
        emitted = self._names.get(id(node))
        if emitted is not None:
            return emitted
        slot = self._slots.get(id(node))
        if slot is None and node.op is CONST:
            slot = self._slots.get(constant_key(node))
        if slot is not None:
            ctype = compute_type(node.dtype, self.dialect.width)
            wide = slot in self._scalar and self.dialect.width > 1
            text = f"({ctype})({slot})" if wide else slot
            name = self._assign(str(ctype), text) if wide else slot
        elif node.op is cast_loop(node.dtype):
            name = self._emit_converted(node.args[0], node.dtype)
        else:
            loop, operands = node.op, node.args
            if loop is None:
                raise NodeEvaluated
            args = [self._emit_converted(a, dtype) for a, dtype in zip(operands, loop.in_dtypes, strict=True)]
            text = emit(loop, args, self.dialect)
            name = self._assign(str(compute_type(node.dtype, self.dialect.width)), text)
        self._names[id(node)] = name
        return name

    def _emit_converted(self, node: Node, dtype: np.dtype) -> str:
        """Emit `node` converted to another dtype, and return the name of its variable.

        Exact conversions below it are omitted, so that equal expressions have equal sources: ``x.astype('f8') + d`` and
        ``x + d`` are one program.
        """
        while node.args and node.memory is None and node.op is cast_loop(node.dtype):
            inner = node.args[0]
            lossless = is_exact(inner.dtype, node.dtype) and (inner.dtype.kind in "biu" or dtype.kind in "fc")
            if not lossless and node.dtype != dtype:
                break
            node = inner
        name = self._emit(node)
        if node.dtype == dtype:
            return name
        text = cast(name, node.dtype, dtype, self.dialect)
        return self._assign(str(compute_type(dtype, self.dialect.width)), text)

    def _assign(self, ctype: str, text: str) -> str:
        key = (ctype, text)
        name = self._variables.get(key)
        if name is None:
            name = self._variables[key] = f"t{len(self._variables)}"
            self.lines.append(f"const {ctype} {name} = {text};")
        return name


class Inputs:
    """The distinct inputs of a kernel: operands for the templates, and the kernel's parameters.

    Parameters
    ----------
    nodes : sequence of Node
        Leaves, constants and indices.
    accesses : sequence of str
        ``'const'`` or the access class of each.
    dialect : Dialect
    base : bool
        Whether each operand has its own offset variable (strided loops).
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
        self.slots: dict[Any, str] = {}  # by the node's id, and of a constant by its value
        self.types: list[tuple[str, np.dtype, bool]] = []
        for number, (node, access) in enumerate(zip(nodes, accesses, strict=True)):
            name = f"{prefix}{number}"
            self.slots[id(node)] = name
            if node.op is CONST:
                self.slots.setdefault(constant_key(node), name)
            self.types.append((name, node.dtype, access == "const"))
            if access == "const":
                params, lines = scalar_parameters(name, node.dtype)
                self.prepare += lines
            else:
                base_name = f"{name}b" if base else "0"
                o = operand(name, node.dtype, access, dialect, base=base_name, aligned=aligned)
                self.operands.append(o)
                params = parameters(o, const=True)
            self.params += params


class Call:
    """Expressions over `Inputs` as a C function, and the text of its calls.

    Parameters
    ----------
    *roots : Node
        The expressions. A call of one has a value, a call of several writes to variables.
    """

    def __init__(self, name: str, *roots: Node, inputs: Inputs) -> None:
        self.name = name
        self._types = inputs.types
        self.text = Function(name, roots, inputs.slots, inputs.types, inputs.dialect).text

    def call(self, part: int | str, tag: str = "") -> str:
        """Return the call that computes part `part` from the variables with the suffix `tag`."""
        return f"{self.name}({', '.join(self._arguments(part, tag))})"

    def compute(self, results: Sequence[Operand], part: int | str) -> str:
        """Return the lines that compute part `part` into new variables, one for each of the operands `results`."""
        if len(results) == 1:
            return f"const {results[0].type} {results[0].name}_{part} = {self.call(part)};"
        variables = " ".join(f"{y.type} {y.name}_{part};" for y in results)
        written = [f"&{y.name}_{part}" for y in results]
        return f"{variables} {self.name}({', '.join([*self._arguments(part), *written])});"

    def _arguments(self, part: int | str, tag: str = "") -> list[str]:
        return [n if scalar else f"{n}{tag}_{part}" for n, _, scalar in self._types]


def converted(value: Node, dtype: np.dtype) -> Node:
    """Return `value` converted to another dtype, for one kernel only: the conversion is not a reader of `value`."""
    if value.dtype == dtype:
        return value
    return Node(cast_loop(dtype), (value,), value.shape, dtype, value.size)
