"""Numbers at the edge of their range: NumPy's result or NumPy's error, and no hang.

A child process makes all calls with little address space, so that what is too large is refused rather than made.
A call that hangs ends the child with a traceback.
"""

from __future__ import annotations

import faulthandler
import json
import os
import re
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.evaluate import kernel_cache_of
from clarray._engine.runtime import current_device, pool

from ..outcomes import difference, differences, listed, outcome, public_class
from .edge_calls import ARGUMENTS, CREATION, METHODS, RANDOM, SUBMODULES, functions

EDGES = ("-1", "0", "2**31", "2**32", "2**62", "2**63", "2**64", "np.nan")
SPACE = 2**31  # bytes beyond what the child has when it begins
SECONDS = 30
SIZE_ERROR = re.compile("too big|too large|Maximum allowed|maximum possible|negative dimensions")
# NumPy crashes, hangs or makes gigabytes of Python objects: clarray's call must end, with a result or an error.
NUMPY_FAILS = {
    r"repeat\(.*2\*\*62": "SIGSEGV",
    r"(take|choose|put)\(.*2\*\*.*'wrap'": "NumPy subtracts the extent in a loop",
    r"\.diff\(.*n=2\*\*": "a loop of n",
    r"\.polyder\(.*m=2\*\*": "a recursion of depth m",
    r"\.resize\(.*\]\), 2\*\*": "a tuple of as many arrays",
    r"RandomState\(1\)\.(zipf|vonmises)\(.*2\*\*": "a loop that finds no value",
    r"_?split\(.*2\*\*": "a list of as many integers",
}
# What differs, and why.
LISTED = {
    r"\.(insert|tile)\(.*np\.nan": "both refuse; NumPy uses the number before it reads it as an integer",
    r"\.nan(mean|std|var)\(.*axis=2": "both refuse; here the error is that of `mean`",
    r"\.unwrap\(.*axis=2": "both refuse an axis beyond 32 bits, here as ufuncs do",
    r"\.tri(|l_indices|u_indices)\(.*2\*\*63": "NumPy's extent becomes negative, and the result empty",
    r"rfftfreq\(2\*\*64": "NumPy's result is empty",
    r"norm\(.*2\*\*64": "NumPy makes an object of the order; as a float it gives the norm",
    r"(\[(1, )?|__setitem__\(|add\.at\(.*, )2\*\*63(\]$|, 1)": "IndexError, as for any other index out of bounds",
    r"\.(tile|indices)\(.*\(2\*\*3[12], 0\)": "NumPy makes larger arrays on the way",
    r"\.histogram\(.*\(0, 2\*\*63\)": "NumPy compares with an int64",
    r"\.bincount\(\[2\*\*6[34]": "both refuse; NumPy reads the values as int64 first",
    r"\.einsum\(.*optimize=": "the order of one product is not optimized, so nothing reads `optimize`",
    r"\.permutation\(2\*\*6[34]": "refused; NumPy's range of 2**63 is empty",
    r"\.dirichlet\(.*2\*\*6[34]": "both refuse; from NumPy 2.5 on with the same error",
    r"\.bytes\((-1|np\.nan)": "refused; NumPy gives no bytes for -1",
    r"\.integers\(.*\(2\*\*62, 0": "pending: the size is looked at when the values are computed",
    r"RandomState\(1\)\.(uniform\(0, -1|hypergeometric|negative_binomial)": "parameters are checked as Generator's",
    r"RandomState\(2\*\*": "seeds may have any number of bits",
}
# Rows of an older NumPy, or of memory that is the limited one of the host.
NOT_EVERYWHERE = {pattern for pattern in LISTED if "dirichlet" in pattern or "tile|indices" in pattern}
TENSORS = "xp.arange(6.0).reshape(2, 3), xp.arange(6.0).reshape(2, 3)"
AXES = [
    *("(0, 0)", "[0, 1]", "([0, 1], [0, 1])", "([0], [-2])", "(range(2), range(2))", "(np.arange(2), np.arange(2))"),
    *("(np.int64(1), np.int8(1))", "(xp.arange(2), [0, 1])"),
    *("np.array([[0, 1], [0, 1]])", "xp.array([[0, 1], [0, 1]])"),
    *("2", "0", "np.int64(2)", "np.array(2)", "xp.array(2)", "2.0", "(0.0, 0.0)", "(np.array([0.0]), [0])"),
    *("(range(-2, 0), range(-2, 0))", "(-1, (1,))", "([0, 0], [0, 0])", "(range(2), [0])", "([2], [0])", "None"),
]


