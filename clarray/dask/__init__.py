"""Use device arrays in Dask, in one process or on a cluster of devices.

Importing this module registers `DeviceArray` with Dask.

>>> import clarray.dask
>>> import dask.array as da
>>> x = clarray.dask.ones((1000, 1000), chunks=(500, 500))
>>> (x + x.T).sum(axis=0).compute()[:3]
array([2000., 2000., 2000.])
"""

from __future__ import annotations

import sys as _sys
from importlib.util import find_spec as _find_spec
from typing import Any as _Any

from clarray._core.public_names import publish_names as _publish_names
from clarray.dask.backend import ClarrayBackend as ClarrayBackend
from clarray.dask.backend import arange as arange
from clarray.dask.backend import default_rng as default_rng
from clarray.dask.backend import empty as empty
from clarray.dask.backend import full as full
from clarray.dask.backend import ones as ones
from clarray.dask.backend import register as register
from clarray.dask.backend import zeros as zeros

__all__ = ["ClarrayBackend", "arange", "default_rng", "empty", "full", "ones", "register", "zeros"]

if _find_spec("distributed") is not None:
    from clarray.dask import messages as messages  # registers the serialization of arrays
    from clarray.dask.cluster import LocalOpenCLCluster as LocalOpenCLCluster
    from clarray.dask.worker import OpenCLNanny as OpenCLNanny
    from clarray.dask.worker import OpenCLPlugin as OpenCLPlugin
    from clarray.dask.worker import dask_setup as dask_setup

    __all__ += ["LocalOpenCLCluster", "OpenCLNanny", "OpenCLPlugin", "dask_setup"]

register()
_publish_names(_sys.modules[__name__], __all__)


def __getattr__(name: str) -> _Any:
    if name in ("LocalOpenCLCluster", "OpenCLNanny", "OpenCLPlugin", "dask_setup"):
        raise AttributeError(f"clarray.dask.{name} needs distributed: pip install 'dask[array,distributed]'")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
