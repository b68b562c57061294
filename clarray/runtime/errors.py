"""Errors about a device as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clarray.runtime.device import Device

__all__ = ["DeviceLostError", "different_devices"]


class DeviceLostError(RuntimeError):
    """A device does nothing any more, or was reset: the arrays that were made on it before are gone.

    The first one follows the failure, and names what was launched last; each later use of such an array raises it again
    at once. `clarray.reset` opens the device anew.
    """


def different_devices(one: Device, other: Device) -> ValueError:
    """Make the error for operands that are not all on one device."""
    return ValueError(
        f"operands are on different devices ({one} and {other}): move one with to_device or asarray(..., device=...)"
    )
