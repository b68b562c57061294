"""A plugin of pytest: scikit-learn's tests of array libraries run with the one that SUITE_BACKEND names.

The tests ask three generators which libraries, devices and dtypes there are; these give what is tested, and clarray.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import sklearn.utils._array_api as theirs

BACKEND = os.environ["SUITE_BACKEND"]
COMBINATIONS = list(theirs.yield_namespace_device_dtype_combinations())
# Each of theirs, as CuPy has it, in the default dtype; and in the one that most tests treat apart.
COMBINATIONS += [("clarray", None, None), ("clarray", None, "float32")]


def namespaces(include_numpy_namespaces: bool = True) -> Iterator[str]:
    yield BACKEND


def combinations(include_numpy_namespaces: bool = True) -> Iterator[tuple[str, str | None, str | None]]:
    for combination in COMBINATIONS:
        if combination[0] == BACKEND and combination[1] in (None, os.environ["SUITE_PEER_DEVICE"]):
            yield combination


def mixed() -> Iterator[tuple[theirs.NamespaceAndDevice, theirs.NamespaceAndDevice, str]]:
    """To and from NumPy: in scikit-learn everything follows the library of X."""
    numpy = theirs.NamespaceAndDevice("numpy", None)
    for _, device in {combination[:2]: None for combination in combinations()}:
        tested = theirs.NamespaceAndDevice(BACKEND, device)
        yield tested, numpy, f"{BACKEND} {device} to numpy"
        yield numpy, tested, f"numpy to {BACKEND} {device}"


theirs.yield_namespaces = namespaces
theirs.yield_namespace_device_dtype_combinations = combinations
theirs.yield_mixed_namespace_input_permutations = mixed
