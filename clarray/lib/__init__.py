"""Where NumPy keeps functions outside of its main namespace: ``numpy.lib``."""

from clarray.lib import scimath, stride_tricks

__all__ = ["scimath", "stride_tricks"]
