"""NumPy's array on any OpenCL device.

>>> import clarray
>>> x = clarray.arange(10.0)
>>> float((x * 2 + 1).sum())
100.0
"""

from __future__ import annotations

import sys as _sys
import typing as _t

import numpy as _np

from clarray._api import late_names as _late_names
from clarray._api import subclasses as _subclasses
from clarray._api.array_api import *  # noqa: F403
from clarray._api.attaching import attach_namespace as _attach_namespace
from clarray._api.cupy_names import MemoryPool as MemoryPool
from clarray._api.cupy_names import fuse as fuse
from clarray._api.cupy_names import get_default_memory_pool as get_default_memory_pool
from clarray._api.dlpack import *  # noqa: F403
from clarray._api.dtype_functions import *  # noqa: F403
from clarray._api.finite import attach as _attach_checks
from clarray._api.host_names import host_names as _host_names
from clarray._api.host_names import redirect_host_imports as _redirect_host_imports
from clarray._api.interactive import install_display as _install_display
from clarray._api.native_interface import bind as _bind_native
from clarray._api.numpy_names import *  # noqa: F403
from clarray._api.numpy_ufuncs import *  # noqa: F403
from clarray._api.protocols import _adopt as _adopt
from clarray._api.protocols import _rebuild as _rebuild
from clarray._api.protocols import get_array_module as get_array_module
from clarray._api.settings import device as device
from clarray._api.settings import free_memory as free_memory
from clarray._api.settings import memory_info as memory_info
from clarray._api.settings import reset as reset
from clarray._api.settings import synchronize as synchronize
from clarray._api.small_functions import attach_small_calls as _attach_small_calls
from clarray._core.conversion import asnumpy as asnumpy
from clarray._core.creation import *  # noqa: F403
from clarray._core.creation_like import *  # noqa: F403
from clarray._core.device_array import DeviceArray as DeviceArray
from clarray._core.host_fallback import add_host_fallbacks as _add_host_fallbacks
from clarray._core.host_policy import HostFallbackWarning as HostFallbackWarning
from clarray._core.host_policy import config as config
from clarray._core.own_frames import hide_own_frames as _hide_own_frames
from clarray._core.printing import *  # noqa: F403
from clarray._core.sharing import *  # noqa: F403
from clarray._engine.runtime import DeviceLostError as DeviceLostError
from clarray._engine.runtime import devices as devices
from clarray._engine.runtime import set_device as set_device
from clarray._engine.runtime.profiling import profile as profile
from clarray._engine.threads import import_whole as _import_whole
from clarray._engine.threads import require_gil as _require_gil
from clarray._engine.version import __version__ as __version__
from clarray._numpy.creation.files import *  # noqa: F403
from clarray._numpy.creation.sequences import *  # noqa: F403
from clarray._numpy.indexing.flat_iterator import *  # noqa: F403
from clarray._numpy.indexing.gathering import *  # noqa: F403
from clarray._numpy.indexing.masking import *  # noqa: F403
from clarray._numpy.indexing.selecting import *  # noqa: F403
from clarray._numpy.indexing.subscripts import *  # noqa: F403
from clarray._numpy.manipulation.joining import *  # noqa: F403
from clarray._numpy.manipulation.ranks import *  # noqa: F403
from clarray._numpy.manipulation.repeating import *  # noqa: F403
from clarray._numpy.manipulation.shapes import *  # noqa: F403
from clarray._numpy.products.products import *  # noqa: F403
from clarray._numpy.reduction.moments import *  # noqa: F403
from clarray._numpy.reduction.nanfunctions import *  # noqa: F403
from clarray._numpy.reduction.reductions import *  # noqa: F403
from clarray._numpy.reduction.scans import *  # noqa: F403
from clarray._numpy.sorting.sorting import *  # noqa: F403

_require_gil()  # after pyopencl, whose import may have turned the GIL on
_attach_small_calls(_sys.modules[__name__])
_add_host_fallbacks(_sys.modules[__name__], _np, list(globals()))
_attach_namespace(_sys.modules[__name__])
_attach_checks(_sys.modules[__name__])
_redirect_host_imports()
_install_display()
_bind_native()


del annotations  # the `from __future__`'s: no name of the package


if _t.TYPE_CHECKING:
    from numpy import typing as typing

    from clarray._api.configuration import *  # noqa: F403
    from clarray._api.host_types import *  # noqa: F403
    from clarray._numpy.creation.from_data import *  # noqa: F403
    from clarray._numpy.creation.requiring import *  # noqa: F403
    from clarray._numpy.indexing.diagonals import *  # noqa: F403
    from clarray._numpy.indexing.index_tables import *  # noqa: F403
    from clarray._numpy.indexing.index_tricks import *  # noqa: F403
    from clarray._numpy.indexing.iterating import *  # noqa: F403
    from clarray._numpy.indexing.triangles import *  # noqa: F403
    from clarray._numpy.kernels.kernels import *  # noqa: F403
    from clarray._numpy.kernels.raw import *  # noqa: F403
    from clarray._numpy.manipulation.applying import *  # noqa: F403
    from clarray._numpy.manipulation.inserting import *  # noqa: F403
    from clarray._numpy.manipulation.padding import *  # noqa: F403
    from clarray._numpy.manipulation.splitting import *  # noqa: F403
    from clarray._numpy.math.bits import *  # noqa: F403
    from clarray._numpy.math.calculus import *  # noqa: F403
    from clarray._numpy.math.convolution import *  # noqa: F403
    from clarray._numpy.math.interpolation import *  # noqa: F403
    from clarray._numpy.math.logic import *  # noqa: F403
    from clarray._numpy.math.window_functions import *  # noqa: F403
    from clarray._numpy.sorting.sets import *  # noqa: F403
    from clarray._numpy.statistics.averages import *  # noqa: F403
    from clarray._numpy.statistics.counting import *  # noqa: F403
    from clarray._numpy.statistics.histograms import *  # noqa: F403
    from clarray._numpy.statistics.quantiles import *  # noqa: F403
    from clarray.lib import scimath
    from clarray.lib.polynomial_object import *  # noqa: F403
    from clarray.lib.polynomial_roots import *  # noqa: F403
    from clarray.lib.polynomials import *  # noqa: F403

    from . import fft as fft
    from . import lib as lib
    from . import linalg as linalg
    from . import ndimage as ndimage
    from . import random as random
    from . import run as run
    from . import testing as testing

    emath = scimath
else:
    _NOTEBOOKS = ("load_ipython_extension", "unload_ipython_extension")  # names that IPython looks up
    __all__ = sorted({name for name in globals() if not name.startswith("_")} | {*_late_names.NAMES, "lib", "linalg"})

    def __getattr__(name: str) -> _t.Any:
        """Import the object for a name on its first access. See `clarray._api.late_names`."""
        try:
            if name == "run" or name in _NOTEBOOKS:
                run = _import_whole("clarray.run")
                return run if name == "run" else getattr(run, name)
            return _late_names.resolve(_sys.modules[__name__], name)
        except AttributeError as error:
            _hide_own_frames(error)
            raise

    def __dir__() -> list[str]:
        own = {*globals(), *_late_names.NAMES, *_late_names.MODULES, "run"}
        return sorted(own | _host_names(own))
