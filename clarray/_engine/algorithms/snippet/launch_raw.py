"""Launches of kernels that a user has written whole."""

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
        Work-groups, and work-items of one, along each dimension; all at least 1.
    arguments : sequence of Node or NumPy scalar
        For each parameter but those in local memory. What is pending is computed before, and so is what reads memory
        that may be written: that of pointers that are not const.
    """
    told = [p for p in source.parameters if p.space != "local"]
    arrays = [a for a in arguments if isinstance(a, Node)]
    written = [a for p, a in zip(told, arguments, strict=True) if isinstance(a, Node) and not p.const]
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
    """Return the types and the values of a kernel's arguments: of an array its buffer, and where it begins in bytes."""
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
