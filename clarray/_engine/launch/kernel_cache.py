"""The kernel cache of a device: its policies, rendered kernels and prepared launches."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar, TypeVarTuple
from weakref import WeakValueDictionary

from clarray._engine.codegen.arguments import Fields
from clarray._engine.codegen.render import Source
from clarray._engine.expr.node import HostScalar, Node
from clarray._engine.launch.tuned_files import load_tuned
from clarray._engine.ops.templates import keep_templates_in
from clarray._engine.runtime import Device, Kernel, Memory, Program, current_device, different_devices_error, profiling
from clarray._engine.runtime.cache import disk_cache
from clarray._engine.runtime.capture import current_capture, suspended
from clarray._engine.runtime.steps import LaunchEpoch
from clarray._engine.speedups import native
from clarray._engine.tuning import Policies, select

Value = TypeVar("Value")
Args = TypeVarTuple("Args")
_DOUBLE = r"\bdouble\d*\b"
CACHE_LIMIT = 8192  # prepared launches; if there are more, all are dropped
KERNEL_LIMIT = 4096  # rendered kernels, by the key of their sources
PROGRAM_LIMIT = 512  # programs, unless more are used in turn: 0.3 MB each with PoCL, up to 3 MB with Intel's runtime
RELOAD_SECONDS = 120.0  # loading all released programs again takes a tenth of this
NOT_OPTIMIZED = ("-cl-opt-disable",)
LEAST_TILE_WORDS = 1 << 12  # of a tile state
COUNTERS = 1 << 12  # blocks of outputs whose work-groups one launch can count


Sources = tuple[str, Mapping[str, Fields]]  # a program's text, and its kernels' arguments


class Launch(NamedTuple):
    """A kernel with all its arguments. `owner` keeps the memory of its buffers alive until it has been launched."""

    kernel: Kernel
    groups: tuple[int, ...]
    local: tuple[int, ...]
    args: list[Any]
    inline: bool
    nbytes: int
    owner: Any = None

    def run(self) -> None:
        self.kernel.launch(self.groups, self.local, self.args, self.inline, self.nbytes)

    def keep_alive(self, owner: Any) -> Launch:
        """Return the launch with an object that must live until then."""
        return self._replace(owner=owner)


class TileState:
    """Device memory to which the work-groups of a launch publish the states of their tiles.

    Each state is tagged with the epoch of its launch. So states of earlier launches need not be cleared. A captured
    launch gets the next epoch each time that its program runs.

    Parameters
    ----------
    last_epoch : int
        The largest epoch that a tag has room for. The memory is new after it.
    """

    def __init__(self, last_epoch: int) -> None:
        self.memory: Memory | None = None
        self.words = 0
        self.epoch = 0
        self._last_epoch = last_epoch

    def next(self, device: Device, words: int) -> tuple[Memory, LaunchEpoch]:
        """Return memory of at least `words` 64-bit words, and the epoch of the next launch."""
        if self.memory is None or words > self.words or self.epoch == self._last_epoch:
            capture = current_capture()
            if capture is not None:
                with suspended(capture):
                    return self.next(device, words)
            self.words = max(words, 2 * self.words, LEAST_TILE_WORDS)
            self.memory = device.allocate(8 * self.words)
            device.fill_zero(self.memory)
            self.epoch = 0
        self.epoch += 1
        epoch = LaunchEpoch(self.epoch)
        epoch.next = partial(self.next, device, words)
        return self.memory, epoch


class KernelCache:
    """The policies, rendered kernels and prepared launches of a device.

    There are two tables. `prepared` has launches, and its keys include shapes. `rendered` has kernels by what their
    sources depend on: a plan, the structures of the expressions, and which of their inputs are the same. A launch that
    is not prepared looks for its kernel in `rendered`, so a new shape of a known kernel costs only its plan. A kernel
    that is not there either is rendered, and its program is looked up by the text of the source.

    Each table has its own limit, so that many shapes do not drop kernels. Programs use memory of the OpenCL runtime. If
    there are too many of them, both tables are dropped with them.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.capabilities = device.capabilities
        self.policies: Policies = select(self.capabilities, load_tuned(device))
        self.units = self.capabilities.compute_units
        self.prepared: dict[Any, Any] = {}
        self.rendered: dict[Any, Any] = {}
        self._program_limit = PROGRAM_LIMIT
        self._released: dict[int, float] = {}  # hashes of sources, and the time when their program was released
        self._free_zeros: dict[Hashable, list[Memory]] = {}
        # memory that captures refer to and do not allocate, such as zeros, by the identity of its buffer
        self.persistent: WeakValueDictionary[int, Memory] = WeakValueDictionary()
        keep_templates_in(disk_cache("templates"))

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute. Other policies or launches also drop the programs of the native implementation."""
        object.__setattr__(self, name, value)
        if native is not None and name in ("policies", "prepared"):
            native.forget(self.device)

    @cached_property
    def counters(self) -> Memory:
        """Zeros in which work-groups count how many are done. Every launch leaves them zero."""
        return self._zeros(4 * COUNTERS)

    def kernel(self, source: Source) -> Kernel:
        """Return the kernel of a source. Equal sources share one program."""
        kernel = self._program(source.text, {source.name: source.arg_types}).kernel(source.name)
        return kernel if source.fields is None else _with_fields(kernel, source.fields)

    def kernels(self, text: str, fields: Mapping[str, Fields]) -> dict[str, Kernel]:
        """Return the kernels of one program, by name."""
        program = self._program(text, {name: each.kinds for name, each in fields.items()})
        return {name: _with_fields(program.kernel(name), each) for name, each in fields.items()}

    def _program(self, text: str, arg_types: Mapping[str, Sequence[str]]) -> Program:
        """Make the program of a text, or get it."""
        if not self.capabilities.fp64 and re.search(_DOUBLE, text):
            # another device has used the loop, and a loop that is in the cache is not checked for this device
            raise TypeError(
                f"{self.capabilities.name} has no float64: it lacks cl_khr_fp64; convert the "
                "operands to float32, or use another device"
            )
        if len(self.device.sources) >= self._program_limit:
            self._release_programs()
        return self.device.program(text, arg_types, () if self.policies.optimized else NOT_OPTIMIZED)

    def value_for(self, key: Hashable, make: Callable[[*Args], Value], *args: *Args) -> Value:
        """Return the prepared value of a key, made by ``make(*args)`` if there is none.

        The arguments are not in a closure: making one would cost every small launch more time.
        """
        try:
            prepared: Value = self.prepared[key]
            return prepared
        except KeyError:
            pass  # an error of `make` must not have this one as its context
        return self.store_prepared(key, make(*args))

    def kernel_for(self, key: Hashable, make: Callable[[*Args], Source], *args: *Args) -> Kernel:
        """Return the kernel of a key. If there is none, compile the source that ``make(*args)`` renders.

        Parameters
        ----------
        key : hashable
            A word for the algorithm, because two algorithms may have equal plans, and all that the source depends on
            except the device's capabilities: the plan, the signature of every expression, and the pattern of its
            inputs, because a signature does not have which of them are the same.
        """
        key = key, self.policies.optimized
        kernel: Kernel | None = self.rendered.get(key)
        return kernel if kernel is not None else self.store_rendered(key, self.render_kernel(make, *args))

    def render_kernel(self, make: Callable[[*Args], Source], *args: *Args) -> Kernel:
        """Return the kernel of the source that ``make(*args)`` renders."""
        return self.kernel(_render(make, *args))

    def kernels_for(self, key: Hashable, make: Callable[[*Args], Sources], *args: *Args) -> dict[str, Kernel]:
        """Return the kernels of a key by name. If there are none, compile the program that ``make(*args)`` renders."""
        key = key, self.policies.optimized
        kernels: dict[str, Kernel] | None = self.rendered.get(key)
        return kernels if kernels is not None else self.store_rendered(key, self.kernels(*_render(make, *args)))

    def store_rendered(self, key: Hashable, value: Value) -> Value:
        """Store a kernel by what its source depends on, and return it."""
        if len(self.rendered) >= KERNEL_LIMIT:
            self.rendered.clear()
        self.rendered[key] = value
        return value

    def _release_programs(self) -> None:
        """Release all programs, or double their limit if most of them have been released a short time ago.

        A program that is used again is loaded from disk, in a tenth of the time that it took to compile. So no launch
        has to record when a program was last used. If most programs have been released before, more than the limit are
        in use.
        """
        with self.device.lock:
            now, sources = time.monotonic(), list(map(hash, list(self.device.sources)))
            self._released = _since(now - RELOAD_SECONDS, self._released)
            if 2 * sum(source in self._released for source in sources) > len(sources):
                self._program_limit *= 2
            elif len(sources) >= self._program_limit:  # no other thread has released them meanwhile
                self._released.update(dict.fromkeys(sources, now))
                self.prepared.clear()
                self.rendered.clear()
                self.device.release_programs()

    def take_zeros(self, key: Hashable, nbytes: int) -> Memory:
        """Take memory of zeros until `give_zeros`. No other call has it meanwhile, not even a re-entrant one.

        All captures share one memory per key, because their programs do not nest.
        """
        capture = profiling.state.capture
        if capture is not None and capture.is_recording:
            return self.value_for(key, self._zeros, nbytes)
        try:
            return self._free_zeros[key].pop()
        except (KeyError, IndexError):
            return self._zeros(nbytes)

    def give_zeros(self, key: Hashable, memory: Memory) -> None:
        """Give back memory that is zero again once all launches are done."""
        if self.prepared.get(key) is not memory:
            self._free_zeros.setdefault(key, []).append(memory)

    def _zeros(self, nbytes: int) -> Memory:
        """Allocate memory of zeros that the device keeps. A program that is captured now may use it."""
        capture = current_capture()
        if capture is not None:
            with suspended(capture):
                return self._zeros(nbytes)
        memory = self.device.allocate(nbytes)
        self.device.fill_zero(memory)
        self.persistent[id(memory.buffer)] = memory
        return memory

    def store_prepared(self, key: Hashable, value: Value) -> Value:
        """Store a prepared value and return it."""
        if len(self.prepared) >= CACHE_LIMIT:
            self.prepared.clear()
        self.prepared[key] = value
        return value


def _with_fields(kernel: Kernel, fields: Fields) -> Kernel:
    """Set the declaration of a kernel's arguments, and return the kernel."""
    kernel.fields, kernel.arguments = fields, fields.fill
    return kernel


