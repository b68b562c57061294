"""The sources of what is between products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clarray._engine.algorithms.factorization.source import arithmetic
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.ops.dtypes import dtype_row

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities

_TYPES = {
    "affine": (*("buffer", "int64") * 2, *("int64",) * 7, *("real",) * 3),
    "measure": (*("buffer", "int64") * 2, *("int64",) * 3, "real"),
    "noise": ("buffer", *("int64",) * 5, "real"),
}


def piece_source(name: str, dtype: np.dtype, items: int, multiply_add: str, capabilities: Capabilities) -> Source:
    """Render 'affine', 'measure' or 'noise' for matrices of a dtype, and groups of so many work-items."""
    scalar = dtype_row(dtype).compute
    body = render(
        f"spectral/{name}",
        **arithmetic(dtype, multiply_add),
        items=items,
        halves=[1 << power for power in reversed(range(items.bit_length() - 1))],
        single=scalar == "float",
    )
    real = "float32" if scalar == "float" else "float64"
    types = tuple(real if kind == "real" else kind for kind in _TYPES[name])
    return Source(name, source(body, make_dialect(capabilities, 1), capabilities.function_attribute), types)
