"""Arrays as bytes that others carry: pickling of protocol 5, which copies neither on the way out nor on the way in.

`outgoing` gives an array's memory as a buffer, `incoming` makes an array on a buffer; where the device does not work in
host memory each of them copies once.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from clarray._core import creation
from clarray._core.conversion import portable
from clarray._core.device_array import DeviceArray, no_number, wrap
from clarray._core.host_data import host_window, share
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import EAGER
from clarray._engine.expr.view import View
from clarray._engine.runtime import current_device

__all__ = ["incoming", "outgoing"]

Order = Literal["C", "F"]
Layout = tuple[str, tuple[int, ...], Order]  # dtype, shape and order of what a buffer holds


def outgoing(array: DeviceArray) -> tuple[np.ndarray, Layout]:
    """Give the elements as an ndarray of one axis, and what `incoming` needs to know of them.

    It is the array's own memory where that is the host's and without gaps, and keeps it from being reused.
    """
    node = evaluate(array._node)
    view = View(node.shape, node.strides, node.offset)
    order: Order = "F" if view.f_contiguous and not node.contiguous else "C"
    host = None
    if node.size and (node.contiguous or order == "F"):
        assert node.memory is not None
        node.memory.device.synchronize()
        host = host_window(node)
    if host is None:
        host = portable(array)
    elif not node.memory.writeable:  # type: ignore[union-attr]
        host.flags.writeable = False
    return host.reshape(-1, order=order), (node.dtype.str, node.shape, order)


def incoming(buffer: Any, layout: Layout, owned: bool = False) -> DeviceArray:
    """Make an array on the current device of what `outgoing` gave, in the buffer itself where that is possible.

    As NumPy's, it is read-only where the buffer is.

    Parameters
    ----------
    buffer : bytes-like
    layout : tuple of str, tuple of int, and str
    owned : bool, default False
        Nobody else will ever write to the buffer. Otherwise what is computed of the array is computed at once.
    """
    dtype, shape, order = layout
    host = np.ndarray(shape, dtype, buffer, order=order)
    node = share(host, current_device())
    if node is None:
        return creation.array(host)
    # What the unpickler has made of bytes inside the pickle has no other owner.
    if owned or type(buffer) in (bytes, bytearray):
        assert node.memory is not None
        node.memory.shared = False
        node.flags &= ~EAGER
    return no_number(wrap(node))
