"""Device memory: the handle of a block, which returns it to its pool when dropped, and memory that is the user's.

Taking and returning a block are single list operations, so they need no lock and may happen in any
thread, the garbage collector's included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from clarray._engine.runtime import profiling
from clarray._engine.runtime.capture import abort_capture
from clarray._engine.speedups import accelerated

if TYPE_CHECKING:
    from clarray._engine.runtime.device import Device
    from clarray._engine.runtime.host_read_cache import Mirror

SMALLEST = 128  # the alignment too: a vector of 16 doubles, and Intel's threshold for zero-copy
FINE = 2048  # up to here every multiple of that is a size
CHECKED = 64 << 20  # blocks from this size on are held against the memory that is left
FLAGS = cl.mem_flags.READ_WRITE


def size_class(nbytes: int) -> int:
    """Round up to a multiple of the smallest block, and to one of eight sizes per power of two.

    Examples
    --------
    >>> size_class(0), size_class(129), size_class(5000)
    (128, 256, 5120)
    """
    if nbytes <= FINE:
        return (nbytes + SMALLEST - 1) & -SMALLEST or SMALLEST
    step = 1 << ((nbytes - 1).bit_length() - 4)
    return -(-nbytes // step) * step


def own(device: Device, buffer: cl.Buffer) -> cl.Buffer:
    """Mark a buffer with its device: launches look at it, in a process that has opened several."""
    buffer.start = 0  # of its bytes in host memory: its block says where
    buffer.device = device
    return buffer


class Block:
    """One allocation: a buffer, its size, the host bytes under it, and the list it returns to."""

    __slots__ = ("buffer", "handle", "size", "host", "home", "typed", "start")

    def __init__(self, buffer: cl.Buffer, size: int, host: np.ndarray | None, home: list[Block] | None) -> None:
        self.buffer = buffer
        self.handle = buffer.int_ptr
        self.size = size
        self.host = host
        self.home = home
        self.start = buffer.start = 0 if host is None else host.ctypes.data  # of the host bytes
        self.typed: dict[str, np.ndarray] = {}  # the host bytes as elements of a dtype, by its character


# The default is bound early: while Python shuts down, names of the module are gone.
@accelerated
def give_back(memory: Memory, large: int = CHECKED) -> None:
    """Return a memory's block to the pool, as the last reference to the memory is dropped."""
    try:
        block = memory._block
    except AttributeError:  # an interrupt has come before there was one
        return
    if block.home is None:
        memory.device.let_go(block, memory._keep)
    else:
        block.home.append(block)
        if block.size >= large:
            memory.device.pool.trim()


class Memory:
    """A piece of a device's memory; dropping the last reference returns it to the pool.

    Attributes
    ----------
    buffer : pyopencl.Buffer
        What kernels are given.
    handle : int
        The same, as OpenCL knows it.
    nbytes : int
        Bytes asked for; the buffer may be longer.
    device : Device
        Whose memory it is.
    shared : bool
        The memory is the user's: a later write to it must not change an earlier result.
    writeable : bool
        False where the user's array is read-only.
    readers : list
        For the layer above: weak references of pending expressions that read this memory.
    views : list of weakref, or None
        For the layer above: what looks at this memory, but for what it was made for; dead ones included.
    facts : dict or None
        For the layer above: what is known of the values here.
    mirror : tuple of int and bytes, or None
        What the host keeps of the bytes, see `runtime.host_read_cache`.
    cost : int
        1 for small memory, up to 65 for all of the device's: the weight of keeping it alive.
    """

    __slots__ = (
        "buffer",
        "handle",
        "nbytes",
        "device",
        "shared",
        "writeable",
        "readers",
        "views",
        "facts",
        "mirror",
        "cost",
        "_block",
        "_keep",
        "__weakref__",
    )

    def __init__(self, device: Device, block: Block, nbytes: int, cost: int) -> None:
        self.buffer = block.buffer
        self.handle = block.handle
        self.nbytes = nbytes
        self.device = device
        self.shared = False
        self.writeable = True
        self.readers: list[Any] = []
        self.views: Any = None
        self.facts: dict[Any, Any] | None = None
        self.mirror: Mirror | None = None
        self.cost = cost
        self._block = block
        self._keep: Any = None

    def forget(self) -> None:
        """Know nothing of the values any more: whoever writes to the memory says so, when the write begins."""
        self.facts = self.mirror = None
        capture = profiling.state.capture
        if capture is not None:
            capture.overwritten(self)

    @property
    def host(self) -> np.ndarray | None:
        """The bytes as a uint8 array on devices that work in host memory, else None.

        Call `Device.synchronize` first. The array keeps this memory from being reused.
        """
        if self._block.host is None:
            return None
        abort_capture()
        return np.asarray(self)

    @property
    def bytes(self) -> np.ndarray:
        """The block's bytes in host memory; unlike `host`, nothing here keeps the block."""
        host = self._block.host
        if host is None:
            raise RuntimeError(f"{self.device} does not work in host memory")
        abort_capture()
        return host

    def elements(self, dtype: np.dtype) -> np.ndarray | None:
        """The block's bytes in host memory as elements of a dtype, else None; nothing here keeps the block."""
        block = self._block
        found = block.typed.get(dtype.char)
        if found is None and block.host is not None:
            whole = block.host[: block.host.size // dtype.itemsize * dtype.itemsize]
            found = block.typed[dtype.char] = whole.view(dtype)
        if found is not None and profiling.state.capture is not None:
            abort_capture()
        return found

    @property
    def address(self) -> int:
        """Where the bytes start in host memory; only on devices that work in host memory."""
        return int(self.bytes.__array_interface__["data"][0])

    @property
    def __array_interface__(self) -> dict[str, Any]:
        host = self._block.host
        if host is None:
            raise AttributeError("__array_interface__")  # not host memory: NumPy must look elsewhere
        interface: dict[str, Any] = host.__array_interface__
        return {
            "data": (interface["data"][0], not self.writeable),
            "shape": (self.nbytes,),
            "typestr": "|u1",
            "version": 3,
        }

    __del__ = give_back

    def __repr__(self) -> str:
        kind = "shared " if self.shared else ""
        return f"<{kind}memory of {self.nbytes} bytes on {self.device}>"


class _Extent:
    """Host bytes by address, for NumPy; writable whatever the array they came from allows.

    Buffers are made READ_WRITE, since one runtime silently copies read-only ones; nothing writes to
    memory whose `writeable` is False.
    """

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, address: int, nbytes: int, owner: Any) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "data": (address, False),
            "shape": (nbytes,),
            "typestr": "|u1",
            "version": 3,
        }


