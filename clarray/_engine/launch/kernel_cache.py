"""What evaluation keeps per device: its policies and the kernels made so far."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, TypeVarTuple
from weakref import WeakValueDictionary

from clarray._engine.codegen.arguments import Fields
from clarray._engine.codegen.render import Source
from clarray._engine.expr.node import HostScalar, Node
from clarray._engine.launch.tuned_files import tuned_of
from clarray._engine.ops.templates import keep_templates_in
from clarray._engine.runtime import Device, Kernel, Memory, Program, current_device, different_devices, profiling
from clarray._engine.runtime.cache import cache_of
from clarray._engine.runtime.capture import abort_capture
from clarray._engine.speedups import core
from clarray._engine.tuning import Policies, select

Value = TypeVar("Value")
Args = TypeVarTuple("Args")
_DOUBLE = r"\bdouble\d*\b"
CACHE_LIMIT = 8192  # prepared launches kept; dropped all at once when there are more
KERNEL_LIMIT = 4096  # kernels kept by what their sources depend on
PROGRAM_LIMIT = 512  # programs kept, if no more are used by turns: 0.3 MB each with PoCL, up to 3 with Intel's runtime
AGAIN = 120.0  # seconds: to load as many again takes a tenth of them
NOT_OPTIMIZED = ("-cl-opt-disable",)
COUNTERS = 1 << 12  # blocks of outputs whose work-groups can be counted at once


Sources = tuple[str, Mapping[str, Fields]]  # a program's text, and its kernels' arguments


class Launch(NamedTuple):
    """One kernel with all its arguments; `keep` is what must live until it has been launched."""

    kernel: Kernel
    groups: tuple[int, ...]
    local: tuple[int, ...]
    args: list[Any]
    inline: bool
    nbytes: int
    keep: Any = None

    def run(self) -> None:
        self.kernel.launch(self.groups, self.local, self.args, self.inline, self.nbytes)

    def keeping(self, thing: Any) -> Launch:
        """The launch, with what must live until then."""
        return self._replace(keep=thing)


class KernelCache:
    """Policies of a device, and everything prepared for it, by structure.

    Two tables, asked one after the other: `prepared` has launches by what they depend on, shapes included;
    `rendered` has kernels by what their sources depend on, which are a plan, the structures of the trees, and
    which of their inputs are the same. A source is rendered, and looked up by its text, where both have nothing:
    a new shape of a known kernel costs its plan. Each is bounded by itself, so that many shapes cost no kernels;
    where there are too many programs, whose memory is the runtime's, both are dropped with them.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.capabilities = device.capabilities
        self.policies: Policies = select(self.capabilities, tuned_of(device))
        self.units = self.capabilities.compute_units
        self.prepared: dict[Any, Any] = {}
        self.rendered: dict[Any, Any] = {}
        self._most_programs = PROGRAM_LIMIT
        self._let_go: dict[int, float] = {}  # hashes of sources, and when
        self._free_zeros: dict[Hashable, list[Memory]] = {}
        self.kept: WeakValueDictionary[int, Memory] = WeakValueDictionary()  # zeros, by the identity of the buffer
        keep_templates_in(cache_of("templates"))

    def __setattr__(self, name: str, value: Any) -> None:
        """Where other launches are to be used from now on, the compiled core is told."""
        object.__setattr__(self, name, value)
        if core is not None and name in ("policies", "prepared"):
            core.forget(self.device)

    @cached_property
    def counters(self) -> Memory:
        """Zeros that work-groups count themselves with; every launch leaves them zero."""
        return self._zeros(4 * COUNTERS)

    def kernel(self, source: Source) -> Kernel:
        """The kernel of a source; equal sources share one program."""
        found = self._program(source.text, {source.name: source.arg_types}).kernel(source.name)
        return found if source.fields is None else _filled_by(found, source.fields)

    def kernels(self, text: str, fields: Mapping[str, Fields]) -> dict[str, Kernel]:
        """The kernels of one program, by name."""
        program = self._program(text, {name: each.kinds for name, each in fields.items()})
        return {name: _filled_by(program.kernel(name), each) for name, each in fields.items()}

    def _program(self, text: str, arg_types: Mapping[str, Sequence[str]]) -> Program:
        """Make the program of a text, or get it."""
        if not self.capabilities.fp64 and re.search(_DOUBLE, text):
            # a loop that another device has used, found without asking this one
            raise TypeError(
                f"{self.capabilities.name} has no float64: it lacks cl_khr_fp64; convert the "
                "operands to float32, or use another device"
            )
        if len(self.device.sources) >= self._most_programs:
            self._make_room()
        return self.device.program(text, arg_types, () if self.policies.optimized else NOT_OPTIMIZED)

    def value_for(self, key: Hashable, make: Callable[[*Args], Value], *args: *Args) -> Value:
        """What was prepared under a key, made by ``make(*args)`` where there is nothing yet.

        Arguments are passed rather than held by a closure: making one costs every small launch more.
        """
        try:
            found: Value = self.prepared[key]
            return found
        except KeyError:
            pass  # made outside: an error in the making is no consequence of this one
        return self.keep(key, make(*args))

    def kernel_for(self, key: Hashable, make: Callable[[*Args], Source], *args: *Args) -> Kernel:
        """The kernel kept under a key, of the source that ``make(*args)`` renders.

        Parameters
        ----------
        key : hashable
            Whatever the source depends on, but for the device's capabilities: the plan, the signature of every tree,
            and the pattern of its inputs, since a signature does not tell which of them are one. A word first, as
            two algorithms may have equal plans.
        """
        key = key, self.policies.optimized
        found: Kernel | None = self.rendered.get(key)
        return found if found is not None else self.keep_rendered(key, self.rendered_kernel(make, *args))

    def rendered_kernel(self, make: Callable[[*Args], Source], *args: *Args) -> Kernel:
        """The kernel of the source that ``make(*args)`` renders."""
        return self.kernel(_rendered(make, *args))

    def kernels_for(self, key: Hashable, make: Callable[[*Args], Sources], *args: *Args) -> dict[str, Kernel]:
        """The kernels kept under such a key, of the program that ``make(*args)`` renders, by name."""
        key = key, self.policies.optimized
        found: dict[str, Kernel] | None = self.rendered.get(key)
        return found if found is not None else self.keep_rendered(key, self.kernels(*_rendered(make, *args)))

    def keep_rendered(self, key: Hashable, value: Value) -> Value:
        """Remember a kernel by what its source depends on."""
        if len(self.rendered) >= KERNEL_LIMIT:
            self.rendered.clear()
        self.rendered[key] = value
        return value

    def _make_room(self) -> None:
        """Let go of all programs, and of what holds their kernels.

        What is used again is loaded from the disk, in a tenth of the time that it took to compile; so no launch has to
        note when which program was used last. Where most of the programs had been let go of a short while ago, they are
        used by turns, and twice as many are kept.
        """
        with self.device.lock:
            now, kept = time.monotonic(), list(map(hash, list(self.device.sources)))
            self._let_go = _since(now - AGAIN, self._let_go)
            if 2 * sum(source in self._let_go for source in kept) > len(kept):
                self._most_programs *= 2
            elif len(kept) >= self._most_programs:  # nobody has made room meanwhile
                self._let_go.update(dict.fromkeys(kept, now))
                self.prepared.clear()
                self.rendered.clear()
                self.device.release_programs()

    def take_zeros(self, key: Hashable, nbytes: int) -> Memory:
        """Take memory of zeros, which is the call's own until `give_zeros`: a re-entrant call takes other memory.

        Memory of a capture is kept under the key, for all captures: their programs do not nest.
        """
        capture = profiling.state.capture
        if capture is not None and capture.is_whole:
            return self.value_for(key, self._zeros, nbytes)
        try:
            return self._free_zeros[key].pop()
        except (KeyError, IndexError):
            return self._zeros(nbytes)

    def give_zeros(self, key: Hashable, memory: Memory) -> None:
        """Let the next call have memory that is zero again once all launches are done."""
        if self.prepared.get(key) is not memory:
            self._free_zeros.setdefault(key, []).append(memory)

    def _zeros(self, nbytes: int) -> Memory:
        abort_capture()
        memory = self.device.allocate(nbytes)
        self.device.fill_zero(memory)
        self.kept[id(memory.buffer)] = memory
        return memory

    def keep(self, key: Hashable, value: Value) -> Value:
        """Remember something prepared."""
        if len(self.prepared) >= CACHE_LIMIT:
            self.prepared.clear()
        self.prepared[key] = value
        return value


