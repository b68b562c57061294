"""Arrays as buffers for pickles of protocol 5 and for Dask's messages.

`outgoing` returns an array's elements as a buffer, and `incoming` makes an array from a buffer. Other code may write to
the buffer, which must not change earlier results. So a pickle's buffer is a copy, and an array in a buffer of another
owner counts as shared with the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core import creation
from clarray._core.conversion import asnumpy
from clarray._core.device_array import DeviceArray, mark_0d_array, wrap
from clarray._core.host_data import host_view, share
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import EAGER
from clarray._engine.expr.result_layout import view_of
from clarray._engine.expr.view import memory_order, transpose
from clarray._engine.runtime import current_device

__all__ = ["incoming", "outgoing"]

Layout = tuple[str, tuple[int, ...], tuple[int, ...]]  # dtype, shape, and the axes in memory order, the outermost first


def outgoing(array: DeviceArray, copy: bool = True) -> tuple[np.ndarray, Layout]:
    """Return the elements as an ndarray of one axis, and the layout that `incoming` needs.

    As in NumPy's protocol 5, elements without gaps keep the order of their axes. All others are put into C order.

    Parameters
    ----------
    array : DeviceArray
    copy : bool, default True
        False returns the array's own memory if it is host memory without gaps. The ndarray keeps this memory from being
        reused. The caller must not write to it.
    """
    node = evaluate(array._node)
    axes = tuple(range(len(node.shape)) if node.contiguous else memory_order(view_of(node)))
    dense = node.contiguous or transpose(view_of(node), axes).contiguous
    if not dense:
        axes = tuple(range(len(node.shape)))
    host = None
    if node.size and dense and not copy:
        assert node.memory is not None
        node.memory.device.synchronize()
        host = host_view(node)
    if host is None:
        host = asnumpy(array)
    elif not node.memory.writeable:  # type: ignore[union-attr]
        host.flags.writeable = False
    return np.ascontiguousarray(host.transpose(axes)).reshape(-1), (node.dtype.str, node.shape, axes)


def incoming(buffer: Any, layout: Layout, owned: bool = False) -> DeviceArray:
    """Make an array on the current device of what `outgoing` returned, in the buffer itself if that is possible.

    The array is read-only if the buffer is, as in NumPy.

    Parameters
    ----------
    buffer : bytes-like
        The elements of a bytearray are copied. A bytearray may be new from the unpickler, or other code may write to
        it, and expressions of such shared memory are not fused.
    layout : tuple of str, tuple of int, and tuple of int
    owned : bool, default False
        Whether no other code writes to the buffer. Otherwise the buffer is shared with the host, unless it is
        ``bytes``.
    """
    dtype, shape, axes = layout
    host = np.ndarray([shape[axis] for axis in axes], dtype, buffer).transpose(
        [axes.index(k) for k in range(len(axes))]
    )
    node = share(host, current_device()) if owned or type(buffer) is not bytearray else None
    if node is None:
        return creation.array(host)
    if owned or type(buffer) is bytes:
        assert node.memory is not None
        node.memory.shared = False
        node.flags &= ~EAGER
    return mark_0d_array(wrap(node))
