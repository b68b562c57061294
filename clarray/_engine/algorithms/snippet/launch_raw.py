"""Launch kernels that a user has written in OpenCL C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clarray._engine.algorithms.snippet.source_raw import Parameter, RawKernelSource, macros, read_kernel
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import EAGER, Node, memory_of, replanned
from clarray._engine.runtime import Device
from clarray._engine.writing import flush_readers

__all__ = ["Parameter", "macros", "read_kernel", "run_raw"]


@replanned
def run_raw(
    device: Device,
    source: RawKernelSource,
    groups: tuple[int, ...],
    local: tuple[int, ...],
    arguments: Sequence[Node | np.generic],
    local_bytes: int,
) -> None:
    """Run a kernel once.

    Parameters
    ----------
    groups, local : tuple of int
        Number of work-groups, and of work-items per work-group, along each dimension. All are at least 1.
    arguments : sequence of Node or NumPy scalar
        The arguments of all parameters that are not in local memory. Pending arrays are evaluated first, and so are the
        pending readers of arrays that the kernel may write through pointers that are not const.
    local_bytes : int
        Bytes of each parameter in local memory.
    """
    passed = [p for p in source.parameters if p.space != "local"]
    arrays = [a for a in arguments if isinstance(a, Node)]
    written = [a for p, a in zip(passed, arguments, strict=True) if isinstance(a, Node) and not p.const]
    with device.lock:
        leaves = list(map(evaluate, arrays))
        for array in written:
            flush_readers(memory_of(array))
        types, values = _types_and_values(arguments)
        program = device.program(source.text(types, local_bytes), {source.name: types})
        nbytes = sum(leaf.size * leaf.dtype.itemsize for leaf in leaves)
        program.kernel(source.name).launch(groups, local, values, nbytes=nbytes)
        if any(leaf.flags & EAGER or memory_of(leaf).shared for leaf in leaves):
            device.synchronize()


def _types_and_values(arguments: Sequence[Node | np.generic]) -> tuple[list[str], list[Any]]:
    """Return the types and values of the arguments of a kernel: for an array, its buffer and its offset in bytes."""
    types: list[str] = []
    values: list[Any] = []
    for argument in arguments:
        if isinstance(argument, Node):
            types += ["buffer", "int64"]
            values += [memory_of(argument).buffer, argument.offset * argument.dtype.itemsize]
        else:
            types.append(argument.dtype.name)
            values.append(argument.item() if argument.dtype.char in "bBhHiIlLqQfd" else argument)
    return types, values
