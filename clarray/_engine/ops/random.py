"""Operations that make random numbers: words of a generator, and what becomes of them.

They are loops without a ufunc, computed by the helpers of the same names in ``templates/lib``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from clarray._engine.ops.ctype import Dialect, compute_type
from clarray._engine.ops.forms import Form, Row
from clarray._engine.ops.ufuncs import Loop, next_code

__all__ = ["random_loop"]


def _written(loop: Any, args: list[str], dialect: Dialect) -> str:
    return f"ca_{loop.name}_{compute_type(loop.out_dtype, dialect.width)}({', '.join(args)})"


@cache
def random_loop(name: str, in_dtypes: tuple[np.dtype, ...], out_dtype: np.dtype) -> Loop:
    """The loop ``ca_<name>``, one object for the same dtypes."""
    made = Loop(Row(name, {}), np.positive, Form(_written, "exact"), next_code())
    made.in_dtypes = in_dtypes
    made.out_dtype = out_dtype
    return made
