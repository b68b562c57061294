"""Compute discrete Fourier transforms. The functions have the same names as in `numpy.fft`.

>>> import clarray
>>> clarray.fft.fft(clarray.asarray([1.0, 0.0, 0.0, 0.0])).tolist()
[(1+0j), (1+0j), (1+0j), (1+0j)]
"""

import sys as _sys

import numpy.fft as _numpys

from clarray._core.host_fallback import add_host_fallbacks as _add_host_fallbacks
from clarray._core.public_names import publish_names as _publish_names
from clarray.fft.helpers import fftfreq, fftshift, ifftshift, rfftfreq
from clarray.fft.transforms import (
    fft,
    fft2,
    fftn,
    hfft,
    ifft,
    ifft2,
    ifftn,
    ihfft,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftn,
)

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

# NumPy's functions of frequencies take no dtype.
_add_host_fallbacks(_sys.modules[__name__], _numpys, [name for name in __all__ if not name.endswith("fftfreq")])
_publish_names(_sys.modules[__name__], __all__)
