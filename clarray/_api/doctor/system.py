"""What can be seen without OpenCL: versions, drivers' files, caches."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from clarray._api.doctor.findings import NOTE, OK, PROBLEM, Finding
from clarray._engine.runtime.cache import CACHES, cache_of, cache_refusal, chosen_folder
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
_LOAD = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"  # in a process of its own: a broken driver may end it
_PATIENCE_SECONDS = 60


def versions() -> dict[str, str]:
    """Give the versions of what takes part; packages that are not installed are left out."""
    found = {"clarray": __version__, "Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    found["compiled core"] = core_state
    found["system"] = f"{platform.system()} {platform.release()}, {platform.machine()}"
    return found


def drivers() -> Iterator[Finding]:
    """Look at the files that name OpenCL drivers, and whether the libraries in them load."""
    named = vendor_files()
    if not named:
        yield Finding(NOTE, "no file names an OpenCL driver (*.icd); runtimes that pip installs need none")
    for file, library in named.items():
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
    """Give why a library does not load, '' if it does."""
    command = [sys.executable, "-c", _LOAD, library]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        return f"nothing came back within {_PATIENCE_SECONDS} s"
    if done.returncode < 0:
        return f"the process ended by signal {-done.returncode}"
    said = done.stderr.strip().splitlines()
    return said[-1].removeprefix("OSError: ") if done.returncode and said else ""


def caches() -> Iterator[Finding]:
    """Look at what is kept on disk: whether it can be written to, and whether each file is what was stored."""
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
        cache = cache_of(name)
        for file, info in cache.files():
            count, size = count + 1, size + info.st_size
            damaged += not cache.is_sound(file)
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
    """Remove what is kept on disk but for tuning results, which take long to measure; give the files' number."""
    removed = 0
    for name in CACHES:
        if name == "tuning":
            continue
        cache = cache_of(name)
        for file, _ in cache.files():
            cache.discard(file)
            removed += 1
    return removed
