"""The plan of a join: short runs from several contiguous arrays, taken in turn, in one launch."""

from __future__ import annotations

from collections.abc import Sequence

from clarray._engine.algorithms.join.policy import JoinPolicy
from clarray._engine.expr.layout import index_type
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import ElementwisePolicy, Policies


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPlan:
    """What the source of a join is specialised on.

    Parameters
    ----------
    count : int
        Arrays.
    itemsize : int
        Bytes of an element.
    vector : int
        Neighbouring elements that are loaded and stored at once.
    single : bool
        Whether there is one row.
    block : int
        Rows that a CPU writes at a time.
    whole : bool
        Whether a vector may be stored at once.
    stream : bool
        Whether the result bypasses the caches.
    index : str
        C type of positions.
    policy : ElementwisePolicy
        A join has no other needs than an elementwise kernel.
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


def together(rows: int, lengths: Sequence[int], itemsize: int, policy: JoinPolicy) -> bool:
    """Whether the parts of an array, `rows` runs of `lengths` elements, are better written in one launch."""
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
        Where in a row each part ends.
    pitch : int
        From a row of the result to the next.
    offset : int
        Of the result's first element.
    reach : int
        Elements of the largest array that is read or written.
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
