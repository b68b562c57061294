"""The sources of a radix sort."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clarray.codegen.render import Source, make_dialect, render, source
from clarray.plan.sort import KeyKind, word_of_bytes
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
