"""Render the kernels of radix sorts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clarray._engine.algorithms.sort.plan import GroupPlan, KeyKind, RowPlan, SortPlan, TilePlan, word_of_bytes
from clarray._engine.codegen.arguments import Fields, numbers
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.tuning.policy import ElementwisePolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clarray._engine.runtime import Capabilities

_LINES = ("__global const key_t *xp", "const long xo", "const long lines", "const long n")
_RESTRICT_LINES = ("__global const key_t *restrict xp", *_LINES[1:])


def reference_source(kind: KeyKind, capabilities: Capabilities) -> Source:
    """Render the sequential reference, which computes the positions that sort lines."""
    words = kind.bits // 8
    complex_ = kind.kind == "c"
    fields = Fields(*_LINES, "__global long *yp", "__global long *scratch")
    body = render(
        "sort/reference",
        params=fields.declared,
        kind=kind,
        words=words,
        parts=2 if complex_ else 1,
        passes=2 * words + 1 if complex_ else words,
    )
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    return Source.of("radix_twin", text, fields)


def gather_lines_source(itemsize: int, policy: ElementwisePolicy, capabilities: Capabilities) -> Source:
    """Render the gather of elements of `itemsize` bytes along lines."""
    word = word_of_bytes(itemsize)
    fields = Fields(
        f"__global const {word} *restrict x",
        "const long xo",
        "__global const long *restrict at",
        f"__global {word} *restrict y",
        *numbers("long", ["total", "n"]),
    )
    body = render("sort/pick", policy=policy, params=fields.declared)
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    return Source.of("radix_pick", text, fields)


def rows_source(plan: RowPlan, capabilities: Capabilities) -> Source:
    """Render the sort of lines, one work-item per line."""
    kind = plan.kind
    out = kind.type if plan.form == "keys" else "long"
    fields = Fields(*_RESTRICT_LINES, f"__global {out} *restrict yp", "__global elem_t *restrict scratch")
    body = render(
        "sort/lines",
        params=fields.declared,
        kind=kind,
        form=plan.form,
        bits=plan.bits,
        short=plan.short,
        out=out,
    )
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    return Source.of("radix_lines", text, fields)


def chunks_source(plan: SortPlan, capabilities: Capabilities) -> tuple[str, dict[str, Fields]]:
    """Render the passes over a line in chunks. Return the text of the program and the arguments of its kernels."""
    policy = plan.policy
    fields = _key_fields(plan.counter) if plan.form == "keys" else _element_fields(plan.counter)
    body = render(
        "sort/chunks",
        kind=plan.kind,
        form=plan.form,
        counter=plan.counter,
        short=policy.short,
        most_buckets=policy.most_buckets,
        size=1 << policy.digit_bits,
        few=policy.known,
        params={name: each.declared for name, each in fields.items()},
    )
    return source(body, make_dialect(capabilities, 1), capabilities.function_attribute), fields


def _key_fields(counter: str) -> dict[str, Fields]:
    """Declare the arguments of the kernels that move keys. They read values, or keys if the name ends in ``_keys``."""
    source_line = ("__global const key_t *restrict xp", "const long xo")
    digits = (*source_line, "const long n", "const ulong lowest", "const int shift")
    counts = f"__global {counter} *restrict counts"
    tables = ("__global const uchar *restrict slot_of", "__global const key_t *restrict known")
    buckets = ("__global const ushort *restrict bucket_of", "__global const long *restrict places")
    kernels = {
        "radix_range": Fields(*source_line, "const long n", "__global ulong *restrict found"),
        "radix_count": Fields(*digits, "const long cells", counts),
        "radix_probe": Fields(*source_line, "const long step", "const int count", "__global key_t *restrict found"),
        "radix_known": Fields(*digits, "const long cells", *tables, counts),
        "radix_split": Fields(*digits, "const long buckets", *buckets, "__global key_t *restrict y"),
    }
    kernels |= {f"{name}_keys": fields for name, fields in kernels.items()}
    tables = ("__global const long *restrict ends", "__global const ulong *restrict values")
    result = ("__global key_t *restrict y", "const long yo")
    kernels["radix_fill"] = Fields(*tables, *numbers("long", ["cells", "n"]), *result)
    buffers = ("__global const long *restrict spans", "__global key_t *xs", "__global key_t *ys")
    kernels["radix_bucket"] = Fields(*buffers, "const long yo")
    return kernels


def _element_fields(counter: str) -> dict[str, Fields]:
    """Declare the arguments of the kernels that move elements. Pass f reads keys, and pass l writes positions."""
    line = ("__global const key_t *restrict xp", "const long xo", "const long n")
    kernels = {"radix_range": Fields(*line, "__global ulong *restrict found")}
    for suffix in ("fl", "f", "m", "l"):
        item = "key_t" if "f" in suffix else "elem_t"
        line = (f"__global const {item} *restrict xp", "const long xo", "const long n")
        digit = (*line, "const ulong lowest", "const int shift")
        if suffix in ("f", "m"):
            kernels[f"radix_tally_{suffix}"] = Fields(*digit, f"__global {counter} *restrict counts")
        result = f"__global {'long' if 'l' in suffix else 'elem_t'} *restrict y"
        kernels[f"radix_move_{suffix}"] = Fields(*digit, f"__global const {counter} *restrict counts", result)
    return kernels


def tiles_source(plan: TilePlan, capabilities: Capabilities) -> tuple[str, dict[str, Fields]]:
    """Render the passes over a line in tiles. Return the text of the program and the arguments of its kernels."""
    variants = ["fl"] if plan.passes == 1 else ["f", "m", "l"] if plan.passes > 2 else ["f", "l"]
    pairs = bool(plan.position)
    widest = max(plan.kind.bits // 8, 8 if plan.position == "ulong" else 4 if pairs else 1)
    fields = _tile_fields(plan, variants)
    body = render(
        "sort/tiles",
        p=plan.policy,
        kind=plan.kind,
        passes=plan.passes,
        pairs=pairs,
        position=plan.position,
        given=plan.has_order,
        state=plan.state,
        items=plan.items,
        widest=widest,
        apart=plan.separate_counters,
        variants=variants,
        params={name: each.declared for name, each in fields.items()},
    )
    return source(body, make_dialect(capabilities, 1), capabilities.function_attribute), fields


def _tile_fields(plan: TilePlan, variants: Sequence[str]) -> dict[str, Fields]:
    """Declare the arguments of the kernels that sort tiles."""
    state = f"__global {plan.state} *restrict"
    source_line = ("__global const key_t *restrict xp", "const long xo")
    counters = (f"{state} found", f"{state} starts", "__global uint *restrict tickets")
    kernels = {"radix_starts": Fields(*counters, *numbers("int", ["rounds", "parts"]))}
    if plan.policy.look_back:
        buffers = (f"{state} found", f"{state} states")
        kernels["radix_digits"] = Fields(*source_line, "const long n", *buffers, "const long words")
    else:
        table = (f"{state} table", "const long all")
        for suffix in ("f", "m") if plan.passes > 1 else ("f",):
            kernels[f"radix_tally_{suffix}"] = Fields(*source_line, "const long n", "const int shift", *table)
        kernels["radix_rows"] = Fields(*table, f"{state} found")
    for variant in variants:
        position = plan.position if "f" not in variant else "long" if plan.has_order else ""
        to = f"__global {'long' if 'l' in variant else plan.position} *restrict to"
        kernels[f"radix_pass_{variant}"] = Fields(
            *source_line,
            "__global key_t *restrict y",
            "const long n",
            "const int shift",
            f"__global const {plan.state} *restrict starts",
            f"{state} states",
            "__global uint *restrict tickets",
            "const int number",
            "const long all",
            *([f"__global const {position} *restrict from"] if plan.position and position else []),
            *([to] if plan.position else []),
        )
    return kernels


def groups_source(plan: GroupPlan, capabilities: Capabilities) -> Source:
    """Render the sort of lines that fit a work-group."""
    kind = plan.kind
    out = "long" if plan.argsort else kind.type
    fields = Fields(*_RESTRICT_LINES, ("out", [f"__global {out} *restrict {'y' if plan.short else 'yp'}"]))
    body = render(
        "sort/groups",
        params=fields.declared,
        p=plan.policy,
        kind=kind,
        pairs=plan.argsort,
        short=plan.short,
        items=plan.items,
        widest=max(kind.bits // 8, 2),
        apart=plan.separate_counters,
        out=out,
    )
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    return Source.of("radix_groups", text, fields)


def part_source(kind: KeyKind, part: int, policy: ElementwisePolicy, capabilities: Capabilities) -> Source:
    """Render the gather of one word of the keys of complex numbers: 0 imaginary part, 1 real part, 2 class."""
    fields = Fields(
        "__global const key_t *restrict x",
        "const long xo",
        *(["__global const long *restrict at"] if part else []),
        f"__global {'uchar' if part == 2 else 'key_t'} *restrict y",
        "const long total",
    )
    body = render("sort/part", kind=kind, part=part, policy=policy, params=fields.declared)
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    return Source.of("radix_part", text, fields)


def line_numbers_source(out: str, policy: ElementwisePolicy, capabilities: Capabilities) -> Source:
    """Render the line of each position (``'uint'``), or the position along the line (``'long'``)."""
    buffers = ("__global const long *restrict at", f"__global {out} *restrict y")
    fields = Fields(*buffers, *numbers("long", ["total", "n"]))
    body = render("sort/line_numbers", out=out, policy=policy, params=fields.declared)
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    return Source.of("radix_line_numbers", text, fields)
