"""NumPy's array on any OpenCL device.

>>> import clarray
>>> x = clarray.arange(10.0)
>>> float((x * 2 + 1).sum())
100.0
"""

from __future__ import annotations

import sys as _sys
import typing as _t
from importlib import import_module as _import_module

from clarray import subclasses as _subclasses
from clarray.applying import *  # noqa: F403
from clarray.array import DeviceArray as DeviceArray
from clarray.attaching import attach_namespace as _attach_namespace
from clarray.bits import *  # noqa: F403
from clarray.calculus import *  # noqa: F403
from clarray.compaction import *  # noqa: F403
from clarray.config import HostFallbackWarning as HostFallbackWarning
from clarray.config import config as config
from clarray.conversion import asnumpy as asnumpy
from clarray.creation import *  # noqa: F403
from clarray.diagonals import *  # noqa: F403
from clarray.dlpack import *  # noqa: F403
from clarray.dtype_functions import *  # noqa: F403
from clarray.files import *  # noqa: F403
from clarray.flat_iterator import *  # noqa: F403
from clarray.gathering import *  # noqa: F403
from clarray.histograms import *  # noqa: F403
from clarray.index_tables import *  # noqa: F403
from clarray.index_tricks import *  # noqa: F403
from clarray.indexing import *  # noqa: F403
from clarray.inserting import *  # noqa: F403
from clarray.inspection import *  # noqa: F403
from clarray.interpolation import *  # noqa: F403
from clarray.joining import *  # noqa: F403
from clarray.kernels import *  # noqa: F403
from clarray.logic import *  # noqa: F403
from clarray.manipulation import *  # noqa: F403
from clarray.nanfunctions import *  # noqa: F403
from clarray.numpy_names import *  # noqa: F403
from clarray.numpy_ufuncs import *  # noqa: F403
from clarray.padding import *  # noqa: F403
from clarray.polynomial_object import *  # noqa: F403
from clarray.polynomials import *  # noqa: F403
from clarray.printing import *  # noqa: F403
from clarray.products import *  # noqa: F403
from clarray.quantiles import *  # noqa: F403
from clarray.reductions import *  # noqa: F403
from clarray.repeating import *  # noqa: F403
from clarray.requirements import *  # noqa: F403
from clarray.runtime import DeviceLostError as DeviceLostError
from clarray.runtime import devices as devices
from clarray.runtime import use_device as _use_device
from clarray.runtime.profile import profile as profile
from clarray.scans import *  # noqa: F403
from clarray.selecting import *  # noqa: F403
from clarray.sequences import *  # noqa: F403
from clarray.sets import *  # noqa: F403
from clarray.settings import reset as reset
from clarray.settings import show_config as show_config
from clarray.settings import synchronize as synchronize
from clarray.sharing import *  # noqa: F403
from clarray.sorting import *  # noqa: F403
from clarray.sources import *  # noqa: F403
from clarray.splitting import *  # noqa: F403
from clarray.statistics import *  # noqa: F403
from clarray.stencils import *  # noqa: F403
from clarray.tapers import *  # noqa: F403
from clarray.version import __version__ as __version__

device = _use_device
_attach_namespace(_sys.modules[__name__])


if _t.TYPE_CHECKING:
    from numpy import typing as typing

    from clarray.lib import scimath

    from . import fft as fft
    from . import lib as lib
    from . import linalg as linalg
    from . import ndimage as ndimage
    from . import random as random
    from . import testing as testing

    emath = scimath
else:
    _MODULES = {name: f"clarray.{name}" for name in ("fft", "lib", "linalg", "ndimage", "random", "testing")}
    _MODULES |= {"emath": "clarray.lib.scimath", "typing": "numpy.typing"}

    def __getattr__(name: str) -> _t.Any:
        """Import a module when it is first asked for."""
        if name in _MODULES:
            return _import_module(_MODULES[name])
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
