"""DeviceArrays in `einops`: importing this module registers them by einops' own mechanism.

For a new type of array, einops searches the subclasses of its `AbstractBackend` for a backend. einops has no entry
points, so its users import this module. The functions of `einops.array_api` work without it.
"""

from __future__ import annotations

from typing import Any

from einops._backends import NumpyBackend

from clarray._core.conversion import asnumpy
from clarray._core.creation import array
from clarray._core.device_array import DeviceArray
from clarray._numpy.creation.sequences import arange
from clarray._numpy.manipulation.shapes import broadcast_to

__all__ = ["ClarrayBackend"]


class ClarrayBackend(NumpyBackend):  # type: ignore[misc] # einops has no annotations here
    """Implement einops' backend. The base class calls NumPy's functions, which dispatch to clarray."""

    framework_name = "clarray"

    def is_appropriate_type(self, tensor: Any) -> bool:
        """Return whether a tensor is a device array."""
        return isinstance(tensor, DeviceArray)

    def from_numpy(self, x: Any) -> DeviceArray:
        """Copy an ndarray to the device."""
        return array(x)

    def to_numpy(self, x: DeviceArray) -> Any:
        """Copy an array to the host."""
        return asnumpy(x)

    def arange(self, start: int, stop: int) -> DeviceArray:
        """Return the integers of a range."""
        return arange(start, stop)

    def add_axes(self, x: DeviceArray, n_axes: int, pos2len: dict[int, int]) -> DeviceArray:
        """Repeat along new axes, as a view, so that einops' next operation copies at most once."""
        shape = list(x.shape)
        for position, length in sorted(pos2len.items()):
            x = self.add_axis(x, position)
            shape.insert(position, length)
        return broadcast_to(x, tuple(shape))
