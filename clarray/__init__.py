"""NumPy's array on any OpenCL device."""

from clarray.version import __version__

__all__ = ["__version__"]
