"""The command: everything is looked at, printed, and told by the exit status."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from clarray._api.doctor import system
from clarray._api.doctor.children import told_by_child
from clarray._api.doctor.families import FAMILIES
from clarray._api.doctor.findings import NOTE, OK, PROBLEM, Finding, as_dicts, lines
from clarray._api.doctor.hardware import hardware
from clarray._engine.runtime.install_lines import INTEL_CPU, POCL
from clarray._engine.runtime.progress import Progress

__all__ = ["main"]

_REPORT = "please report it with the output of `python -m clarray doctor --json`"

# What drivers say, and what mends it; the first that is found in the text counts.
_MENDS = (
    (
        r"unknown target CPU|CPU-specific",
        "the runtime's compiler does not know this processor: install a newer PoCL, or Intel's runtime "
        f"(`{INTEL_CPU}`)",
    ),
    (
        r"no OpenCL device found",
        f"`{POCL}` for the CPU (Linux, x86-64), or a GPU's driver",
    ),
    (r"no device is called|no device \d", "unset CLARRAY_DEVICE, or set it to one of the devices' names"),
    (r"MemoryError|OUT_OF_(HOST_MEMORY|RESOURCES)|OBJECT_ALLOCATION", "end what else uses the device's memory"),
    (r"No space left|Disk quota", "make room on the disk of the cache folder, or name another one: CLARRAY_CACHE_DIR"),
    (
        r"BUILD_PROGRAM_FAILURE|clBuildProgram|cannot compile this program",
        "update the device's driver; if it is the newest, " + _REPORT,
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 1 where there is a problem."""
    asked = _arguments(argv)
    if asked.clear_cache:
        removed = system.clear_caches()
        if not asked.json:
            print(f"{removed} files removed from the cache; tuning results are kept\n")
    versions = system.versions()
    listed, among = _listed()
    found: dict[str, list[Finding]] = {
        "Drivers": list(system.drivers()),
        "Hardware": list(
            hardware(" ".join(f"{each['platform']} {each['name']}" for each in listed if each["kind"] != "cpu"))
        ),
        "Cache": list(system.caches()),
        "Devices": among,
    }
    if not asked.json:
        print("\n".join([", ".join(f"{name} {version}" for name, version in versions.items()), ""]))
        for title in found:
            if found[title]:
                print("\n".join(lines(title, found[title])), flush=True)
    for device in listed:
        title = f"Device {device['number']}"
        with Progress(len(FAMILIES)) as progress:
            found[title] = list(_examined(device, progress.step))
        if not asked.json:
            print("\n".join(lines(f"{title}: {device['name']}", found[title])), flush=True)
    problems = sum(each.state == PROBLEM for those in found.values() for each in those)
    if asked.json:
        told = {title: as_dicts(those) for title, those in found.items()}
        print(json.dumps({"versions": versions, "devices": listed, "findings": told, "problems": problems}, indent=1))
    else:
        print(f"\n{_count(problems)} found{': each has a line above that says what mends it' if problems else ''}")
    return int(problems > 0)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m clarray doctor",
        description="Find what is wrong with this machine's OpenCL, and say the line that mends it.",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON, for a report")
    parser.add_argument(
        "--clear-cache", action="store_true", help="first remove compiled programs and what was learnt about devices"
    )
    return parser.parse_args(argv)


def _count(problems: int) -> str:
    return "No problem" if not problems else "1 problem" if problems == 1 else f"{problems} problems"


def _listed() -> tuple[list[dict[str, Any]], list[Finding]]:
    """Give the devices that can be examined, and what is to be said of their list."""
    told, error = told_by_child([])
    found = [] if error is None else [_problem(f"listing the devices failed: {error}", error)]
    devices = []
    for each in told:
        if "error" in each:
            found.append(_problem(each["error"], each["error"]))
        elif "wrong" in each:
            found.append(_problem(f"{each['number']}: {each['name']}: {each['wrong']}", each["wrong"]))
        else:
            devices.append(each)
            found.append(Finding(OK, _device_line(each)))
            if not each["fp64"]:
                what = f"{each['number']}: no float64, which raises TypeError there; float32 is computed"
                found.append(Finding(NOTE, what, "pass dtype=np.float32 where arrays are made"))
    return devices, found


def _device_line(device: dict[str, Any]) -> str:
    gib = 1 << 30
    return (
        f"{device['number']}{'*' if device['chosen'] else ' '} {device['name']}: {device['kind']}, "
        f"{device['units']} compute units, {device['memory'] / gib:.1f} GiB, {device['left'] / gib:.1f} of them free, "
        f"limit {device['limit'] / gib:.1f}, largest allocation {device['largest'] / gib:.1f}; {device['platform']}, "
        f"driver {device['driver']}"
    )


def _examined(device: dict[str, Any], step: Callable[[str], None]) -> Iterator[Finding]:
    """Try all families of kernels on a device, in a process of its own."""
    seconds, right, begun = 0.0, 0, ""
    told, error = told_by_child([str(device["number"])], step)
    for each in told:
        if "begun" in each:
            begun = each["begun"]
            continue
        seconds += each["seconds"]
        right += not each["wrong"]
        if each["wrong"]:
            yield _problem(f"{each['family']}: {each['wrong']}", each["wrong"])
    if error is not None:
        yield _problem(f"{begun or 'the first kernel'}: {error}", error)
    if right:
        yield Finding(OK, f"{right} of {len(FAMILIES)} families of kernels give NumPy's answer, in {seconds:.1f} s")


def _problem(what: str, said: str) -> Finding:
    """Make a problem of what a driver said, on one line."""
    mend = next((mend for words, mend in _MENDS if re.search(words, said)), _REPORT)
    return Finding(PROBLEM, " ".join(what.split())[:300], mend)
