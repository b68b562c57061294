"""Plan a binary search of many needles in a sorted line."""

from __future__ import annotations

import numpy as np

from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import ElementwisePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """The specialization of the source of a search.

    Parameters
    ----------
    accesses : tuple of str
        Per distinct input of the needles.
    vector : int
        Needles that a work-item searches concurrently.
    index : str
        C type of the positions of needles.
    sorted_dtype, dtype : dtype
        Of the sorted elements, and of the comparison.
    side : str
        ``'left'`` or ``'right'`` of equal elements.
    sorter : bool
        Whether the elements are sorted indirectly, by an array of indices.
    membership : bool or None
        Store whether a needle occurs (True), or does not occur (False), instead of its insertion index.
    policy : ElementwisePolicy
    """

    accesses: tuple[str, ...]
    vector: int
    index: str
    sorted_dtype: np.dtype
    dtype: np.dtype
    side: str
    sorter: bool
    membership: bool | None
    policy: ElementwisePolicy
