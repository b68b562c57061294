"""The arguments of a kernel: each by itself, or its numbers in one structure, which is the last of them.

    kernel(buffer, number, buffer, number)         kernel(buffer, buffer, struct {number, number})

Where a runtime copies each argument of a launch by itself, a structure costs no more than a few of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from clarray._engine.together import TOGETHER, in_order

# Numbers from which on a structure is quicker. PoCL 3.0, microseconds of a statement: each number 0.03, a structure
# 0.2 to 0.25, since PoCL aligns its copy to the structure's size and the C library takes its slow path. With three
# numbers `x[1:-1] = y[2:]` took 1.92 for 1.75, with nine `x @ y` 3.9 for 4.0, with eighteen a 5-point stencil 7.0
# for 7.6. Intel's runtime, busy machine: stencil 8.3 for 8.6, `x @ y` 5.1 for 5.5. NVIDIA H200: stencil 10.7 for 11.3,
# `A @ x` of 40 x 40 6.0 for 6.8, `x @ y` 6.2 for 6.6; not used there before all tests have run so.
_MANY = 9


class Arguments(NamedTuple):
    """What a source says of a kernel's arguments.

    Parameters
    ----------
    definition : str
        Of the structure, before the kernel; empty where there is none.
    declared : str
        What stands between the kernel's parentheses.
    opening : str
        What its first lines are: each number by its name.
    types : tuple of str
        Their types, in the order in which a launch gives them.
    """

    definition: str
    declared: str
    opening: str
    types: tuple[str, ...]


def arguments(params: Sequence[str], types: Sequence[str], together: bool) -> Arguments:
    """Say how a kernel takes these parameters, such as ``const long n``.

    Parameters
    ----------
    together : bool
        Whether numbers go into a structure, where there are several.
    """
    numbers = [kind for kind in types if kind != "buffer"]
    if not together or len(numbers) < _MANY:
        return Arguments("", ", ".join(params), "", tuple(types))
    declared = [param.removeprefix("const ") for param, kind in zip(params, types, strict=True) if kind != "buffer"]
    members = " ".join(f"{declared[k]};" for k in in_order(numbers))
    buffers = [param for param, kind in zip(params, types, strict=True) if kind == "buffer"]
    return Arguments(
        f"typedef struct {{ {members} }} numbers_t;\n",
        ", ".join([*buffers, "const numbers_t numbers"]),
        " ".join(f"const {each} = numbers.{each.split()[-1]};" for each in declared),
        tuple(kind if kind == "buffer" else TOGETHER + kind for kind in types),
    )
