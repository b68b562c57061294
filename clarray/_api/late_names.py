"""Names of clarray's namespace whose modules are imported on the first access of a name.

These are the chapters that neither a method of arrays nor another module needs. Importing them took an eighth of the
import of clarray. `clarray` has a ``__getattr__`` (PEP 562) that calls `resolve` once for each name, which then
is an ordinary attribute. ``dir(clarray)`` and ``clarray.__all__`` have all names from the beginning.
"""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from clarray._api.host_names import numpy_attribute
from clarray._api.small_functions import with_small_calls
from clarray._core.host_fallback import with_host_fallback
from clarray._core.own_frames import boundary
from clarray._core.public_names import publish_name
from clarray._engine.threads import import_whole

__all__ = ["MODULES", "NAMES", "resolve", "load_all"]

# The names that each module exports; a test compares them with its `__all__`.
CHAPTERS = {
    "clarray._api.configuration": "show_config",
    "clarray._numpy.creation.from_data": "frombuffer fromfunction fromiter fromstring",
    "clarray._numpy.creation.requiring": "asarray_chkfinite isfortran require",
    "clarray._numpy.indexing.diagonals": "diag diagflat fill_diagonal tri tril triu",
    "clarray._numpy.indexing.index_tables": "ix_ indices ndindex ndenumerate unravel_index ravel_multi_index",
    "clarray._numpy.indexing.index_tricks": "c_ index_exp mgrid ogrid r_ s_",
    "clarray._numpy.indexing.iterating": "nditer nested_iters",
    "clarray._numpy.indexing.triangles": (
        "tril_indices tril_indices_from triu_indices triu_indices_from mask_indices diag_indices diag_indices_from"
    ),
    "clarray._numpy.kernels.kernels": "ElementwiseKernel ReductionKernel ScanKernel",
    "clarray._numpy.kernels.raw": "RawKernel RawModule",
    "clarray._numpy.manipulation.applying": "apply_along_axis apply_over_axes frompyfunc piecewise vectorize",
    "clarray._numpy.manipulation.blocks": "block",
    "clarray._numpy.manipulation.inserting": "insert trim_zeros",
    "clarray._numpy.manipulation.padding": "pad",
    "clarray._numpy.manipulation.splitting": "array_split dsplit hsplit split unstack vsplit",
    "clarray._numpy.math.bits": "packbits unpackbits",
    "clarray._numpy.math.calculus": "angle gradient unwrap",
    "clarray._numpy.math.convolution": "convolve correlate",
    "clarray._numpy.math.interpolation": "interp",
    "clarray._numpy.math.logic": (
        "allclose array_equal array_equiv fix isclose iscomplex isneginf isposinf isreal nan_to_num real_if_close"
    ),
    "clarray._numpy.math.window_functions": "bartlett blackman hamming hanning i0 kaiser sinc",
    "clarray._numpy.sorting.sets": (
        "intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts unique_inverse unique_values"
    ),
    "clarray._numpy.statistics.averages": "average corrcoef cov",
    "clarray._numpy.statistics.counting": "bincount",
    "clarray._numpy.statistics.histograms": "digitize histogram histogram2d histogram_bin_edges histogramdd",
    "clarray._numpy.statistics.quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
    "clarray.lib.polynomial_object": "poly1d",
    "clarray.lib.polynomial_roots": "poly polyfit roots",
    "clarray.lib.polynomials": "polyadd polyder polydiv polyint polymul polysub polyval vander",
}
NAMES = {name: module for module, names in CHAPTERS.items() for name in names.split()}

MODULES = {name: f"clarray.{name}" for name in ("fft", "lib", "linalg", "ndimage", "random", "testing")}
MODULES |= {"emath": "clarray.lib.scimath"}


def resolve(namespace: ModuleType, name: str) -> Any:
    """Import the object for a name of `namespace`, clarray, and make it an attribute."""
    if name in MODULES:
        return import_whole(MODULES[name])
    if name not in NAMES:
        return numpy_attribute(name)
    value = with_small_calls(name, getattr(import_whole(NAMES[name]), name))
    value = with_host_fallback(value, getattr(np, name, None), namespace.__name__)
    if type(value) is FunctionType:
        value = boundary(value)
    publish_name(namespace.__name__, name, value)
    return vars(namespace).setdefault(name, value)  # simultaneous accesses get the same object


def load_all(namespace: ModuleType) -> None:
    """Make attributes of all names, for iterations over the namespace."""
    for name in NAMES:
        if name not in vars(namespace):
            resolve(namespace, name)
