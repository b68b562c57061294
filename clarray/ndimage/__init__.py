"""Filter images with any number of axes. The functions have the same names as in `scipy.ndimage`.

>>> import clarray
>>> x = clarray.zeros(5, clarray.float32)
>>> x[2] = 3
>>> clarray.ndimage.uniform_filter(x, 3).tolist()
[0.0, 1.0, 1.0, 1.0, 0.0]
"""

import sys as _sys
from typing import Any as _Any

from clarray._core.absent_names import absent as _absent
from clarray._core.own_frames import add_boundaries as _add_boundaries
from clarray.ndimage.derivatives import (
    gaussian_gradient_magnitude,
    gaussian_laplace,
    generic_gradient_magnitude,
    generic_laplace,
    laplace,
    prewitt,
    sobel,
)
from clarray.ndimage.linear import (
    convolve,
    convolve1d,
    correlate,
    correlate1d,
)
from clarray.ndimage.ranks import (
    maximum_filter,
    maximum_filter1d,
    median_filter,
    minimum_filter,
    minimum_filter1d,
    percentile_filter,
    rank_filter,
)
from clarray.ndimage.smoothing import gaussian_filter, gaussian_filter1d, uniform_filter, uniform_filter1d

__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
    "generic_gradient_magnitude",
    "generic_laplace",
    "laplace",
    "maximum_filter",
    "maximum_filter1d",
    "median_filter",
    "minimum_filter",
    "minimum_filter1d",
    "percentile_filter",
    "prewitt",
    "rank_filter",
    "sobel",
    "uniform_filter",
    "uniform_filter1d",
]

_add_boundaries(_sys.modules[__name__], __all__)


def __getattr__(name: str) -> _Any:
    raise _absent(name, f"if SciPy has it, call scipy.ndimage.{name}(clarray.asnumpy(x))", __name__)
