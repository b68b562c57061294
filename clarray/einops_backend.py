"""DeviceArrays in `einops`: importing this module registers them, in einops' own way.

einops looks for a backend among the subclasses of its `AbstractBackend` when it meets a type of array that it
does not know yet; there is no entry point for one, so a user of einops imports this module. The functions
of `einops.array_api` work without it.
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
    """What einops asks of an array library; NumPy's functions, called by the base class, dispatch to clarray."""

    framework_name = "clarray"

    def is_appropriate_type(self, tensor: Any) -> bool:
        """Tell whether a tensor is handled here."""
        return isinstance(tensor, DeviceArray)

    def from_numpy(self, x: Any) -> DeviceArray:
        """Copy an ndarray to the device."""
        return array(x)

    def to_numpy(self, x: DeviceArray) -> Any:
        """Copy an array to the host."""
        return asnumpy(x)

    def arange(self, start: int, stop: int) -> DeviceArray:
        """Give the integers of a range."""
        return arange(start, stop)

    def add_axes(self, x: DeviceArray, n_axes: int, pos2len: dict[int, int]) -> DeviceArray:
        """Repeat along new axes, as a view: what einops does next copies at most once."""
        shape = list(x.shape)
        for position, length in sorted(pos2len.items()):
            x = self.add_axis(x, position)
            shape.insert(position, length)
        return broadcast_to(x, tuple(shape))
