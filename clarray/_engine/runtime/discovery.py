"""Find the devices, and select one by name, kind or index.

    platforms -> devices() -> find_device("part of a name" | index) -> current_device()

OpenCL is first asked when a device is first needed; importing clarray does not touch it.
"""

from __future__ import annotations

import atexit
import contextlib
import difflib
import os
import re
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import pyopencl as cl

from clarray._engine.runtime import compiling, preflight, private_files
from clarray._engine.runtime.backends import BACKENDS, backend_of
from clarray._engine.runtime.capabilities import KINDS, kind, line_of
from clarray._engine.runtime.device import Device
from clarray._engine.runtime.environment import prepared_environment
from clarray._engine.runtime.install_lines import INTEL_CPU, POCL
from clarray._engine.runtime.memory import Memory
from clarray._engine.speedups import core
from clarray._engine.threads import collector_off, on_large_stack

_NONE_FOUND = (
    f"no OpenCL device found: `{POCL}` (Linux) or `{INTEL_CPU}` for the CPU, or install the OpenCL driver of your "
    "GPU's vendor; `python -m clarray doctor` finds what is wrong with those that are there"
)
_NONE_AFTER_FORK = (
    "OpenCL was used before this process was forked and does not work in it: start processes with "
    "multiprocessing's 'spawn' or 'forkserver', or first use clarray after the fork"
)

_PATIENCE_SECONDS = 5.0  # how long a fork waits for what other threads and PoCL's own do
_PATIENCE_AT_EXIT_SECONDS = 1.0

_lock = threading.RLock()  # of threads; a re-entrant call that has been quicker goes first
_forked = False  # since OpenCL was first asked: the platforms' threads stayed in the parent
_default_lost = False  # the parent's default cannot be had here, and nothing slower stands in for it
_found: list[Device] | None = None
_chosen: Device | None = None
_used: ContextVar[Device] = ContextVar("clarray device")


def devices() -> list[Device]:
    """List the OpenCL devices that can be used. The two CPU devices of PoCL count as one.

    Returns
    -------
    list of Device

    Raises
    ------
    RuntimeError
        There is no OpenCL device. The message says what to install.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.zeros(3, device=0)
    >>> x.device is clarray.devices()[0]
    True
    """
    global _found
    with _lock:
        if _found is None:
            # In a forked process some drivers crash when they are so much as listed.
            found = [Device(device) for device in _surviving] if _forked else _discover()
            if _found is None:
                _found = found
        if not _found:
            raise RuntimeError(_NONE_AFTER_FORK if _forked else _NONE_FOUND + "".join(each.hint() for each in BACKENDS))
        found = list(_found)
    private_files.warn()  # without the lock: a filter may raise, and a hook may use devices
    return found


def opened_devices() -> list[Device]:
    """List the devices that this process has used and can use, and of which it may hold memory."""
    return [device for device in Device.alive if "pool" in device.__dict__ and not device.closed]


def find_device(which: str | int | Device | None = None) -> Device:
    """Give a device by its index in `devices`, part of a name, its kind, or itself.

    Parameters
    ----------
    which : str, int, Device or None
        An index; or a part, in any case, of a platform's or device's name; or "cpu", "gpu" or
        "accelerator": the device in use if it is one, else the first. With ":1" after it the second of
        those, and so on. None is the process's: what `set_device` has set, else CLARRAY_DEVICE, else the
        first GPU, else the first device.
    """
    if isinstance(which, Device):
        return _latest(which)
    if which is None:
        return _default()
    if isinstance(which, str) and not which.strip().lstrip("-").isdigit():
        return _by_name(which.strip())
    listed = devices()
    index = int(which)
    if not 0 <= index < len(listed):
        raise ValueError(f"no device {index}{_listed()}")
    return listed[index]


def current_device() -> Device:
    """Give the device that new arrays are made on."""
    device = _used.get(None) or _chosen
    return _default() if device is None else _latest(device) if device.closed else device


def _latest(device: Device) -> Device:
    """Give what a device's resets have put in its place."""
    while device.successor is not None:
        device = device.successor
    return device


@contextlib.contextmanager
def use_device(which: str | int | Device | None) -> Iterator[Device]:
    """Make new arrays on this device for a block of code, in this thread or task only; see `clarray.device`."""
    device = find_device(which)
    with collector_off:
        token = _used.set(device)
    try:
        yield device
    finally:
        with collector_off:
            _used.reset(token)