def _filled_by(kernel: Kernel, fields: Fields) -> Kernel:
    """Have the launches of a kernel give its arguments by name."""
    kernel.arguments = fields.fill
    return kernel


def _since(moment: float, times: dict[int, float]) -> dict[int, float]:
    return {source: at for source, at in times.items() if at > moment}


def _rendered(make: Callable[[*Args], Value], *args: *Args) -> Value:
    """What ``make(*args)`` renders, with the time in the profile."""
    start = time.perf_counter()
    found = make(*args)
    profiling.record("render", make.__name__, 0, time.perf_counter() - start)
    return found


_caches: dict[Device, KernelCache] = {}


def kernel_cache_of(device: Device) -> KernelCache:
    """The cache of a device; made at its first use."""
    found = _caches.get(device)
    if found is None:
        found = _caches[device] = KernelCache(device)
    return found


def forget(device: Device) -> None:
    """Drop the cache of a device that is not used again."""
    _caches.pop(device, None)


def device_of(inputs: Sequence[Node]) -> Device:
    """The device whose memory the inputs are in; the current one if they have none.

    Raises
    ------
    ValueError
        The inputs are on different devices.
    """
    found = None
    for node in inputs:
        owner = node.memory or (node if isinstance(node, HostScalar) else None)
        if owner is not None and owner.device is not found:
            if found is not None:
                raise different_devices(found, owner.device)
            found = owner.device
    return found if found is not None else current_device()
