"""`python -m clarray.dask worker tcp://scheduler:8786`: a worker for each device of this machine."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import Any

from distributed._signals import wait_for_signals

from clarray.dask.cluster import device_indices
from clarray.dask.worker import OpenCLNanny


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m clarray.dask", description=__doc__)
    parser.add_argument("command", choices=["worker"])
    parser.add_argument("scheduler", nargs="?", help="address; DASK_SCHEDULER_ADDRESS when left out")
    parser.add_argument("--scheduler-file", help="of a scheduler that wrote one")
    parser.add_argument("--devices", help="indices or names, with commas; all GPUs, else the default, when left out")
    parser.add_argument("--nthreads", type=int, default=1, help="of each worker")
    parser.add_argument("--memory-limit", default="auto", help="host memory of each worker")
    parser.add_argument("--device-memory-limit", default="0.8", help="of a GPU: bytes, or a part up to 1")
    parser.add_argument("--local-directory", help="where results are spilled to")
    parser.add_argument("--name", default="", help="workers are called this and a number")
    parser.add_argument("--host", help="address that others reach this machine at")
    parser.add_argument("--interface", help="network interface, instead of an address")
    parser.add_argument("--death-timeout", help="how long to look for the scheduler, as in 60s")
    return parser.parse_args(arguments)


async def run_workers(options: argparse.Namespace) -> int:
    """Run the workers until they finish or this process gets a signal to end."""
    devices = None if options.devices is None else options.devices.split(",")
    memory_limit = options.device_memory_limit
    common_options: dict[str, Any] = {
        "device_memory_limit": float(memory_limit) if memory_limit.replace(".", "", 1).isdigit() else memory_limit,
        **{key: getattr(options, key) for key in ("nthreads", "memory_limit", "local_directory", "host", "interface")},
        **{key: getattr(options, key) for key in ("scheduler_file", "death_timeout")},
    }
    nannies = []
    for number, index in enumerate(device_indices(devices)):
        name = f"{options.name}-{number}" if options.name else None
        nannies.append(OpenCLNanny(options.scheduler, name=name, devices=[index], **common_options))
    all_finished = asyncio.gather(*(_run_until_finished(nanny) for nanny in nannies))
    signalled = asyncio.create_task(wait_for_signals())
    await asyncio.wait([all_finished, signalled], return_when=asyncio.FIRST_COMPLETED)
    if signalled.done():
        await asyncio.gather(*(nanny.close() for nanny in nannies))
    signalled.cancel()
    await all_finished
    return 0


async def _run_until_finished(nanny: OpenCLNanny) -> None:
    await nanny
    await nanny.finished()


def main() -> int:
    """Run the command line."""
    return asyncio.run(run_workers(parse_arguments(sys.argv[1:])))


if __name__ == "__main__":
    sys.exit(main())
