"""The sources of a radix sort."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clarray.codegen.render import Source, make_dialect, render, source
from clarray.plan.sort import KeyKind, LinePlan, SortPlan, word_of_bytes
from clarray.plan.tuning.policy import ElementwisePolicy

if TYPE_CHECKING:
    from clarray.runtime import Capabilities


def twin_source(kind: KeyKind, descending: bool, capabilities: Capabilities) -> Source:
    """Render the sequential twin: the positions that sort lines."""
    words = kind.bits // 8
    complex_ = kind.kind == "c"
    body = render(
        "radix_twin",
        kind=kind, descending=descending, words=words, parts=2 if complex_ else 1,
        passes=2 * words + 1 if complex_ else words,
    )  # fmt: skip
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    return Source("radix_twin", text, ("buffer", "int64", "int64", "int64", "buffer", "buffer"))


def pick_source(itemsize: int, policy: ElementwisePolicy, capabilities: Capabilities) -> Source:
    """Render the gather of elements of `itemsize` bytes along lines."""
    body = render("radix_pick", word=word_of_bytes(itemsize), policy=policy)
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    types = ("buffer", "int64", "buffer", "buffer", "int64", "int64")
    return Source("radix_pick", text, types)


def lines_source(plan: LinePlan, capabilities: Capabilities) -> Source:
    """Render the sort of lines by one work-item each."""
    kind = plan.kind
    body = render(
        "radix_lines",
        kind=kind, form=plan.form, descending=plan.descending, bits=plan.bits, short=plan.short,
        out=kind.type if plan.form == "keys" else "long",
    )  # fmt: skip
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    return Source("radix_lines", text, ("buffer", "int64", "int64", "int64", "buffer", "buffer"))


def chunks_source(plan: SortPlan, capabilities: Capabilities) -> tuple[str, dict[str, tuple[str, ...]]]:
    """Render the passes over a line in chunks: the program's text, and its kernels' argument types."""
    policy = plan.policy
    body = render(
        "radix_chunks",
        kind=plan.kind, form=plan.form, descending=plan.descending, counter=plan.counter,
        short=policy.short, most_buckets=policy.most_buckets, size=1 << policy.digit_bits,
    )  # fmt: skip
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    line = ("buffer", "int64", "int64")
    types: dict[str, tuple[str, ...]] = {"radix_range": (*line, "buffer")}
    if plan.form == "keys":
        types["radix_count"] = (*line, "uint64", "int32", "int64", "buffer")
        types["radix_fill"] = ("buffer", "int64", "uint64", "int64", "buffer")
        types["radix_split"] = (*line, "uint64", "int32", "int64", "buffer", "buffer", "buffer")
        types["radix_bucket"] = ("buffer", "buffer", "buffer")
        return text, types
    for suffix in ("f", "m"):
        types[f"radix_tally_{suffix}"] = (*line, "uint64", "int32", "buffer")
    for suffix in ("fl", "f", "m", "l"):
        types[f"radix_move_{suffix}"] = (*line, "uint64", "int32", "buffer", "buffer")
    return text, types