@pytest.mark.parametrize("tier", ["0", "1"], ids=["kernels", "tier"])
def test_every_number(tier: str) -> None:
    command = [sys.executable, "-m", __name__]
    done = subprocess.run(command, env=os.environ | {"CLARRAY_TIER": tier}, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout.splitlines()[-1])
    report = {call: unlike for call, unlike in report.items() if "clarray has no dtype" not in unlike}
    used = {pattern for call in report for pattern in LISTED if re.search(pattern, call)}
    found = {call: unlike for call, unlike in report.items() if not any(re.search(each, call) for each in LISTED)}
    assert not found, listed(found)
    assert used >= set(LISTED) - NOT_EVERYWHERE, f"these rows list nothing: {set(LISTED) - NOT_EVERYWHERE - used}"


def report() -> dict[str, str]:
    """Make all calls with little address space, and return what differs. A call that hangs ends the process."""
    clarray.ones(3).evaluate()
    kernels = kernel_cache_of(current_device())
    kernels.policies = replace(kernels.policies, optimized=kernels.capabilities.kind != "cpu")  # as by `quick_builds`
    pool._MAX_WAIT_SECONDS = 0  # no other process has memory to give back
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + SPACE, now + SPACE))
    found = {}
    for call in (*functions(), *SUBMODULES, *METHODS, *CREATION, *ARGUMENTS, *RANDOM):
        for edge in EDGES:
            code = call.replace("{}", f"({edge})" if edge.startswith("-") and "** {}" in call else edge)
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            print(code, file=sys.stderr)  # the last one is the one that hangs
            unlike = unlike_numpy(code)
            if unlike is not None:
                found[code] = unlike
    faulthandler.cancel_dump_traceback_later()
    return found


def unlike_numpy(code: str) -> str | None:
    if any(re.search(pattern, code) for pattern in NUMPY_FAILS):
        outcome(code, clarray)
        return None
    if "xp.random" not in code:
        unlike = difference(code)
        return None if unlike is None or too_large(code) else unlike
    (theirs, expected, _), (ours, error, _) = (outcome(code, xp) for xp in (np, clarray))
    if expected is None and error is None:
        return None if kind(ours) == kind(theirs) else f"{kind(ours)} instead of {kind(theirs)}"
    if expected is None or error is None:
        return f"{error or kind(ours)!r} instead of {expected or kind(theirs)!r}"
    if isinstance(error, public_class(expected)) or too_large(code):
        return None
    return f"{error!r} instead of {expected!r}"


def kind(value: Any) -> Any:
    """Return what random values have in common: their shape and dtype."""
    if isinstance(value, np.ndarray | np.generic | clarray.DeviceArray | int | float):
        return np.shape(value), np.dtype(getattr(value, "dtype", type(value))).name
    return type(value).__name__ if isinstance(value, bytes | None) else "object"


def too_large(code: str) -> bool:
    """Tell whether both refuse a size, or only NumPy, whose memory is the limited one of the host.

    Which error it is depends on the arrays that are made on the way.
    """
    theirs, ours = (outcome(code, xp)[1] for xp in (np, clarray))
    if ours is None and not current_device().capabilities.host_memory:
        return isinstance(theirs, MemoryError)
    return all(
        isinstance(error, MemoryError | OverflowError)
        or (isinstance(error, ValueError) and SIZE_ERROR.search(str(error)))
        for error in (theirs, ours)
    )


@pytest.mark.usefixtures("tier")
def test_axes_of_tensordot() -> None:
    found = differences(f"xp.tensordot({TENSORS}, {axes})" for axes in AXES)
    assert not found, listed(found)


@pytest.mark.parametrize(
    ("grid", "block"),
    [
        *(((2**63,), (1,)), ((2**62,), (4,)), ((2**31, 2**31, 2), (1,)), ((2**64,), (1,))),
        *(((2**62,), (1,)), ((2**48,), (1,)), ((1,), (2**62,)), (2**62, 1), ((-1,), (1,)), ((1,), (0,))),
    ],
)
def test_grids_too_large_are_refused(grid: Any, block: Any) -> None:
    kernel = clarray.RawKernel("kernel void one(global int *x) { x[0] = 1; }", "one")
    x = clarray.zeros(1, np.int32)
    with pytest.raises(ValueError, match=r"work-items|numbers from"):
        kernel(grid, block, (x,))
    assert x.tolist() == [0]


@pytest.mark.parametrize("grid", [np.nan, 1.5, (1.0,), None, "1"])
def test_grids_are_integers(grid: Any) -> None:
    kernel = clarray.RawKernel("kernel void one(global int *x) { x[0] = 1; }", "one")
    with pytest.raises(TypeError):
        kernel(grid, (1,), (clarray.zeros(1, np.int32),))


@pytest.mark.parametrize(
    ("size", "error"),
    [(-1, ValueError), (2**62, ValueError), (2**64, ValueError), (2**47, MemoryError), (np.nan, TypeError)],
)
def test_sizes_of_kernels(size: Any, error: type[Exception]) -> None:
    kernel = clarray.ElementwiseKernel("raw int32 x", "int32 y", "y = x[i % 3]", "pick")
    with pytest.raises(error):
        kernel(clarray.arange(3, dtype="i4"), size=size)


if __name__ == "__main__":
    print(json.dumps(report()))
