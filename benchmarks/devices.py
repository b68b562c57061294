"""Measure work on two devices at once, a thread for each, and copies from one device to the other.

Work: the time of each device alone, of two threads at once, and how many times as much is done in that: 2 is all of
both devices. Two CPU runtimes share their cores, and show what is lost by sharing.
Copies: GB/s. *floor* are the driver's own copies between a device and memory that it has pinned, or that the other
device's driver has, a call for 4 MiB.
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl

import clarray
from clarray._engine.runtime import Device

ROUNDS = 7
GATE = 1.9  # times one device's work, that two threads on two do
MIB = 1 << 20
PIECE = 4 * MIB
ELEMENTS = {"cpu": 1 << 22, "gpu": 1 << 28}  # of the arrays that are worked on
SIDE = {"cpu": 768, "gpu": 8192}  # of the matrices
COPIED = {"cpu": (1, 16, 256), "gpu": (1, 16, 256, 1024)}  # MiB

Work = Callable[[], None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--devices",
        help="two numbers or names, with a comma, as in nvidia:0,nvidia:1 (default: two GPUs, else the first two)",
    )
    parser.add_argument("--brief", action="store_true", help="of the copies those between devices and to the host only")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    asked = parser.parse_args()
    pair = chosen(asked.devices)
    for number, device in enumerate(pair):
        memory = "the host's memory" if device.capabilities.host_memory else "memory of its own"
        print(f"{number}: {device}, {device.capabilities.compute_units} units, {memory}")
    print(f"\n{'work':24} {'0 alone':>10} {'1 alone':>10} {'at once':>10} {'times one':>10}   ms, of {asked.rounds}")
    reached = [name for name in WORKS if show_work(name, pair, asked.rounds) >= GATE]
    print(f"\n{len(reached)} of {len(WORKS)} at {GATE} times one or more: {', '.join(reached)}")
    print(f"\n{'copy':40} " + " ".join(f"{size:>6} MiB" for size in COPIED[kind(pair)]) + "   GB/s, best")
    for name, sizes in copies(pair, asked.rounds, asked.brief).items():
        print(f"{name:40} " + " ".join(f"{rate:10.2f}" for rate in sizes))


def chosen(names: str | None) -> list[Device]:
    """Give the two devices that are meant."""
    listed = clarray.devices()
    if names:
        with_names = [next(iter(_found(name.strip()))) for name in names.split(",")]
    else:
        gpus = [device for device in listed if device.capabilities.kind == "gpu"]
        with_names = (gpus if len(gpus) > 1 else listed)[:2]
    if len(with_names) != 2 or with_names[0] is with_names[1]:
        raise SystemExit(f"two devices are needed; there are {listed}")
    return with_names


def _found(name: str) -> list[Device]:
    with clarray.device(name) as device:
        return [device]


def kind(pair: list[Device]) -> str:
    return "gpu" if all(device.capabilities.kind == "gpu" for device in pair) else "cpu"


# Work ---------------------------------------------------------------------------------------------


def arithmetic(device: Device, size: int, side: int) -> Work:
    x = clarray.full(size, 0.5, clarray.float32, device=device)

    def work() -> None:
        for _ in range(4):
            clarray.sin(clarray.exp(clarray.sin(clarray.exp(x)))).evaluate()

    return work


def passes(device: Device, size: int, side: int) -> Work:
    x, y = (clarray.full(size, value, clarray.float32, device=device) for value in (1.5, 2.5))

    def work() -> None:
        for _ in range(8):
            (x * y + x).evaluate()

    return work


def sums(device: Device, size: int, side: int) -> Work:
    x = clarray.full(size, 1.5, clarray.float32, device=device)
    return lambda: [(x * 2).sum().item() for _ in range(8)]  # type: ignore[return-value]


def products(device: Device, size: int, side: int) -> Work:
    a = clarray.full((side, side), 0.01, clarray.float32, device=device)
    return lambda: [(a @ a).evaluate() for _ in range(2)]  # type: ignore[return-value]


def sorting(device: Device, size: int, side: int) -> Work:
    with clarray.device(device):
        x = clarray.random.default_rng(1).random(size // 4, clarray.float32).evaluate()
    return lambda: clarray.sort(x).evaluate()  # type: ignore[return-value]


def statements(device: Device, size: int, side: int) -> Work:
    x = clarray.full(10_000, 1.5, clarray.float32, device=device)

    def work() -> None:
        y = x
        for _ in range(500):
            y = (x + y).evaluate()

    return work


def there_and_back(device: Device, size: int, side: int) -> Work:
    host = np.ones(size // 2, np.float32)
    return lambda: clarray.array(host, device=device).get()  # type: ignore[return-value]


WORKS: dict[str, Callable[[Device, int, int], Work]] = {
    "4 chains of sin and exp": arithmetic,
    "8 passes": passes,
    "8 sums": sums,
    "2 matrix products": products,
    "sort": sorting,
    "500 small statements": statements,
    "copy there and back": there_and_back,
}


def show_work(name: str, pair: list[Device], rounds: int) -> float:
    """Print a line, and give how many times one device's work two threads do in the same time."""
    chose = kind(pair)
    works = [WORKS[name](device, ELEMENTS[chose], SIDE[chose]) for device in pair]

    def alone(number: int) -> None:
        works[number]()
        clarray.synchronize(pair[number])

    def at_once() -> None:
        threads = [threading.Thread(target=alone, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    taken: list[list[float]] = [[], [], []]
    ways: tuple[Work, ...] = (lambda: alone(0), lambda: alone(1), at_once)
    for turn in range(rounds + 2):
        for way, times in zip(ways, taken, strict=True):
            start = time.perf_counter()
            way()
            if turn > 1:  # before, programs are compiled and memory is taken
                times.append(time.perf_counter() - start)
    first, second, both = (statistics.median(times) * 1e3 for times in taken)
    times_one = (first + second) / both
    print(f"{name:24} {first:10.2f} {second:10.2f} {both:10.2f} {times_one:10.2f}", flush=True)
    return times_one


# Copies -------------------------------------------------------------------------------------------


def copies(pair: list[Device], rounds: int, brief: bool) -> dict[str, list[float]]:
    """GB/s of each way to copy, by size."""
    found: dict[str, list[float]] = {}
    for size in COPIED[kind(pair)]:
        for name, (work, times) in ways_to_copy(pair, size * MIB, brief).items():
            best = min(seconds(work) for _ in range(rounds + 1))
            found.setdefault(name, []).append(times * size * MIB / best / 1e9)
    return found


def seconds(work: Work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ways_to_copy(pair: list[Device], nbytes: int, brief: bool) -> dict[str, tuple[Work, int]]:
    """What copies so many bytes, and how many times so many."""
    host = np.ones(nbytes, np.uint8)
    arrays = [clarray.array(host, device=device) for device in pair]

    def across(here: int) -> Work:
        return lambda: arrays[here].to_device(pair[1 - here])  # type: ignore[return-value]

    def both_ways() -> None:
        threads = [threading.Thread(target=across(number)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    ways: dict[str, tuple[Work, int]] = {
        "device 0 to device 1": (across(0), 1),
        "device 1 to device 0": (across(1), 1),
        "both ways, two threads": (both_ways, 2),
        "device 0 to host to device 1": (lambda: _by_the_host(arrays[0], pair[1]), 1),
    }
    for number, device in enumerate(pair):
        ways[f"host to device {number}"] = (lambda device=device: clarray.array(host, device=device).evaluate(), 1)
        ways[f"device {number} to host"] = (arrays[number].get, 1)
    return ways if brief else ways | floors(pair, nbytes)


def _by_the_host(array: Any, device: Device) -> None:
    clarray.array(array.get(), device=device).evaluate()


def floors(pair: list[Device], nbytes: int) -> dict[str, tuple[Work, int]]:
    """The driver's copies between devices and pinned memory, where there are devices with memory of their own."""
    if any(device.capabilities.host_memory for device in pair):
        return {}
    pinned = [_pinned(device) for device in pair]
    buffers = [cl.Buffer(device.context, cl.mem_flags.READ_WRITE, nbytes) for device in pair]
    queues = [device.main.commands for device in pair]

    def move(number: int, slot: np.ndarray, out: bool) -> Work:
        def work() -> None:
            for at in range(0, nbytes, PIECE):
                part = slot[: min(PIECE, nbytes - at)]
                if out:
                    cl.enqueue_copy(queues[number], part, buffers[number], src_offset=at, is_blocking=False)
                else:
                    cl.enqueue_copy(queues[number], buffers[number], part, dst_offset=at, is_blocking=False)
            queues[number].finish()

        return work

    ways: dict[str, tuple[Work, int]] = {}
    for number in range(2):
        for whose in range(2):
            slot, said = pinned[whose], "its" if whose == number else "the other's"
            ways[f"floor: {said} pinned memory to device {number}"] = (move(number, slot, False), 1)
            ways[f"floor: device {number} to {said} pinned memory"] = (move(number, slot, True), 1)
    return ways


def _pinned(device: Device) -> np.ndarray:
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
    buffer = cl.Buffer(device.context, flags, PIECE)
    both = cl.map_flags.READ | cl.map_flags.WRITE
    array, _ = cl.enqueue_map_buffer(device.main.commands, buffer, both, 0, (PIECE,), np.dtype(np.uint8))
    _kept.append(buffer)
    return array


_kept: list[cl.Buffer] = []

if __name__ == "__main__":
    main()
