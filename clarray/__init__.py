"""NumPy's array on any OpenCL device.

>>> import clarray
>>> x = clarray.arange(10.0)
>>> float((x * 2 + 1).sum())
100.0
"""

from __future__ import annotations

from typing import Any as _Any

# The array comes first: the chapters stand on it, and its module imports them itself.
from clarray.array import DeviceArray

# isort: split
from clarray.applying import *  # noqa: F403
from clarray.bits import *  # noqa: F403
from clarray.calculus import *  # noqa: F403
from clarray.compaction import *  # noqa: F403
from clarray.config import HostFallbackWarning, config
from clarray.conversion import asnumpy
from clarray.creation import *  # noqa: F403
from clarray.diagonals import *  # noqa: F403
from clarray.dlpack import *  # noqa: F403
from clarray.dtype_functions import *  # noqa: F403
from clarray.files import *  # noqa: F403
from clarray.flat_iterator import *  # noqa: F403
from clarray.functions import ufuncs_by_name as _ufuncs_by_name
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
from clarray.padding import *  # noqa: F403
from clarray.polynomial_object import *  # noqa: F403
from clarray.polynomials import *  # noqa: F403
from clarray.printing import *  # noqa: F403
from clarray.products import *  # noqa: F403
from clarray.quantiles import *  # noqa: F403
from clarray.reductions import *  # noqa: F403
from clarray.repeating import *  # noqa: F403
from clarray.requirements import *  # noqa: F403
from clarray.runtime import DeviceLostError, devices
from clarray.runtime import use_device as device
from clarray.runtime.profile import profile
from clarray.scans import *  # noqa: F403
from clarray.selecting import *  # noqa: F403
from clarray.sequences import *  # noqa: F403
from clarray.sets import *  # noqa: F403
from clarray.settings import reset, show_config, synchronize
from clarray.sharing import *  # noqa: F403
from clarray.sorting import *  # noqa: F403
from clarray.sources import *  # noqa: F403
from clarray.splitting import *  # noqa: F403
from clarray.statistics import *  # noqa: F403
from clarray.stencils import *  # noqa: F403
from clarray.tapers import *  # noqa: F403
from clarray.version import __version__

globals().update(_ufuncs_by_name())


_MODULES = {name: f"clarray.{name}" for name in ("fft", "lib", "linalg", "ndimage", "random", "testing")}
_MODULES |= {"emath": "clarray.lib.scimath", "typing": "numpy.typing"}


def __getattr__(name: str) -> _Any:
    """Import a module when it is first asked for."""
    if name in _MODULES:
        from importlib import import_module

        return import_module(_MODULES[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
