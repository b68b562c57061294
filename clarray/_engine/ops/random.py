"""Operations of random number generation: words of a generator, and their distributions.

They are loops without a ufunc. Helpers of the same names in ``templates/lib`` compute them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from clarray._engine.ops.ctype import Dialect, compute_type
from clarray._engine.ops.forms import Form, Row
from clarray._engine.ops.ufuncs import Loop, next_code

__all__ = ["random_loop"]


def _helper_call(loop: Any, args: list[str], dialect: Dialect) -> str:
    return f"ca_{loop.name}_{compute_type(loop.out_dtype, dialect.width)}({', '.join(args)})"


@cache
def random_loop(name: str, in_dtypes: tuple[np.dtype, ...], out_dtype: np.dtype) -> Loop:
    """Return the loop that calls the helper ``ca_<name>``, one object for the same dtypes."""
    loop = Loop(Row(name, {}), np.positive, Form(_helper_call, "exact"), next_code())
    loop.in_dtypes = in_dtypes
    loop.out_dtype = out_dtype
    return loop
