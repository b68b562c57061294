"""float16 as the 16 bits it is in memory: what only moves it keeps every bit of a NaN.

On the way through a float a NaN loses what makes it a signalling one everywhere, and on some devices all its bits.
"""

from __future__ import annotations

import numpy as np

from clarray._engine.ops.ctype import Dialect, compute_type
from clarray._engine.ops.forms import Form, exact
from clarray._engine.ops.special import cast_loop, make_loop, select_loop
from clarray._engine.ops.ufuncs import Loop

__all__ = ["BITS", "HALF", "bits_of", "move_loop", "value_of"]

HALF = np.dtype(np.float16)
BITS = np.dtype(np.uint16)

# What IEEE 754 says of a sign is said of the bits, of a NaN too.
_UFUNCS = {
    "positive": exact("{0}"),
    "conjugate": exact("{0}"),
    "negative": exact("{0} ^ ({T})(0x8000)"),
    "absolute": exact("{0} & ({T})(0x7fff)"),
    "copysign": exact("({0} & ({T})(0x7fff)) | ({1} & ({T})(0x8000))"),
}
_moves: dict[str, Loop] = {}


def _value(loop: Loop, args: list[str], dialect: Dialect) -> str:
    return f"ca_half_of_bits_{compute_type(BITS, dialect.width)}({args[0]})"


bits_of = make_loop("bits_of_half", exact("ca_bits_of_half_{T}({0})"), (HALF,), BITS)
value_of = make_loop("half_of_bits", Form(_value, "exact"), (BITS,), HALF)


def move_loop(loop: Loop) -> Loop | None:
    """The loop on bits that does what one on float16 does, or None if it computes."""
    if loop is cast_loop(HALF):
        return cast_loop(BITS)
    if loop is select_loop(HALF):
        return select_loop(BITS)
    form = _UFUNCS.get(loop.name) if all(d == HALF for d in (*loop.in_dtypes, loop.out_dtype)) else None
    if form is None:
        return None
    found = _moves.get(loop.name)
    if found is None:
        found = _moves[loop.name] = make_loop(loop.name, form, (BITS,) * len(loop.in_dtypes), BITS)
    return found
