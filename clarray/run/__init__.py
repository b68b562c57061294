"""Run unmodified NumPy programs on a device: ``python -m clarray run script.py``.

`install` has the same effect in the process that calls it. After the call, ``import numpy`` imports clarray in your own
modules. In installed libraries, ``import numpy`` still imports NumPy.
"""

import sys as _sys

from clarray._core.public_names import publish_names as _publish_names
from clarray.run.installation import install, uninstall
from clarray.run.notebooks import load_ipython_extension, unload_ipython_extension

__all__ = ["install", "load_ipython_extension", "uninstall", "unload_ipython_extension"]

_publish_names(_sys.modules[__name__], __all__)