def set_device(which: str | int | Device | None) -> Device:
    """Make new arrays on a given device from now on, in all threads of the process.

    A ``with clarray.device(...)`` block takes precedence in its thread or task.

    Parameters
    ----------
    which : str, int, Device or None
        Parameters as in `clarray.device`. None undoes the choice.

    Returns
    -------
    Device
        The device that was chosen.

    Examples
    --------
    >>> import clarray
    >>> chosen = clarray.set_device(0)
    >>> clarray.zeros(4, clarray.float32).device is chosen
    True
    >>> default = clarray.set_device(None)
    """
    global _chosen
    if which is None:
        _chosen = None
        return _default()
    _chosen = find_device(which)
    return _chosen


def reset(which: str | int | Device | None = None) -> Device:
    """Close a device, whose memory raises from then on, and give the one of the same hardware in its place."""
    global _found, _chosen
    old = current_device() if which is None else find_device(which)
    fresh = old.reset()
    with _lock:
        _found = None if _found is None else [_latest(device) for device in _found]
        _chosen = None if _chosen is None else _latest(_chosen)
        if old in _adopted:
            _adopted.remove(old)
    return fresh


def _default() -> Device:
    global _chosen
    if _chosen is None:
        if _default_lost:
            raise RuntimeError(_NONE_AFTER_FORK)
        wanted = os.environ.get("CLARRAY_DEVICE", "").strip()
        if wanted:
            chosen = _by_variable(wanted)
        else:
            listed = devices()
            gpus = [device for device in listed if kind(device.cl_device) == "gpu"]
            chosen = (gpus or listed)[0]
        if _chosen is None:
            _chosen = chosen
    return _chosen


def _by_variable(wanted: str) -> Device:
    """Return the device that the environment names."""
    try:
        return find_device(wanted)
    except ValueError as error:
        raise ValueError(f"CLARRAY_DEVICE={wanted}: {error}") from None


def _by_name(part: str) -> Device:
    """Return the first device that a name stands for. "nvidia:1" is the second one, unless a device is called so."""
    listed = devices()
    wanted = part.lower()
    if wanted in KINDS:
        in_use = current_device() if _used.get(None) or _chosen else None
        if in_use is not None and kind(in_use.cl_device) == wanted:
            return in_use
    if fitting := _called(wanted, listed):
        return fitting[0]
    name, colon, number = wanted.rpartition(":")
    if colon and number.strip().isdecimal() and (fitting := _called(name.strip(), listed)):
        if int(number) < len(fitting):
            return fitting[int(number)]
        raise ValueError(f"no device {int(number)} is called {name.strip()!r}{_listed()}")
    if _forked:
        raise RuntimeError(_NONE_AFTER_FORK)
    if wanted in KINDS:
        raise ValueError(
            f"there is no device of the kind {wanted!r}{_listed()}\nTo see why, run `python -m clarray doctor`"
        )
    raise ValueError(f"no device is called {part!r}{_nearest(wanted, listed)}{_listed()}")


def _called(wanted: str, listed: list[Device]) -> list[Device]:
    """Give the devices of this kind; else those whose platform, else those whose own name holds these letters.

    Platforms first: "intel" means Intel's runtime and not PoCL on an Intel CPU.
    """
    found = [device for device in listed if kind(device.cl_device) == wanted]
    for names in (_platform_names, _device_names):
        found = found or [d for d in listed if any(wanted in name.lower() for name in names(d.cl_device))]
    return found


def _platform_names(device: cl.Device) -> tuple[str, ...]:
    platform = device.platform
    return platform.name, platform.vendor, platform.version


def _device_names(device: cl.Device) -> tuple[str, ...]:
    return device.name, device.vendor


def _nearest(wanted: str, listed: list[Device]) -> str:
    """Return the name, or the word of a name, that is most like a mistyped one, as text for an error."""
    names = {name.lower() for d in listed for name in (*_platform_names(d.cl_device), *_device_names(d.cl_device))}
    words = sorted(
        {*KINDS, *names, *(word for name in names for word in re.split(r"[^a-z0-9]+", name) if len(word) > 2)}
    )
    like = difflib.get_close_matches(wanted, words, 1)
    return f"; the nearest name is {like[0]!r}" if like else ""


def _listed() -> str:
    return "\n".join((".", "The devices are:", *describe_devices()))


def describe_devices(chosen: Device | None = None) -> list[str]:
    """Return a numbered line for each device, the chosen one marked."""
    return [f" {'*' if d is chosen else ' '} {number}  {line_of(d.cl_device)}" for number, d in enumerate(devices())]


