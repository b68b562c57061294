"""The table of operations: what programs are made of.

A row is a template: Python text with slots in braces, which `slots.py` fills from the variables that there are. The
first array slot of a row is its *subject*: `{axis}` is an axis of it, `{key}` a key for it, `{b}` something to combine
with it. A row gives a value, which gets a new name (`{new}`), or begins with `!` and is a statement. `h:` marks values
that live on the host.
A number and a bar in front is the row's weight.
"""

from __future__ import annotations

import numpy as np

import clarray

from . import computing, movement
from .row import Operation, rows

EXACT_UFUNCS = {
    *("absolute", "abs", "add", "bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift"),
    *("bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "ceil", "conj", "conjugate"),
    *("copysign", "equal", "fabs", "floor", "fmax", "fmin", "fmod", "frexp", "gcd", "greater", "greater_equal"),
    *("heaviside", "invert", "isfinite", "isinf", "isnan", "lcm", "ldexp", "left_shift", "less", "less_equal"),
    *("logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "modf", "negative"),
    *("nextafter", "not_equal", "positive", "right_shift", "rint", "sign", "signbit", "spacing", "square"),
    *("subtract", "trunc", "multiply"),
}
SUMMING = {"matmul", "matvec", "vecdot", "vecmat"}
ACCUMULATING = ("add", "multiply", "maximum", "minimum", "logical_and", "logical_or", "bitwise_xor", "subtract")


def ufunc_names() -> list[str]:
    """Every name that NumPy and clarray have for a ufunc."""
    return sorted(n for n in dir(clarray) if isinstance(getattr(np, n, None), np.ufunc) and n not in SUMMING)


def ufunc_rows() -> list[Operation]:
    """Calls of the ufuncs, with `out`, `where` and `dtype`, and their methods."""
    found = []
    for name in ufunc_names():
        ufunc = getattr(np, name)
        rounds = "complex" if name in EXACT_UFUNCS else "result"
        args = "{a}" if ufunc.nin == 1 else "{a}, {b}"
        calls = f"3| xp.{name}({args})\n"
        if ufunc.nout == 1:
            calls += f"xp.{name}({args}, out={{o}})\n0.5| xp.{name}({args}, out={{o}}, where={{mask}})\n"
            calls += f"0.4| xp.{name}({args}, dtype={{dt}})\n0.3| xp.{name}({args}, out={{o}}, casting={{kcast}})\n"
        found += rows(calls, rounds)
    for name in ACCUMULATING:
        calls = f"xp.{name}.reduce({{a}}, axis={{axes}})\nxp.{name}.accumulate({{a}}, {{axis}})\n"
        calls += f"xp.{name}.outer({{v}}, {{w}})\n"
        calls += f"xp.{name}.reduce({{a}}, axis={{axes}}, keepdims={{bool}}, where={{mask}}, initial=1)\n"
        found += rows(calls, "operands" if name in ("add", "multiply", "subtract") else "")
    return found


GROUPS: dict[str, tuple[float, list[Operation]]] = {
    "views": (20, movement.VIEWS),
    "parts": (3, movement.PARTS),
    "copies": (8, movement.COPIES),
    "moves": (12, movement.MOVES),
    "creation": (4, movement.CREATION),
    "writes": (18, movement.WRITES),
    "host": (5, movement.HOST),
    "shared": (5, movement.SHARED),
    "choices": (10, computing.CHOICES),
    "arithmetic": (14, [*computing.ARITHMETIC, *computing.DIFFERENCES]),
    "sums": (10, computing.SUMS),
    "rounded": (4, computing.ROUNDED),
    "ufuncs": (16, ufunc_rows()),
}

# What no row of the table calls.
NOT_CALLED = {
    "kernels written by the user: tests/device/kernels/test_kernels.py": "ElementwiseKernel ReductionKernel ScanKernel",
    "devices and settings, which compute nothing": (
        "config device devices free_memory memory_info profile reset set_device synchronize show_config"
    ),
    "files: tests/device/creation/test_files.py": (
        "fromfile genfromtxt load loadtxt save savetxt savez savez_compressed"
    ),
    "NumPy's own, about text and settings of the host": (
        "base_repr binary_repr format_float_positional format_float_scientific get_printoptions set_printoptions "
        "printoptions geterr geterrcall seterr seterrcall isdtype issubdtype mintypecode promote_types typename "
        "frompyfunc"
    ),
    "iterators of host memory: tests/device/indexing and tests/run": "nditer nested_iters",
    "explicit copies to the host, which NumPy has no name for; every comparison is one": "asnumpy",
    "CuPy's: tests/device/api/test_coming_from.py": "get_array_module fuse get_default_memory_pool",
    "solved by a library on the host: tests/device/lib/test_polynomials.py": "polyfit roots",
}
NOT_CALLED_METHODS = {
    "pending work made visible: every program in the evaluated order calls it": "evaluate explain get",
    "copies by other libraries' names: tests/device/api/test_coming_from.py": "set to_numpy",
    "files": "dump dumps tofile",
    "a buffer of the host's: tests/device/core/test_construction.py": "data",
    "NumPy's depends on who refers to the array": "resize",
    "of numbers alone: tests/device/api/test_numbers.py": (
        "as_integer_ratio is_integer hex fromhex bit_count numerator denominator"
    ),
    "NumPy has it not, or otherwise": "check_writeable device to_device base strides flags T",
}
