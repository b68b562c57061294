"""The argument struct of a kernel: its scalar arguments, the widest first, so that the struct has no padding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

IN_STRUCT = "."  # prefix of the type of an argument in the struct


def struct_order(kinds: Sequence[str]) -> list[int]:
    """Return the positions of the scalar arguments, in the order of the struct's fields.

    Examples
    --------
    >>> struct_order(["int32", "int64", "uint8", "float32"])
    [1, 0, 3, 2]
    """
    return sorted(range(len(kinds)), key=lambda k: -np.dtype(kinds[k]).itemsize)


def struct_dtype(kinds: Sequence[str]) -> np.dtype:
    """Return the struct of arguments of these types, in C's layout. A field is named by its argument's position.

    Examples
    --------
    >>> struct_dtype(["int32", "int64"]).itemsize
    16
    """
    return np.dtype([(str(k), kinds[k]) for k in struct_order(kinds)], align=True)