def _since(moment: float, times: dict[int, float]) -> dict[int, float]:
    return {source: at for source, at in times.items() if at > moment}


def _render(make: Callable[[*Args], Value], *args: *Args) -> Value:
    """Return ``make(*args)``, and record its time in the profile."""
    start = time.perf_counter()
    source = make(*args)
    profiling.record("render", make.__name__, 0, time.perf_counter() - start)
    return source


_caches: dict[Device, KernelCache] = {}


def kernel_cache_of(device: Device) -> KernelCache:
    """Return the cache of a device. Its first use creates it."""
    cache = _caches.get(device)
    if cache is None:
        cache = _caches[device] = KernelCache(device)
    return cache


def forget(device: Device) -> None:
    """Drop the cache of a device that is no longer used."""
    _caches.pop(device, None)


def device_of(*nodes: Node) -> Device:
    """Return the device of the memory that nodes are or read, or the current device if there is no memory.

    Raises
    ------
    ValueError
        The memory is on different devices.
    """
    if len(nodes) == 1 and (memory := nodes[0].memory) is not None:  # most calls
        return memory.device
    device: Device | None = None
    seen: set[Node] = set()
    waiting = [*nodes]
    while waiting:
        node = waiting.pop()
        owner = node.memory or (node if isinstance(node, HostScalar) else None)
        if owner is None:
            if node not in seen:
                seen.add(node)
                waiting.extend(node.args)
        elif owner.device is not device:
            if device is not None:
                raise different_devices_error(device, owner.device)
            device = owner.device
            if not Device.several:
                break
    return device if device is not None else current_device()
