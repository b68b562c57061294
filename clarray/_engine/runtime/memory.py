"""Device memory: handles that return their block to the pool when dropped, and memory that belongs to the user.

Taking and returning a block are single list operations. They need no lock, and may happen in any thread and inside the
garbage collector.
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
    from clarray._engine.runtime.host_read_cache import CachedBytes

SMALLEST_BLOCK = 128  # bytes, and the alignment: a vector of 16 doubles, and Intel's threshold for zero-copy
FINE_LIMIT = 2048  # bytes, up to which every multiple of `SMALLEST_BLOCK` is a size class
CHECKED_BYTES = 64 << 20  # from this size on a new block is checked against the available memory
FLAGS = cl.mem_flags.READ_WRITE


def size_class(nbytes: int) -> int:
    """Round up to a multiple of the smallest block, and above `FINE_LIMIT` to one of eight sizes per power of two.

    Examples
    --------
    >>> size_class(0), size_class(129), size_class(5000)
    (128, 256, 5120)
    """
    if nbytes <= FINE_LIMIT:
        return (nbytes + SMALLEST_BLOCK - 1) & -SMALLEST_BLOCK or SMALLEST_BLOCK
    step = 1 << ((nbytes - 1).bit_length() - 4)
    return -(-nbytes // step) * step


def tag_with_device(device: Device, buffer: cl.Buffer) -> cl.Buffer:
    """Set the device of a buffer. Launches check it in a process that has opened several devices."""
    buffer.start = 0  # the address in host memory, which `Block` sets
    buffer.device = device
    return buffer


class Block:
    """An allocation: a buffer, its size, its host bytes if it works in host memory, and its free list."""

    __slots__ = ("buffer", "handle", "size", "host", "home", "typed", "start")

    def __init__(self, buffer: cl.Buffer, size: int, host: np.ndarray | None, home: list[Block] | None) -> None:
        self.buffer = buffer
        self.handle = buffer.int_ptr
        self.size = size
        self.host = host
        self.home = home
        self.start = buffer.start = 0 if host is None else host.ctypes.data  # the address of the host bytes
        self.typed: dict[str, np.ndarray] = {}  # views of the host bytes by the character of a dtype


# The default of `large` is bound early, since names of the module are gone while Python shuts down.
@accelerated
def give_back(memory: Memory, large: int = CHECKED_BYTES) -> None:
    """Return the block of a memory to the pool. This is the finalizer of `Memory`."""
    try:
        block = memory._block
    except AttributeError:  # an interrupt came before the block was set
        return
    if block.home is None:
        memory.device.release_foreign(block, memory._keep)
    else:
        block.home.append(block)
        if block.size >= large:
            memory.device.pool.trim()


class Memory:
    """A range of device memory, which returns to the pool when its last reference is dropped.

    Attributes
    ----------
    buffer : pyopencl.Buffer
        The argument of kernels.
    handle : int
        OpenCL's handle of the buffer.
    nbytes : int
        The requested bytes. The buffer may be longer.
    device : Device
        The device that owns the memory.
    shared : bool
        Whether the memory belongs to the user: a later write to it must not change an earlier result.
    writeable : bool
        False if the user's array is read-only.
    readers : list
        Weak references to pending expressions that read this memory, kept by the layer above.
    views : list of weakref, or None
        Weak references to the views of this memory, kept by the layer above. Dead references may be among them.
    facts : dict or None
        Recorded facts about the values, kept by the layer above.
    mirror : tuple of int and bytes, or None
        Bytes cached on the host, see `runtime.host_read_cache`.
    cost : int
        The weight of keeping the memory alive: see `clarray._engine.weights`.
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
        self.mirror: CachedBytes | None = None
        self.cost = cost
        self._block = block
        self._keep: Any = None

    def forget(self) -> None:
        """Drop recorded facts and cached bytes of the values. Call this when a write to the memory begins."""
        self.facts = self.mirror = None
        capture = profiling.state.capture
        if capture is not None:
            capture.overwritten(self)

    @property
    def is_host(self) -> bool:
        """Whether the block is host memory. Unlike a look at the bytes, this does not abort a capture."""
        return self._block.host is not None

    @property
    def host(self) -> np.ndarray | None:
        """The bytes as a uint8 array on devices that work in host memory, else None.

        Call `Device.synchronize` first. The array keeps the memory alive.
        """
        if self._block.host is None:
            return None
        abort_capture()
        return np.asarray(self)

    @property
    def bytes(self) -> np.ndarray:
        """The block's bytes in host memory. Unlike `host`, the array does not keep the block alive."""
        host = self._block.host
        if host is None:
            raise RuntimeError(f"{self.device} does not work in host memory")
        abort_capture()
        return host

    def elements(self, dtype: np.dtype) -> np.ndarray | None:
        """Return the host bytes of the block as elements of a dtype, else None. The array does not own the block."""
        block = self._block
        elements = block.typed.get(dtype.char)
        if elements is None and block.host is not None:
            whole = block.host[: block.host.size // dtype.itemsize * dtype.itemsize]
            elements = block.typed[dtype.char] = whole.view(dtype)
        if elements is not None and profiling.state.capture is not None:
            abort_capture()
        return elements

    @property
    def address(self) -> int:
        """The host address of the bytes, on devices that work in host memory."""
        return int(self.bytes.__array_interface__["data"][0])

    @property
    def __array_interface__(self) -> dict[str, Any]:
        host = self._block.host
        if host is None:
            raise AttributeError("__array_interface__")  # not host memory, so that NumPy tries other protocols
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
    """Host bytes by address, for NumPy. They are writable even if the user's array is not.

    Buffers are READ_WRITE, since one runtime silently copies read-only buffers. No kernel writes to memory whose
    `writeable` is False.
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
    """Wrap the bytes of an array as memory of a device, from the aligned address before its lowest element on.

    Kernels derive the alignment of an element from its offset, and compilers emit stores that fault on misaligned
    memory. NumPy aligns memory to 16 bytes only, and a slice or a foreign buffer may begin at any byte.
    """
    if not array.nbytes:
        placeholder = np.zeros(1, np.uint8)
        return _unpooled_memory(device, buffer_over(device, placeholder), 0, placeholder, array.flags.writeable, array)
    host = _from_aligned(*np.lib.array_utils.byte_bounds(array), array)
    return _unpooled_memory(device, buffer_over(device, host), host.size, host, array.flags.writeable, array)


def _from_aligned(low: int, high: int, owner: object) -> np.ndarray:
    """Return the bytes between two addresses, and up to 127 unused bytes before them, which are in the same page."""
    start = low - low % SMALLEST_BLOCK
    return np.asarray(_Extent(start, high - start, owner))


def buffer_over(device: Device, host: np.ndarray) -> cl.Buffer:
    """Make a buffer over host memory.

    PoCL refuses buffers above its largest allocation, which is a quarter of the memory or less. But it passes the host
    address to kernels whatever the buffer's length, and clarray uses the buffer in no other way. So with PoCL the
    buffer may end earlier than the memory.
    """
    size = host.size
    if device.backend.accepts_short_buffers and size > device.pool.max_alloc_bytes:
        size = device.pool.max_alloc_bytes
    return tag_with_device(device, cl.Buffer(device.context, FLAGS | cl.mem_flags.USE_HOST_PTR, size, host))


def adopt(device: Device, buffer: cl.Buffer) -> Memory:
    """Wrap a foreign buffer of the same context as memory of a device."""
    host = None
    if device.capabilities.host_memory:  # mapping returns the address of the bytes and does not move them
        both = cl.map_flags.READ | cl.map_flags.WRITE
        shape = (buffer.size,)
        mapped, _ = cl.enqueue_map_buffer(device.main.commands, buffer, both, 0, shape, np.dtype(np.uint8))
        start = mapped.ctypes.data
        host = _from_aligned(start, start + buffer.size, buffer)
        mapped.base.release(device.main.commands)
        if host.size > buffer.size:  # the foreign buffer is over misaligned memory
            return _unpooled_memory(device, buffer_over(device, host), host.size, host, True, buffer)
    ours = tag_with_device(device, cl.Buffer.from_int_ptr(buffer.int_ptr, True))
    return _unpooled_memory(device, ours, buffer.size, host, True, buffer)


def _unpooled_memory(
    device: Device,
    buffer: cl.Buffer,
    nbytes: int,
    host: np.ndarray | None,
    writeable: bool,
    owner: object,
) -> Memory:
    """Make memory that never returns to the pool."""
    block = Block(buffer, nbytes, host, None)
    device.retain_foreign(block)
    memory = Memory(device, block, nbytes, device.pool.cost(nbytes))
    memory.shared = True
    memory.writeable = writeable
    memory._keep = owner
    return memory
