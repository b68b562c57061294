"""Render the kernels that the spectral algorithms run between products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clarray._engine.algorithms.factorization.source import arithmetic
from clarray._engine.codegen.arguments import Fields, numbers
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.ops.dtypes import dtype_row

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities

_EXTENTS = numbers("long", ["all_rows", "all_columns", "rows", "columns"])
# The templates name the element type E and its real type R.
_DECLARED = {
    "affine": (
        *("__global const E *xp", "long xo", "__global E *yp", "long yo"),
        *numbers("long", ["xs", "xk", "ys"]),
        *_EXTENTS,
        *numbers("R", ["alpha", "beta", "beyond"]),
    ),
    "measure": (
        *("__global const E *xp", "long xo", "__global R *sp", "long so"),
        *numbers("long", ["xs", "rows", "columns"]),
        "const R shift",
    ),
    "noise": ("__global E *yp", "long yo", *_EXTENTS, "const R amplitude"),
}


def matrix_source(name: str, dtype: np.dtype, items: int, capabilities: Capabilities) -> Source:
    """Render 'affine', 'measure' or 'noise' for matrices of a dtype and work-groups of `items` work-items."""
    scalar = dtype_row(dtype).compute
    fields = Fields(*_DECLARED[name], types={"R": scalar})
    body = render(
        f"spectral/{name}",
        **arithmetic(dtype),
        items=items,
        halves=[1 << power for power in reversed(range(items.bit_length() - 1))],
        single=scalar == "float",
        params=fields.declared,
    )
    return Source.of(name, source(body, make_dialect(capabilities, 1), capabilities.function_attribute), fields)
