"""Render snippets as separate kernels, and programs that only check that a snippet compiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clarray._engine.algorithms.snippet.plan import SnippetPlan
from clarray._engine.codegen.arguments import Fields, Group, axes, numbers
from clarray._engine.codegen.expression import Call, Inputs, Operand, operand, parameters
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.expr.node import Node
from clarray._engine.ops.ctype import compute_type
from clarray._engine.ops.dtypes import dtype_row
from clarray._engine.ops.snippets import Snippet, visible_type

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


def check_source(snippet: Snippet, capabilities: Capabilities) -> str:
    """Return a program that calls a snippet once. It is compiled, but never launched."""
    dialect = make_dialect(capabilities, 1)
    params, values, whole = [], [], []
    for number, (_, dtype, raw) in enumerate((*snippet.inputs, *snippet.outputs)):
        if raw:
            params.append(f"__global {dtype_row(dtype).storage} *w{number}p")
            whole.append(f"w{number}")
        elif number < len(snippet.inputs):
            params.append(f"__global {compute_type(dtype)} *x{number}")
            values.append(f"x{number}[0]")
    dtypes = [d for _, d, raw in snippet.outputs if not raw]
    if snippet.result is not None:
        dtypes.append(snippet.result)
    results = [(f"y{k}", d) for k, d in enumerate(dtypes)]
    params += [f"__global {compute_type(d)} *{n}" for n, d in results]
    lines = _call(snippet, values, whole, [n for n, _ in results])
    lines += [f"{n}[0] = {n}_0;" for n, _ in results]
    sizes = "".join(f"const long {w}n = 1;\n" for w in whole)
    body = f"ATTR __kernel void checked({', '.join(params)}) {{\n{sizes}" + "\n".join(lines) + "\n}\n"
    if snippet.returned is not None and not whole:
        # the form that expressions call
        body += f"// {snippet.function}_w1\n"
    return source(body, dialect, capabilities.function_attribute)


def snippet_source(
    plan: SnippetPlan, snippet: Snippet, values: Sequence[Node], nodes: Sequence[Node], capabilities: Capabilities
) -> Source:
    """Render the kernel of a snippet.

    Parameters
    ----------
    values : sequence of Node
        The inputs that are not passed whole, of the snippet's dtypes.
    nodes : sequence of Node
        The distinct inputs of `values`.
    """
    dialect = make_dialect(capabilities, 1)
    inputs = Inputs(nodes, plan.accesses, dialect, base=True)
    operands = [_with_inner_stride(o) for o in inputs.operands]
    calls = [Call(f"value{k}", value, inputs=inputs) for k, value in enumerate(values)]
    stored = [d for _, d, raw in snippet.outputs if not raw]
    outs = [
        _with_inner_stride(operand(f"y{k}", d, a, dialect, base=f"y{k}b"))
        for k, (d, a) in enumerate(zip(stored, plan.out_accesses, strict=True))
    ]
    parts: list[str | Group] = [("inputs", inputs.params)]
    whole = []
    for number, (_, dtype, raw) in enumerate((*snippet.inputs, *snippet.outputs)):
        if raw:
            name = f"w{number}"
            const = "const " if number < len(snippet.inputs) else ""
            parts.append(f"__global {const}{dtype_row(dtype).storage} *{name}p")
            parts += numbers("long", [f"{name}o", f"{name}n"])
            whole.append(name)
    for o in outs:
        parts += parameters(o, const=False)
    everyone = [*operands, *outs]
    parts += ["const long rows", axes(plan.index, "k", plan.rank)]
    fields = Fields(*parts, *(axes(plan.index, f"{o.name}k", plan.rank) for o in everyone))
    body = "".join(call.text for call in calls) + render(
        "snippet/snippet",
        d=dialect,
        V=1,
        spread=1,
        I=plan.index,
        policy=plan.policy,
        segment=plan.policy.segment or 1,
        operands=operands,
        outs=outs,
        everyone=everyone,
        whole=whole,
        prepare=inputs.prepare,
        params=fields.declared,
        rank=plan.rank,
        call=_call(snippet, [c.call(0) for c in calls], whole, [o.name for o in outs]),
    )
    return Source.of("snippet", source(body, dialect, capabilities.function_attribute), fields)


def _with_inner_stride(o: Operand) -> Operand:
    """Return the operand with its stride along the innermost loop as a parameter."""
    return o if o.access == "unit" else replace(o, step=f"{o.name}k0")


def _call(snippet: Snippet, values: list[str], whole: list[str], results: list[str]) -> list[str]:
    """Return the statements that call the snippet and store its results in ``<name>_0``, in compute types."""
    lines, arguments = [], []
    scalars, arrays = iter(values), iter(whole)
    for number, (_, dtype, raw) in enumerate(snippet.inputs):
        if raw:
            name = next(arrays)
            arguments += [f"{name}p", f"{name}n"]
            continue
        lines.append(f"const {compute_type(dtype)} v{number} = {next(scalars)};")
        arguments.append(f"v{number} != 0" if dtype.kind == "b" else f"v{number}")
    returned = snippet.returned
    stored = [d for _, d, raw in snippet.outputs if not raw]
    names = iter(results)
    for _, dtype, raw in snippet.outputs:
        if raw:
            name = next(arrays)
            arguments += [f"{name}p", f"{name}n"]
        elif returned is None:
            name = next(names)
            lines.append(f"{visible_type(dtype)} {name}_v;")
            arguments.append(f"&{name}_v")
    call = f"{snippet.function}({', '.join(arguments)})"
    if returned is None:
        lines.append(f"{call};")
        return lines + [_result(n, d) for n, d in zip(results, stored, strict=True)]
    (name,) = results
    return [*lines, f"const {visible_type(returned)} {name}_v = {call};", _result(name, returned)]


def _result(name: str, dtype: np.dtype) -> str:
    value = f"(char)(-{name}_v)" if dtype.kind == "b" else f"{name}_v"
    return f"const {compute_type(dtype)} {name}_0 = {value};"
