"""The command `python -m clarray`: the devices, and reductions checked against NumPy and timed."""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clarray._api.settings import synchronize
from clarray._core.conversion import asnumpy
from clarray._core.creation import array, asarray, zeros
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.runtime import describe_devices, use_device
from clarray._engine.version import __version__

SAMPLE_ELEMENTS = {"gpu": 1 << 28, "accelerator": 1 << 26, "cpu": 1 << 25}
SAMPLE_COLUMNS = 4096
ROUNDS = 7
HEADINGS = ("operation", "clarray", "NumPy", "ratio", "GB/s", "of copy", "agrees")
COLUMNS = "{:<22} {:>11} {:>11} {:>7} {:>8} {:>8}  {}"


@dataclass(frozen=True)
class Case:
    """A row of the table. The bound on rounding is proportional to the sum of the addends' magnitudes."""

    label: str
    compute: Callable[..., Any]
    magnitude: Callable[[np.ndarray], Any]
    uploads: bool = False


def cases(shape: tuple[int, ...]) -> list[Case]:
    """Return the cases for an array of this shape, with sums along each axis if it has several."""

    def along(axis: int) -> Case:
        return Case(
            f"x.sum(axis={axis})",
            lambda x, **wide: x.sum(axis=axis, **wide),
            lambda x: np.abs(x).sum(axis=axis, dtype=np.float64),
        )

    def total(x: np.ndarray) -> Any:
        return np.abs(x).sum(dtype=np.float64)

    def fused(x: Any, **wide: Any) -> Any:
        return ((x - 1) ** 2).sum(**wide)

    return [
        Case("asarray(x).sum()", lambda x, **wide: x.sum(**wide), total, uploads=True),
        Case("x.sum()", lambda x, **wide: x.sum(**wide), total),
        Case("((x - 1)**2).sum()", fused, lambda x: abs(fused(x, dtype=np.complex128))),
        Case("x.mean()", lambda x, **wide: x.mean(**wide), lambda x: total(x) / x.size),
        *(along(axis) for axis in range(len(shape) if len(shape) > 1 else 0)),
    ]


def oracle(case: Case, x: np.ndarray) -> Any:
    """Compute NumPy's result in the widest dtype, so that its own rounding is negligible."""
    if x.dtype.kind == "f":
        return case.compute(x, dtype=np.float64)
    if x.dtype.kind == "c":
        return case.compute(x, dtype=np.complex128)
    return case.compute(x)


def agrees(got: np.ndarray, case: Case, x: np.ndarray) -> bool:
    """Return whether a result is NumPy's: integers exactly, floats within a few roundings."""
    expected = np.asarray(oracle(case, x))
    if got.dtype.kind not in "fc":
        return bool(np.array_equal(got, expected))
    bound = 8 * np.finfo(got.dtype).eps * np.asarray(case.magnitude(x))
    with np.errstate(invalid="ignore"):
        close = np.abs(got - expected) <= bound
    same = (got == expected.astype(got.dtype)) | (np.isnan(got) & np.isnan(expected))
    return bool(np.all(close | same))


def seconds(call: Callable[[], Any]) -> float:
    """Time one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def synchronized(call: Callable[[], Any]) -> Callable[[], None]:
    """Wrap a call to evaluate its result and to wait for the device."""

    def run() -> None:
        call().evaluate()
        synchronize()

    return run


def copy_bandwidth(elements: int) -> float:
    """Measure the bytes that a copy of float32 numbers reads and writes per second on the device."""
    x = zeros(elements, np.float32)
    call = synchronized(x.copy)
    call()
    return 2 * x.nbytes / min(seconds(call) for _ in range(ROUNDS))


def row(case: Case, host: np.ndarray, device: Any, bandwidth: float) -> tuple[list[str], bool]:
    """Run a case with clarray and NumPy in turn. Return the table's cells, and whether the results agree."""

    def ours() -> Any:
        return case.compute(asarray(host) if case.uploads else device)

    got = asnumpy(ours())
    run = synchronized(ours)
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        times[0].append(seconds(run))
        times[1].append(seconds(lambda: case.compute(host)))
    our_time, numpy_time = map(statistics.median, times)
    rate = (host.nbytes + got.nbytes) / our_time
    is_right = agrees(got, case, host)
    return [
        case.label,
        f"{our_time * 1e3:.3f} ms",
        f"{numpy_time * 1e3:.3f} ms",
        f"{numpy_time / our_time:.2f}",
        f"{rate / 1e9:.1f}",
        f"{rate / bandwidth:.0%}",
        "yes" if is_right else "NO",
    ], is_right


