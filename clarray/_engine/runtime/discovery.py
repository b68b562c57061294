"""Find the devices, and select one by name, kind or index.

    platforms -> devices() -> find_device("part of a name" | index) -> current_device()

The first use of a device loads OpenCL. Importing clarray does not.
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
from clarray._engine.runtime.backends import BACKENDS, find_backend
from clarray._engine.runtime.capabilities import KINDS, describe_in_line, kind
from clarray._engine.runtime.device import Device
from clarray._engine.runtime.environment import prepared_environment
from clarray._engine.runtime.install_lines import INTEL_CPU, POCL
from clarray._engine.runtime.memory import Memory
from clarray._engine.speedups import native
from clarray._engine.threads import collector_off, on_large_stack

_NO_DEVICE = (
    f"no OpenCL device found: `{POCL}` (Linux) or `{INTEL_CPU}` for the CPU, or install the OpenCL driver of your "
    "GPU's vendor; `python -m clarray doctor` finds what is wrong with those that are there"
)
_NO_DEVICE_AFTER_FORK = (
    "OpenCL was used before this process was forked and does not work in it: start processes with "
    "multiprocessing's 'spawn' or 'forkserver', or first use clarray after the fork"
)

_FORK_WAIT_SECONDS = 5.0  # the longest time that a fork waits for other threads and PoCL's threads
_EXIT_WAIT_SECONDS = 1.0

_lock = threading.RLock()  # reentrant: the result of a re-entrant call that ends first counts
_forked = False  # this process was forked after the first use of OpenCL, whose threads run in the parent only
_default_lost = False  # the parent's default device does not work here, and no slower one replaces it
_devices: list[Device] | None = None
_default_device: Device | None = None
_device_in_context: ContextVar[Device] = ContextVar("clarray device")


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
    global _devices
    with _lock:
        if _devices is None:
            # In a forked process some drivers crash when their devices are listed.
            usable = [Device(device) for device in _fork_safe_devices] if _forked else _discover()
            if _devices is None:
                _devices = usable
        if not _devices:
            raise RuntimeError(
                _NO_DEVICE_AFTER_FORK if _forked else _NO_DEVICE + "".join(each.no_device_hint() for each in BACKENDS)
            )
        usable = list(_devices)
    private_files.warn()  # without the lock: a filter may raise, and a hook may use devices
    return usable


def opened_devices() -> list[Device]:
    """List the devices that are open in this process, and may have memory in use."""
    return [device for device in Device.alive if "pool" in device.__dict__ and not device.closed]


def find_device(which: str | int | Device | None = None) -> Device:
    """Return a device by its index in `devices`, a part of its name, or its kind.

    Parameters
    ----------
    which : str, int, Device or None
        An index, or a part of the name of a platform or device in any case, or "cpu", "gpu" or "accelerator": the
        current device if it is of this kind, else the first one. The suffix ":1" selects the second match, and so on.
        None is the default of the process: the device of `set_device`, else of CLARRAY_DEVICE, else the first GPU, else
        the first device.
    """
    if isinstance(which, Device):
        return _latest(which)
    if which is None:
        return _default()
    if isinstance(which, str) and not which.strip().lstrip("-").isdigit():
        return _by_name(which.strip())
    candidates = devices()
    index = int(which)
    if not 0 <= index < len(candidates):
        raise ValueError(f"no device {index}{_device_lines()}")
    return candidates[index]


def current_device() -> Device:
    """Return the device of new arrays."""
    device = _device_in_context.get(None) or _default_device
    return _default() if device is None else _latest(device) if device.closed else device


def _latest(device: Device) -> Device:
    """Return the last successor of a device that was reset, or the device."""
    while device.successor is not None:
        device = device.successor
    return device


@contextlib.contextmanager
def use_device(which: str | int | Device | None) -> Iterator[Device]:
    """Make new arrays on this device for a block of code, in this thread or task only; see `clarray.device`."""
    device = find_device(which)
    with collector_off:
        token = _device_in_context.set(device)
    try:
        yield device
    finally:
        with collector_off:
            _device_in_context.reset(token)


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
    global _default_device
    if which is None:
        _default_device = None
        return _default()
    _default_device = find_device(which)
    return _default_device


def reset(which: str | int | Device | None = None) -> Device:
    """Close a device, so that uses of its memory raise, and return a new device for the same hardware."""
    global _devices, _default_device
    old = current_device() if which is None else find_device(which)
    fresh = old.reset()
    with _lock:
        _devices = None if _devices is None else [_latest(device) for device in _devices]
        _default_device = None if _default_device is None else _latest(_default_device)
        if old in _adopted_devices:
            _adopted_devices.remove(old)
    return fresh


def _default() -> Device:
    global _default_device
    if _default_device is None:
        if _default_lost:
            raise RuntimeError(_NO_DEVICE_AFTER_FORK)
        setting = os.environ.get("CLARRAY_DEVICE", "").strip()
        if setting:
            chosen = _by_variable(setting)
        else:
            candidates = devices()
            gpus = [device for device in candidates if kind(device.cl_device) == "gpu"]
            chosen = (gpus or candidates)[0]
        if _default_device is None:
            _default_device = chosen
    return _default_device


def _by_variable(setting: str) -> Device:
    """Return the device that CLARRAY_DEVICE selects."""
    try:
        return find_device(setting)
    except ValueError as error:
        raise ValueError(f"CLARRAY_DEVICE={setting}: {error}") from None


def _by_name(part: str) -> Device:
    """Return the first device that a name matches. "nvidia:1" is the second match, unless a device has this name."""
    candidates = devices()
    word = part.lower()
    if word in KINDS:
        in_use = current_device() if _device_in_context.get(None) or _default_device else None
        if in_use is not None and kind(in_use.cl_device) == word:
            return in_use
    if matches := _match_name(word, candidates):
        return matches[0]
    name, colon, number = word.rpartition(":")
    if colon and number.strip().isdecimal() and (matches := _match_name(name.strip(), candidates)):
        if int(number) < len(matches):
            return matches[int(number)]
        raise ValueError(f"no device {int(number)} is called {name.strip()!r}{_device_lines()}")
    if _forked:
        raise RuntimeError(_NO_DEVICE_AFTER_FORK)
    if word in KINDS:
        raise ValueError(
            f"there is no device of the kind {word!r}{_device_lines()}\nTo see why, run `python -m clarray doctor`"
        )
    raise ValueError(f"no device is called {part!r}{_suggestion(word, candidates)}{_device_lines()}")


def _match_name(word: str, candidates: list[Device]) -> list[Device]:
    """Return the devices of a kind, or else the devices with a word in the platform's name or in their own name.

    The platform goes first: "intel" means Intel's runtime and not PoCL on an Intel CPU.
    """
    matches = [device for device in candidates if kind(device.cl_device) == word]
    for names in (_platform_names, _device_names):
        matches = matches or [d for d in candidates if any(word in name.lower() for name in names(d.cl_device))]
    return matches


def _platform_names(device: cl.Device) -> tuple[str, ...]:
    platform = device.platform
    return platform.name, platform.vendor, platform.version


def _device_names(device: cl.Device) -> tuple[str, ...]:
    return device.name, device.vendor


def _suggestion(mistyped: str, candidates: list[Device]) -> str:
    """Return a text for an error with the name, or the word of a name, that is closest to a mistyped one."""
    names = {name.lower() for d in candidates for name in (*_platform_names(d.cl_device), *_device_names(d.cl_device))}
    words = sorted(
        {*KINDS, *names, *(word for name in names for word in re.split(r"[^a-z0-9]+", name) if len(word) > 2)}
    )
    closest = difflib.get_close_matches(mistyped, words, 1)
    return f"; the nearest name is {closest[0]!r}" if closest else ""


def _device_lines() -> str:
    return "\n".join((".", "The devices are:", *describe_devices()))


def describe_devices(chosen: Device | None = None) -> list[str]:
    """Return a numbered line for each device. A star marks the chosen one."""
    return [
        f" {'*' if d is chosen else ' '} {number}  {describe_in_line(d.cl_device)}"
        for number, d in enumerate(devices())
    ]


def _discover() -> list[Device]:
    opened: list[Device] = []
    all_devices: list[cl.Device] = []
    with prepared_environment(), preflight.starting_drivers(), contextlib.ExitStack() as starts:
        for backend in BACKENDS:
            starts.enter_context(backend.starting(all_devices))
        try:
            platforms = on_large_stack(cl.get_platforms)()
        except cl.Error:  # the loader's error if there are no platforms
            return []
        for platform in platforms:
            try:
                cl_devices = platform.get_devices()
            except cl.Error:  # a driver without its hardware
                continue
            all_devices.extend(cl_devices)
            if cl_devices:
                opened.extend(Device(*pair) for pair in find_backend(cl_devices[0]).pair_devices(cl_devices))
            _fork_safe_devices.extend(device for device in cl_devices if find_backend(device).survives_fork(device))
    _rank(opened)
    return opened


def _rank(opened: list[Device]) -> None:
    """Sort the devices of each backend by their rank. Devices of other backends keep their indices."""
    for backend in BACKENDS:
        indices = [index for index, device in enumerate(opened) if find_backend(device.cl_device) is backend]
        ranked = sorted([opened[index] for index in indices], key=lambda device: backend.rank(device.cl_device))
        for index, device in zip(indices, ranked, strict=True):
            opened[index] = device


def adopt(buffer: cl.Buffer, queue: cl.CommandQueue | None = None) -> Memory:
    """Wrap a foreign buffer without a copy, for example the buffer of a `pyopencl.array.Array`.

    Parameters
    ----------
    buffer : pyopencl.Buffer
        Its context becomes a new `Device`, unless a device already has this context.
    queue : pyopencl.CommandQueue, optional
        The last queue that has written to the buffer. The function waits for it and uses its device.
    """
    context = buffer.get_info(cl.mem_info.CONTEXT)
    if queue is not None:
        queue.finish()
    with _lock:
        device = _find_by_context(context)
        if device is None:
            device = Device(queue.device if queue else context.devices[0], context=context)
            _adopted_devices.append(device)
    return device.adopt(buffer)


def _find_by_context(context: cl.Context) -> Device | None:
    matching = (d for d in Device.alive if not d.closed and d.__dict__.get("context") == context)
    return next(matching, None)


def hold_at_fork(lock: Any) -> None:
    """Hold a lock during forks, so that it is free in the child. It is acquired after the locks of devices."""
    _fork_locks.append(lock)


def _before_fork() -> None:
    """Keep clarray's and PoCL's threads out of OpenCL during a fork: their locks would stay locked in the child."""
    global _busy_at_fork
    deadline = time.monotonic() + _FORK_WAIT_SECONDS
    devices = sorted((device for device in Device.alive if not device.closed), key=id)
    _busy_at_fork = not _try_hold(_lock, deadline)
    for device in devices:
        _busy_at_fork |= (
            not (_try_hold(device.lock, deadline) and _is_idle_by(device, deadline)) and device.backend.works_in_process
        )
    for lock in _fork_locks:
        _try_hold(lock, deadline)
    _busy_at_fork |= not _try_hold(compiling.compile_lock, deadline)


def _try_hold(lock: Any, deadline: float) -> bool:
    """Hold a lock until the fork is over, and return whether it was free before the deadline."""
    acquired = bool(lock.acquire(timeout=max(0.0, deadline - time.monotonic())))
    if acquired:
        _held_locks.append(lock)
    return acquired


def _is_idle_by(device: Device, deadline: float) -> bool:
    """Return whether a device is idle before the deadline. Only PoCL is waited for, whose work runs in threads."""
    if not (device.pending and device.backend.works_in_process):
        return True
    if device.called:
        is_idle = native.is_idle
    else:
        mark = cl.enqueue_marker(device.main.commands)
        device.main.commands.flush()

        def is_idle() -> bool:
            return bool(mark.command_execution_status <= cl.command_execution_status.COMPLETE)

    while not is_idle():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.0002)
    device.finish()
    return True


def _after_fork_in_parent() -> None:
    while _held_locks:
        _held_locks.pop().release()


def _after_fork_in_child() -> None:
    global _lock, _devices, _default_device, _forked, _default_lost, _adopted_devices
    while _held_locks:
        _held_locks.pop().release()
    _lock = threading.RLock()
    if _devices is None and not Device.alive and not _busy_at_fork:  # OpenCL was not used: no device was inherited
        return
    for device in Device.alive:
        if not device.inherited:
            device.disown()
    if _busy_at_fork:
        _fork_safe_devices.clear()
    _default_lost |= _default_device is not None and not _default_device.backend.works_in_process
    _devices, _default_device, _adopted_devices, _forked = None, None, [], True


@atexit.register
def _quiesce_at_exit() -> None:
    """Wait for other threads that use PoCL before its folder is removed, and keep the locks.

    Wait also for other devices that work in host memory: Python frees it, and queued kernels would write to it.
    """
    deadline = time.monotonic() + _EXIT_WAIT_SECONDS
    for device in Device.alive:
        if device.closed:
            continue
        if device.backend.works_in_process:
            if not (_try_hold(device.lock, deadline) and _is_idle_by(device, deadline)):
                device.backend.leave_files()
        elif device.pending and device.capabilities.host_memory:
            with contextlib.suppress(cl.Error, RuntimeError):
                device.synchronize()
    if not _try_hold(compiling.compile_lock, deadline):  # only after an interrupt at the end: else the thread has ended
        for backend in BACKENDS:
            backend.leave_files()


_fork_safe_devices: list[cl.Device] = []  # devices that need no threads, so that they work after a fork
_busy_at_fork = False  # PoCL was in use during the fork, so that its locks stay locked in this process
_fork_locks: list[Any] = []
_held_locks: list[Any] = []
_adopted_devices: list[Device] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
