"""How numbers lie in the structure that a kernel takes them in: the widest first, so that nothing lies between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

TOGETHER = "."  # before the type of an argument that is in the structure


def in_order(kinds: Sequence[str]) -> list[int]:
    """Give the numbers' places in the arguments, as they follow each other in the structure.

    Examples
    --------
    >>> in_order(["int32", "int64", "uint8", "float32"])
    [1, 0, 3, 2]
    """
    return sorted(range(len(kinds)), key=lambda k: -np.dtype(kinds[k]).itemsize)


def layout(kinds: Sequence[str]) -> np.dtype:
    """Give the structure of such numbers, as a compiler lays it out; a field is called as its place among them.

    Examples
    --------
    >>> layout(["int32", "int64"]).itemsize
    16
    """
    return np.dtype([(str(k), kinds[k]) for k in in_order(kinds)], align=True)
