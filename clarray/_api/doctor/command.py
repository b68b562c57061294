"""The command: run all checks, print the findings, and return the exit status."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from clarray._api.doctor import system
from clarray._api.doctor.children import from_subprocess
from clarray._api.doctor.examination import EXCLUDED_READ
from clarray._api.doctor.families import FAMILIES
from clarray._api.doctor.findings import NOTE, OK, PROBLEM, Finding, as_dicts, lines
from clarray._api.doctor.hardware import hardware
from clarray._engine.runtime.errors import UNLINKED
from clarray._engine.runtime.install_lines import INTEL_CPU, LIBCLC, POCL
from clarray._engine.runtime.progress import Progress

__all__ = ["main"]

_REPORT = "please report it with the output of `python -m clarray doctor --json`"

# Patterns of drivers' messages, and the remedies. The first matching pattern counts.
_REMEDIES = (
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
    (UNLINKED, f"libclc lacks a function that Mesa calls: {LIBCLC}; or use another driver, `{POCL}` for the CPU"),
    (
        EXCLUDED_READ,
        f"the compiler reads memory that the program does not read, so any call may end the process: use another "
        f"driver (`{POCL}` for the CPU), or Mesa 25",
    ),
    (
        r"SPIRVWriter",
        f"the runtime cannot translate this kernel: use another driver, `{POCL}` for the CPU, and " + _REPORT,
    ),
    (
        r"BUILD_PROGRAM_FAILURE|clBuildProgram|cannot compile this program",
        "update the device's driver; if it is the newest, " + _REPORT,
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Return 1 if it found a problem."""
    options = _arguments(argv)
    if options.clear_cache:
        removed = system.clear_caches()
        if not options.json:
            print(f"{removed} files removed from the cache; tuning results are kept\n")
    versions = system.versions()
    devices, device_findings = _list_devices()
    findings_by_title: dict[str, list[Finding]] = {
        "Drivers": list(system.drivers()),
        "Hardware": list(
            hardware(" ".join(f"{gpu['platform']} {gpu['name']}" for gpu in devices if gpu["kind"] != "cpu"))
        ),
        "Cache": list(system.caches()),
        "Devices": device_findings,
    }
    if not options.json:
        print("\n".join([", ".join(f"{name} {version}" for name, version in versions.items()), ""]))
        for title in findings_by_title:
            if findings_by_title[title]:
                print("\n".join(lines(title, findings_by_title[title])), flush=True)
    for device in devices:
        title = f"Device {device['number']}"
        with Progress(len(FAMILIES)) as progress:
            findings_by_title[title] = list(_examine_device(device, progress.step))
        if not options.json:
            print("\n".join(lines(f"{title}: {device['name']}", findings_by_title[title])), flush=True)
    problems = sum(finding.state == PROBLEM for findings in findings_by_title.values() for finding in findings)
    if options.json:
        findings_as_dicts = {title: as_dicts(findings) for title, findings in findings_by_title.items()}
        print(
            json.dumps(
                {"versions": versions, "devices": devices, "findings": findings_as_dicts, "problems": problems},
                indent=1,
            )
        )
    else:
        print(
            f"\n{_problem_count(problems)} found{': each has a line above that says what mends it' if problems else ''}"
        )
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


def _problem_count(problems: int) -> str:
    return "No problem" if not problems else "1 problem" if problems == 1 else f"{problems} problems"


def _list_devices() -> tuple[list[dict[str, Any]], list[Finding]]:
    """Return the usable devices, and the findings about all devices."""
    records, error = from_subprocess([])
    findings = [] if error is None else [_problem(f"listing the devices failed: {error}", error)]
    devices = []
    for record in records:
        if "error" in record:
            findings.append(_problem(record["error"], record["error"]))
        elif "wrong" in record:
            findings.append(_problem(f"{record['number']}: {record['name']}: {record['wrong']}", record["wrong"]))
        else:
            devices.append(record)
            findings.append(Finding(OK, _device_line(record)))
            findings.extend(_lacking_findings(record))
    findings.extend(_choice_findings(devices))
    return devices, findings


def _choice_findings(devices: list[dict[str, Any]]) -> Iterator[Finding]:
    """Say which of several PoCLs is used for the same processor."""
    versions = {d["number"]: v[1] for d in devices if (v := re.search(r"PoCL (\d+\.\d+)", d["platform"]))}
    if len(versions) > 1:
        chosen = next((d["number"] for d in devices if d["chosen"] and d["number"] in versions), min(versions))
        others = [version for number, version in versions.items() if number != chosen]
        what = f"{chosen} is PoCL {versions[chosen]}; PoCL {' and '.join(others)} runs on the same processor"
        yield Finding(NOTE, what, f"to use another one, set CLARRAY_DEVICE={others[0]}")


def _lacking_findings(device: dict[str, Any]) -> Iterator[Finding]:
    """Name what a device lacks."""
    if not device["fp64"]:
        what = f"{device['number']}: no float64, which raises TypeError there; float32 is computed"
        yield Finding(NOTE, what, "pass dtype=np.float32 where arrays are made")
    if not device["fma"]:
        what = f"{device['number']}: fma of float32 is a function of many instructions; float32 sums round each product"
        other = f"`{POCL}` is faster on this processor" if device["kind"] == "cpu" else "use another device or driver"
        yield Finding(NOTE, what, f"{other}; random numbers need fma")
    if not device["subnormals"]:
        what = f"{device['number']}: float32 below 1.2e-38 counts as 0; clarray.linalg has NumPy compute tiny matrices"
        yield Finding(NOTE, what, "scale the data, or use another device or driver, if such numbers matter")
    if not device["trusted"]:
        what = f"{device['number']}: its compiler crashes or never finishes for some kernels: NumPy computes these"
        yield Finding(NOTE, what, f"`{POCL}` compiles all kernels")


def _device_line(device: dict[str, Any]) -> str:
    gib = 1 << 30
    return (
        f"{device['number']}{'*' if device['chosen'] else ' '} {device['name']}: {device['kind']}, "
        f"{device['units']} compute units, {device['memory'] / gib:.1f} GiB, {device['left'] / gib:.1f} of them free, "
        f"limit {device['limit'] / gib:.1f}, largest allocation {device['largest'] / gib:.1f}; {device['platform']}, "
        f"driver {device['driver']}"
    )


def _examine_device(device: dict[str, Any], step: Callable[[str], None]) -> Iterator[Finding]:
    """Run all families of kernels on a device, in a subprocess."""
    seconds, right_count, current_family = 0.0, 0, ""
    records, error = from_subprocess([str(device["number"])], step)
    for record in records:
        if "begun" in record:
            current_family = record["begun"]
            continue
        seconds += record["seconds"]
        right_count += not record["wrong"]
        if record["wrong"]:
            yield _problem(f"{record['family']}: {record['wrong']}", record["wrong"])
    if error is not None:
        what = f"{current_family or 'the first kernel'}: {error}"
        yield _problem(what, what)
    if right_count:
        yield Finding(
            OK, f"{right_count} of {len(FAMILIES)} families of kernels give NumPy's answer, in {seconds:.1f} s"
        )


def _problem(what: str, message: str) -> Finding:
    """Return the finding for a driver's message, on one line."""
    mend = next((mend for pattern, mend in _REMEDIES if re.search(pattern, message)), _REPORT)
    return Finding(PROBLEM, " ".join(what.split())[:300], mend)
