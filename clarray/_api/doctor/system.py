"""Checks without OpenCL: versions, drivers' files, caches."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from clarray._api.doctor.findings import NOTE, OK, PROBLEM, Finding
from clarray._engine.runtime.cache import CACHES, cache_refusal, chosen_folder, disk_cache
from clarray._engine.runtime.environment import vendor_files
from clarray._engine.runtime.private_files import PrivateFolder, refusal
from clarray._engine.speedups import core_state
from clarray._engine.version import __version__

__all__ = ["caches", "clear_caches", "drivers", "versions"]

_PACKAGES = (
    "numpy",
    "pyopencl",
    "mako",
    "pocl-binary-distribution",
    "intel-opencl-rt",
    "intel-cmplr-lib-rt",
    "pyvkfft",
    "dask",
)
_LOAD = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"  # in a subprocess, which a broken driver may crash
_PATIENCE_SECONDS = 60


def versions() -> dict[str, str]:
    """Return the versions of clarray, Python, the system and installed packages."""
    versions_by_name = {"clarray": __version__, "Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions_by_name[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    versions_by_name["compiled core"] = core_state
    versions_by_name["system"] = f"{platform.system()} {platform.release()}, {platform.machine()}"
    return versions_by_name


def drivers() -> Iterator[Finding]:
    """Check that the libraries load which files of OpenCL drivers name."""
    libraries = vendor_files()
    if not libraries:
        yield Finding(NOTE, "no file names an OpenCL driver (*.icd); runtimes that pip installs need none")
    for file, library in libraries.items():
        error = _loading_error(library)
        if error:
            mend = f"install the package that {file} belongs to again, or remove the file"
            yield Finding(PROBLEM, f"{file}: {library} does not load: {error}", mend)
        else:
            yield Finding(OK, f"{file}: {library} loads")
    chosen = os.environ.get("OCL_ICD_VENDORS")
    if chosen:
        yield Finding(NOTE, f"OCL_ICD_VENDORS={chosen} says where drivers are looked for", "unset it to see the others")


def _loading_error(library: str) -> str:
    """Return the error of loading a library, or ''."""
    command = [sys.executable, "-c", _LOAD, library]
    try:
        process = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        return f"nothing came back within {_PATIENCE_SECONDS} s"
    if process.returncode < 0:
        return f"the process ended by signal {-process.returncode}"
    error_lines = process.stderr.strip().splitlines()
    return error_lines[-1].removeprefix("OSError: ") if process.returncode and error_lines else ""


def caches() -> Iterator[Finding]:
    """Check that the cache folders are writable, and that each file is intact."""
    folder = chosen_folder()
    refused = cache_refusal()
    if refused is not None:
        what = f"{folder} is not used, and each process compiles: {refused}"
        yield Finding(PROBLEM, what, refused.advice("CLARRAY_CACHE_DIR"))
        return
    replaceable = refusal(folder)
    if replaceable is not None:
        what = f"others can put another folder in the place of {folder}, which is not used then: {replaceable}"
        yield Finding(NOTE, what, replaceable.advice("CLARRAY_CACHE_DIR"))
    unwritable = _writing_error(folder)
    if unwritable:
        mend = (
            "make it writable, or name another folder: CLARRAY_CACHE_DIR=/some/folder. Without it each process compiles"
        )
        yield Finding(PROBLEM, f"{folder} cannot be written to: {unwritable}", mend)
    count, size, damaged = 0, 0, 0
    for name in CACHES:
        cache = disk_cache(name)
        for file, info in cache.files():
            count, size = count + 1, size + info.st_size
            damaged += not cache.is_intact(file)
    if damaged:
        what = f"{damaged} of {count} files in {folder} are damaged or another user's; each is made anew when wanted"
        yield Finding(PROBLEM, what, "python -m clarray doctor --clear-cache")
    if not (unwritable or damaged):
        yield Finding(OK, f"{folder}: {count} files, {size / 2**20:.1f} MiB, all sound")


def _writing_error(folder: Path) -> str:
    private = PrivateFolder(folder)
    try:
        private.write("doctor.tmp", bytes(1 << 16))
        private.remove("doctor.tmp")
    except OSError as error:
        return error.strerror or str(error)
    return ""


def clear_caches() -> int:
    """Remove the caches on disk, except tuning results, which take long to measure. Return the number of files."""
    removed = 0
    for name in CACHES:
        if name == "tuning":
            continue
        cache = disk_cache(name)
        for file, _ in cache.files():
            cache.discard(file)
            removed += 1
    return removed
