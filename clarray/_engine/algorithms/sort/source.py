"""The sources of a radix sort."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clarray._engine.algorithms.sort.plan import GroupPlan, KeyKind, RowPlan, SortPlan, TilePlan, word_of_bytes
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.tuning.policy import ElementwisePolicy

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


def reference_source(kind: KeyKind, capabilities: Capabilities) -> Source:
    """Render the sequential reference: the positions that sort lines."""
    words = kind.bits // 8
    complex_ = kind.kind == "c"
    body = render(
        "sort/reference",
        kind=kind,
        words=words,
        parts=2 if complex_ else 1,
        passes=2 * words + 1 if complex_ else words,
    )
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    return Source("radix_twin", text, ("buffer", "int64", "int64", "int64", "buffer", "buffer"))


def pick_source(itemsize: int, policy: ElementwisePolicy, capabilities: Capabilities) -> Source:
    """Render the gather of elements of `itemsize` bytes along lines."""
    body = render("sort/pick", word=word_of_bytes(itemsize), policy=policy)
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    types = ("buffer", "int64", "buffer", "buffer", "int64", "int64")
    return Source("radix_pick", text, types)


def rows_source(plan: RowPlan, capabilities: Capabilities) -> Source:
    """Render the sort of lines by one work-item each."""
    kind = plan.kind
    body = render(
        "sort/lines",
        kind=kind,
        form=plan.form,
        bits=plan.bits,
        short=plan.short,
        out=kind.type if plan.form == "keys" else "long",
    )
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    return Source("radix_lines", text, ("buffer", "int64", "int64", "int64", "buffer", "buffer"))


def chunks_source(plan: SortPlan, capabilities: Capabilities) -> tuple[str, dict[str, tuple[str, ...]]]:
    """Render the passes over a line in chunks: the program's text, and its kernels' argument types."""
    policy = plan.policy
    body = render(
        "sort/chunks",
        kind=plan.kind,
        form=plan.form,
        counter=plan.counter,
        short=policy.short,
        most_buckets=policy.most_buckets,
        size=1 << policy.digit_bits,
        few=policy.known,
    )
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    line = ("buffer", "int64", "int64")
    types: dict[str, tuple[str, ...]] = {"radix_range": (*line, "buffer")}
    if plan.form == "keys":
        types["radix_count"] = (*line, "uint64", "int32", "int64", "buffer")
        types["radix_probe"] = ("buffer", "int64", "int64", "int32", "buffer")
        types["radix_known"] = (*line, "uint64", "int32", "int64", "buffer", "buffer", "buffer")
        types["radix_split"] = (*line, "uint64", "int32", "int64", "buffer", "buffer", "buffer")
        types |= {f"{name}_keys": kinds for name, kinds in types.items()}
        types["radix_fill"] = ("buffer", "buffer", "int64", "int64", "buffer", "int64")
        types["radix_bucket"] = ("buffer", "buffer", "buffer", "int64")
        return text, types
    for suffix in ("f", "m"):
        types[f"radix_tally_{suffix}"] = (*line, "uint64", "int32", "buffer")
    for suffix in ("fl", "f", "m", "l"):
        types[f"radix_move_{suffix}"] = (*line, "uint64", "int32", "buffer", "buffer")
    return text, types


def tiles_source(plan: TilePlan, capabilities: Capabilities) -> tuple[str, dict[str, tuple[str, ...]]]:
    """Render the passes of work-groups over a line: the program's text, and its kernels' argument types."""
    variants = ["fl"] if plan.passes == 1 else ["f", "m", "l"] if plan.passes > 2 else ["f", "l"]
    pairs = bool(plan.position)
    widest = max(plan.kind.bits // 8, 8 if plan.position == "ulong" else 4 if pairs else 1)
    body = render(
        "sort/tiles",
        p=plan.policy,
        kind=plan.kind,
        passes=plan.passes,
        pairs=pairs,
        position=plan.position,
        given=plan.given,
        state=plan.state,
        items=plan.items,
        widest=widest,
        apart=plan.apart,
        variants=variants,
    )
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    types: dict[str, tuple[str, ...]] = {"radix_starts": ("buffer", "buffer", "buffer", "int32", "int32")}
    if plan.policy.look_back:
        types["radix_digits"] = ("buffer", "int64", "int64", "buffer", "buffer", "int64")
    else:
        for suffix in ("f", "m") if plan.passes > 1 else ("f",):
            types[f"radix_tally_{suffix}"] = ("buffer", "int64", "int64", "int32", "buffer", "int64")
        types["radix_rows"] = ("buffer", "int64", "buffer")
    moved = ("buffer", "int64", "buffer", "int64", "int32", "buffer", "buffer", "buffer", "int32", "int64")
    for variant in variants:
        taken = pairs and (plan.given or "f" not in variant)
        types[f"radix_pass_{variant}"] = (*moved, *["buffer"] * (pairs + taken))
    return text, types


def groups_source(plan: GroupPlan, capabilities: Capabilities) -> Source:
    """Render the sort of lines by one work-group each, or fewer."""
    kind = plan.kind
    body = render(
        "sort/groups",
        p=plan.policy,
        kind=kind,
        pairs=plan.argsort,
        short=plan.short,
        items=plan.items,
        widest=max(kind.bits // 8, 2),
        apart=plan.apart,
        out="long" if plan.argsort else kind.type,
    )
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    return Source("radix_groups", text, ("buffer", "int64", "int64", "int64", "buffer"))


def part_source(kind: KeyKind, part: int, policy: ElementwisePolicy, capabilities: Capabilities) -> Source:
    """Render the gather of one word of complex numbers' order: 0 imaginary part, 1 real part, 2 class."""
    body = render("sort/part", kind=kind, part=part, policy=policy)
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    return Source("radix_part", text, ("buffer", "int64", *["buffer"] * (2 if part else 1), "int64"))


def line_numbers_source(out: str, policy: ElementwisePolicy, capabilities: Capabilities) -> Source:
    """Render the line of each position (``'uint'``), or the position along it (``'long'``)."""
    body = render("sort/line_numbers", out=out, policy=policy)
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    return Source("radix_line_numbers", text, ("buffer", "buffer", "int64", "int64"))