def wrap(device: Device, array: np.ndarray) -> Memory:
    """Make the bytes of an array the memory of a device, from the aligned address before its lowest element on.

    Kernels take the offset of an element for its alignment, and compilers emit stores that fault on memory that is not
    aligned so. NumPy aligns memory to 16 bytes, and a slice or a foreign buffer begins anywhere.
    """
    if not array.nbytes:
        one = np.zeros(1, np.uint8)
        return _foreign(device, over(device, one), 0, one, array.flags.writeable, array)
    host = _from_aligned(*np.lib.array_utils.byte_bounds(array), array)
    return _foreign(device, over(device, host), host.size, host, array.flags.writeable, array)


def _from_aligned(low: int, high: int, owner: object) -> np.ndarray:
    """Return the bytes between two addresses, and up to 127 unused ones before, which lie in the same page."""
    start = low - low % SMALLEST
    return np.asarray(_Extent(start, high - start, owner))


def over(device: Device, host: np.ndarray) -> cl.Buffer:
    """Make a buffer over host memory.

    PoCL refuses one that is longer than what it calls its largest allocation, a quarter of the memory or less. But it
    gives kernels the address as it is, whatever the buffer's length, and nothing else here looks at the buffer: what
    lies behind its end is the same memory. So there it ends earlier than the memory.
    """
    size = host.size
    if device.backend.takes_longer_memory and size > device.pool.largest:
        size = device.pool.largest
    return own(device, cl.Buffer(device.context, FLAGS | cl.mem_flags.USE_HOST_PTR, size, host))


def adopt(device: Device, buffer: cl.Buffer) -> Memory:
    """Make someone else's buffer, of the same context, the memory of a device."""
    host = None
    if device.capabilities.host_memory:  # mapping tells where the bytes are; they stay there
        both = cl.map_flags.READ | cl.map_flags.WRITE
        shape = (buffer.size,)
        mapped, _ = cl.enqueue_map_buffer(device.main.commands, buffer, both, 0, shape, np.dtype(np.uint8))
        start = mapped.ctypes.data
        host = _from_aligned(start, start + buffer.size, buffer)
        mapped.base.release(device.main.commands)
        if host.size > buffer.size:  # theirs begins in the middle: it is over memory that is not aligned
            return _foreign(device, over(device, host), host.size, host, True, buffer)
    ours = own(device, cl.Buffer.from_int_ptr(buffer.int_ptr, True))
    return _foreign(device, ours, buffer.size, host, True, buffer)


def _foreign(
    device: Device,
    buffer: cl.Buffer,
    nbytes: int,
    host: np.ndarray | None,
    writeable: bool,
    owner: object,
) -> Memory:
    """Make memory that never enters the pool."""
    block = Block(buffer, nbytes, host, None)
    device.take_in(block)
    memory = Memory(device, block, nbytes, device.pool.cost(nbytes))
    memory.shared = True
    memory.writeable = writeable
    memory._keep = owner
    return memory