def mapped_member(path: Path, name: str) -> np.ndarray:
    """Map an uncompressed array of an .npz archive into memory, or read a compressed one."""
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo(name)
    if member.compress_type != zipfile.ZIP_STORED:
        with np.load(path) as arrays:
            member_array: np.ndarray = arrays[name.removesuffix(".npy")]
            return member_array
    with path.open("rb") as file:
        # The local header's own name and extra fields may differ in length from the directory's.
        file.seek(member.header_offset + 26)
        lengths = np.frombuffer(file.read(4), "<u2")
        file.seek(int(lengths.sum()), 1)
        version = np.lib.format.read_magic(file)
        headers = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
        shape, fortran, dtype = headers[version != (1, 0)](file)
        offset = file.tell()
    return np.memmap(path, dtype, "r", offset=offset, shape=shape, order="F" if fortran else "C")


def load(path: Path) -> tuple[str, np.ndarray]:
    """Read a .npy, .npz or .csv file of numbers, mapped into memory where the format allows it."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        data = np.load(path, mmap_mode="r")
        label = path.name
    elif suffix == ".npz":
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.endswith(".npy")]
        if not names:
            raise ValueError(f"{path} holds no arrays")
        data = mapped_member(path, names[0])
        label = f"{path.name}, array '{names[0].removesuffix('.npy')}'"
    elif suffix == ".csv":
        data = read_csv(path)
        label = path.name
    else:
        raise ValueError(f"{path} is not a .npy, .npz or .csv file")
    if data.dtype.kind not in "biufc" or data.dtype.itemsize > 16 or data.dtype.char in "gG":
        raise TypeError(f"{path} holds {data.dtype}, which no OpenCL device computes with")
    if data.size == 0:
        raise ValueError(f"{path} holds no elements")
    return label, data


def read_csv(path: Path) -> np.ndarray:
    """Read comma-separated numbers, with or without one line of headings. A missing number becomes NaN."""
    with path.open() as lines:
        first = lines.readline()
    try:
        [_number(field) for field in first.split(",")]
        headings = 0
    except ValueError:
        headings = 1
    try:
        return np.loadtxt(path, delimiter=",", skiprows=headings)
    except ValueError:  # a missing number, or text
        pass
    try:
        return np.loadtxt(path, delimiter=",", skiprows=headings, converters=_number)
    except ValueError as error:
        raise ValueError(
            f"{path}: {error} This command reads numbers that are separated by commas, below at most one line of "
            "headings. Save the columns of numbers as a .npy file instead"
        ) from None


def _number(field: str) -> float:
    return float(field) if field.strip() else math.nan


def sample(elements: int) -> tuple[str, np.ndarray]:
    """Draw uniform float32 numbers, in rows of SAMPLE_COLUMNS if it divides their number."""
    data = np.random.default_rng(0).random(elements, dtype=np.float32)
    if elements > SAMPLE_COLUMNS and elements % SAMPLE_COLUMNS == 0:
        data = data.reshape(-1, SAMPLE_COLUMNS)
    return "sample data, uniform in [0, 1)", data


def show_devices(chosen: Any) -> None:
    """Print the devices, with a mark at the selected one."""
    print("Devices (choose with --device or CLARRAY_DEVICE)")
    print(*describe_devices(chosen), sep="\n")


def show_table(data: np.ndarray, bandwidth: float) -> bool:
    """Print the table for an array. Return whether all results are NumPy's."""
    x = array(data)  # a copy, because expressions of shared memory are evaluated at each call
    print(f"Copy bandwidth of the device: {bandwidth / 1e9:.1f} GB/s (read and written)\n")
    print(COLUMNS.format(*HEADINGS))
    all_agree = True
    for case in cases(data.shape):
        cells, is_right = row(case, data, x, bandwidth)
        print(COLUMNS.format(*cells), flush=True)
        all_agree = all_agree and is_right
    return all_agree


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser("python -m clarray", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, help="a .npy, .npz or .csv file of numbers")
    parser.add_argument("--size", type=int, help="elements of the sample data")
    parser.add_argument("--device", help="index, or part of a platform's or device's name")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Return 1 without a device or a readable file, and 2 if a result differs."""
    options = arguments(argv)
    try:
        with use_device(options.device) as chosen:
            print(f"clarray {__version__}, NumPy {np.__version__}")
            show_devices(chosen)
            default = SAMPLE_ELEMENTS[chosen.capabilities.kind]
            label, data = load(options.file) if options.file else sample(options.size or default)
            print(f"\n{label}: {data.dtype} {data.shape}, {data.nbytes / 1e6:.1f} MB")
            all_agree = show_table(data, copy_bandwidth(default))
    except (RuntimeError, OSError, ValueError, TypeError, MemoryError) as error:
        print(f"clarray: {error}", file=sys.stderr)
        return 1
    if not all_agree:
        print("\nclarray: an answer differs from NumPy's; please report it", file=sys.stderr)
        return 2
    return 0
