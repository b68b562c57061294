"""Plan joins: one launch that concatenates short runs of several contiguous arrays."""

from __future__ import annotations

from collections.abc import Sequence

from clarray._engine.algorithms.join.policy import JoinPolicy
from clarray._engine.expr.layout import index_type
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import ElementwisePolicy, Policies


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPlan:
    """The specialization of the kernel of a join.

    Parameters
    ----------
    count : int
        Number of arrays.
    itemsize : int
        Bytes of an element.
    vector : int
        Elements per load and store.
    single : bool
        Whether there is one row.
    block : int
        Rows per work-item at a time on a CPU.
    whole : bool
        Whether vectors of the output are aligned, so that one store writes a vector.
    stream : bool
        Whether the result bypasses the caches.
    index : str
        C type of positions.
    policy : ElementwisePolicy
        The tuning of elementwise kernels, which suits joins too.
    """

    count: int
    itemsize: int
    vector: int
    single: bool
    block: int
    whole: bool
    stream: bool
    index: str
    policy: ElementwisePolicy


def is_short_join(rows: int, lengths: Sequence[int], itemsize: int, policy: JoinPolicy) -> bool:
    """Return whether the parts, `rows` runs of `lengths` elements, are short enough for one launch."""
    if len(lengths) < 2:
        return False
    if rows > 1 and max(lengths) * itemsize <= policy.short_bytes:
        return True
    return rows * max(lengths) * itemsize <= policy.small_bytes


def join_plan(
    rows: int, ends: Sequence[int], pitch: int, offset: int, reach: int, itemsize: int, policies: Policies
) -> JoinPlan:
    """Choose the vectors and the width of positions.

    Parameters
    ----------
    ends : sequence of int
        The end of each part in a row.
    pitch : int
        Stride between the rows of the result.
    offset : int
        Offset of the result.
    reach : int
        Elements of the largest array.
    """
    policy = policies.elementwise
    vector = max(1, min(policy.max_width, policy.vector_bytes // itemsize)) if itemsize <= 8 else 1
    length = ends[-1]
    packed = rows == 1 or pitch == length
    whole = offset % vector == 0 and (packed or (length % vector == 0 and pitch % vector == 0))
    return JoinPlan(
        count=len(ends),
        itemsize=itemsize,
        vector=vector,
        single=rows == 1,
        block=policies.join.rows,
        whole=whole,
        stream=0 < policy.stream_bytes <= rows * length * itemsize,
        index=index_type(reach, policy.chunked),
        policy=policy,
    )
