"""Arrays as bytes that others carry: pickling of protocol 5, which copies neither on the way out nor on the way in.

`outgoing` gives an array's memory as a buffer, `incoming` makes an array on a buffer; where the device does not work in
host memory each of them copies once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core import creation
from clarray._core.conversion import asnumpy
from clarray._core.device_array import DeviceArray, no_number, wrap
from clarray._core.host_data import host_window, share
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import EAGER
from clarray._engine.expr.result_layout import view_of
from clarray._engine.expr.view import memory_order, transpose
from clarray._engine.runtime import current_device

__all__ = ["incoming", "outgoing"]

Layout = tuple[str, tuple[int, ...], tuple[int, ...]]  # dtype, shape, and the axes as they lie, the outermost first


def outgoing(array: DeviceArray) -> tuple[np.ndarray, Layout]:
    """Give the elements as an ndarray of one axis, and what `incoming` needs to know of them.

    It is the array's own memory where that is the host's and without gaps, and keeps it from being reused. As NumPy's
    protocol 5 has it, what has no gaps keeps the order of its axes; all else is put into C order.
    """
    node = evaluate(array._node)
    axes = tuple(range(len(node.shape)) if node.contiguous else memory_order(view_of(node)))
    dense = node.contiguous or transpose(view_of(node), axes).contiguous
    if not dense:
        axes = tuple(range(len(node.shape)))
    host = None
    if node.size and dense:
        assert node.memory is not None
        node.memory.device.synchronize()
        host = host_window(node)
    if host is None:
        host = asnumpy(array)
    elif not node.memory.writeable:  # type: ignore[union-attr]
        host.flags.writeable = False
    return np.ascontiguousarray(host.transpose(axes)).reshape(-1), (node.dtype.str, node.shape, axes)


def incoming(buffer: Any, layout: Layout, owned: bool = False) -> DeviceArray:
    """Make an array on the current device of what `outgoing` gave, in the buffer itself where that is possible.

    As NumPy's, it is read-only where the buffer is.

    Parameters
    ----------
    buffer : bytes-like
    layout : tuple of str, tuple of int, and tuple of int
    owned : bool, default False
        Nobody else will ever write to the buffer. Otherwise what is computed of the array is computed at once.
    """
    dtype, shape, axes = layout
    host = np.ndarray([shape[axis] for axis in axes], dtype, buffer).transpose(
        [axes.index(k) for k in range(len(axes))]
    )
    node = share(host, current_device())
    if node is None:
        return creation.array(host)
    # What the unpickler has made of bytes inside the pickle has no other owner.
    if owned or type(buffer) in (bytes, bytearray):
        assert node.memory is not None
        node.memory.shared = False
        node.flags &= ~EAGER
    return no_number(wrap(node))