def _discover() -> list[Device]:
    found: list[Device] = []
    every: list[cl.Device] = []
    with prepared_environment(), preflight.starting_drivers(), contextlib.ExitStack() as starts:
        for backend in BACKENDS:
            starts.enter_context(backend.starting(every))
        try:
            platforms = on_large_stack(cl.get_platforms)()
        except cl.Error:  # the loader's way to say that there are none
            return []
        for platform in platforms:
            try:
                listed = platform.get_devices()
            except cl.Error:  # a driver without its hardware
                continue
            every.extend(listed)
            if listed:
                found.extend(Device(*pair) for pair in backend_of(listed[0]).paired(listed))
            _surviving.extend(device for device in listed if backend_of(device).survives_fork(device))
    return found


def adopt(buffer: cl.Buffer, queue: cl.CommandQueue | None = None) -> Memory:
    """Use someone else's buffer, a `pyopencl.array.Array`'s say, where it is.

    Parameters
    ----------
    buffer : pyopencl.Buffer
        Its context becomes a `Device` of its own, unless it is one's already.
    queue : pyopencl.CommandQueue, optional
        The queue that has last written the buffer: its device is taken, and it is waited for.
    """
    context = buffer.get_info(cl.mem_info.CONTEXT)
    if queue is not None:
        queue.finish()
    with _lock:
        device = _device_of(context)
        if device is None:
            device = Device(queue.device if queue else context.devices[0], context=context)
            _adopted.append(device)
    return device.adopt(buffer)


def _device_of(context: cl.Context) -> Device | None:
    known = (d for d in Device.alive if not d.closed and d.__dict__.get("context") == context)
    return next(known, None)


def held_at_fork(lock: Any) -> None:
    """Have a lock held while the process is copied, after the devices': the copy gets it free."""
    _more_locks.append(lock)


def _before_fork() -> None:
    """Keep our threads and PoCL's out of OpenCL while the process is copied: their locks would stay locked."""
    global _astir
    deadline = time.monotonic() + _PATIENCE_SECONDS
    devices = sorted((device for device in Device.alive if not device.closed), key=id)
    _astir = not _hold(_lock, deadline)
    for device in devices:
        _astir |= not (_hold(device.lock, deadline) and _rests(device, deadline)) and device.backend.works_in_process
    for lock in _more_locks:
        _hold(lock, deadline)
    _astir |= not _hold(compiling.working, deadline)


def _hold(lock: Any, deadline: float) -> bool:
    """Take a lock until the fork is over; whether it was free in time."""
    taken = bool(lock.acquire(timeout=max(0.0, deadline - time.monotonic())))
    if taken:
        _held.append(lock)
    return taken


def _rests(device: Device, deadline: float) -> bool:
    """Whether a device has done in time what was launched on it; only PoCL's is waited for, which works in threads."""
    if not (device.pending and device.backend.works_in_process):
        return True
    if device.called:
        rests = core.is_idle
    else:
        mark = cl.enqueue_marker(device.main.commands)
        device.main.commands.flush()

        def rests() -> bool:
            return bool(mark.command_execution_status <= cl.command_execution_status.COMPLETE)

    while not rests():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.0002)
    device.finish()
    return True


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop().release()


def _after_fork_in_child() -> None:
    global _lock, _found, _chosen, _forked, _default_lost, _adopted
    while _held:
        _held.pop().release()
    _lock = threading.RLock()
    if _found is None and not Device.alive and not _astir:  # OpenCL has not been touched: nothing was inherited
        return
    for device in Device.alive:
        if not device.inherited:
            device.disown()
    if _astir:
        _surviving.clear()
    _default_lost |= _chosen is not None and not _chosen.backend.works_in_process
    _found, _chosen, _adopted, _forked = None, None, [], True


@atexit.register
def _keep_still() -> None:
    """Stop what other threads do on PoCL before its folder goes, and let nobody in again but this thread.

    Others that work in host memory are waited for: Python frees it, and what is queued would write to it.
    """
    deadline = time.monotonic() + _PATIENCE_AT_EXIT_SECONDS
    for device in Device.alive:
        if device.closed:
            continue
        if device.backend.works_in_process:
            if not (_hold(device.lock, deadline) and _rests(device, deadline)):
                device.backend.abandon()
        elif device.pending and device.capabilities.host_memory:
            with contextlib.suppress(cl.Error, RuntimeError):
                device.synchronize()
    if not _hold(compiling.working, deadline):  # after an interrupt at the end: else its thread has been waited for
        for backend in BACKENDS:
            backend.abandon()


_surviving: list[cl.Device] = []  # those that work without threads that stayed in the parent
_astir = False  # something held on to PoCL while this process was copied, and would wait in it for ever
_more_locks: list[Any] = []
_held: list[Any] = []
_adopted: list[Device] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
