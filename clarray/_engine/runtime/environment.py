"""What must be in the environment before OpenCL is first asked for its platforms.

Four things, all undone again after the query, and the first three not touched where the user has set
them: POCL_DEVICES, so that PoCL's wheel shows the device that runs in the calling thread beside the
one with a thread pool; POCL_KERNEL_CACHE off, since PoCL's cache tells neither a damaged file nor
another kind of CPU, and ours does; OCL_ICD_VENDORS, so that Intel's runtime, installed by pip, is
found without a system file; and POCL_CACHE_DIR, a folder of this process's own, within the user's
where that is set, unless PoCL keeps a cache and has a place for it.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import platform
import re
import site
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from clarray._engine.runtime import private_files
from clarray._engine.runtime.backends.pocl import scratch_folder
from clarray._engine.runtime.cache import cache_folder
from clarray._engine.runtime.private_files import PrivateFolder

# Of a runtime, but for what does not change the code that it makes.
_NO_COMPILER_SETTING = (
    "AFFINITY|CACHE_DIR|DEBUG|DEVICES|KERNEL_CACHE|MAX_PTHREAD_COUNT|MEMORY_LIMIT|STARTUP_DELAY|(LEAVE_KERNEL|SIG)\\w+"
)
_COMPILER_SETTING = rf"POCL_(?!({_NO_COMPILER_SETTING})$)\w+|CL_CONFIG_\w+|AMD_OCL_\w+|IGC_\w+"
_READS_A_FILE = r"(^|[\s=\"'])-(include|imacros)"
_SYSTEM_VENDORS = Path("/etc/OpenCL/vendors")
_INTEL_LIBRARIES = ("lib/libintelocl.so", "Library/bin/intelocl64.dll")


@cache
def cpu_flags() -> frozenset[str]:
    """Give the instruction sets this CPU names, where the system tells; else nothing."""
    for line in _cpu_lines():
        if line.startswith("flags"):
            return frozenset(line.partition(":")[2].split())
    return frozenset()


@cache
def cpu_identity() -> str:
    """Give a text that differs between CPUs that need different machine code."""
    wanted = ("vendor_id", "cpu family", "model", "stepping", "flags", "CPU part")
    told = "\n".join(line for line in _cpu_lines() if line.startswith(wanted))
    return f"{platform.machine()}-{hashlib.sha256(told.encode()).hexdigest()[:16]}"


def compiler_settings() -> str:
    """Give the variables that change what a runtime's compiler makes of a source; '' where none is set."""
    names = sorted(name for name in os.environ if re.fullmatch(_COMPILER_SETTING, name))
    settings = " ".join(f"{name}={os.environ[name]}" for name in names)
    return f"{settings} {_this_process()}" if re.search(_READS_A_FILE, settings) else settings


@cache
def _this_process() -> str:
    """Give a text that no other process gives: programs that depend on a file's contents are not found by them."""
    return os.urandom(16).hex()


@cache
def _cpu_lines() -> list[str]:
    """Give what the system says of the first core."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as info:
        return info.read(8192).partition("\n\n")[0].splitlines()
    return [f"model {platform.processor()}"]


@contextlib.contextmanager
def prepared_environment() -> Iterator[None]:
    """Set what discovery needs, for as long as the first query of OpenCL takes."""
    changes: dict[str, str] = {}
    wheel, driver = _has_pocl_wheel(), _has_driver("pocl")
    if wheel and not driver:
        changes["POCL_DEVICES"] = "basic pthread"
        changes["POCL_KERNEL_CACHE"] = "0"
    intel, temporary = _intel()
    changes.update(intel)
    mine = {name: value for name, value in changes.items() if name not in os.environ}
    if wheel or driver:
        mine.update(_pocl_folder(mine))
    before = {name: os.environ.get(name) for name in mine}
    os.environ.update(mine)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        scratch_folder.confirm()
        if temporary is not None:
            private_files.remove_folder(temporary)


def _pocl_folder(changes: dict[str, str]) -> dict[str, str]:
    """Give the setting of PoCL's folder; nothing where it keeps a cache of its own and can write to it.

    With no place at all PoCL is told one that it finds no device with: elsewhere it would stop the process.
    """
    if os.name != "posix":
        return {}
    keeps = changes.get("POCL_KERNEL_CACHE", os.environ.get("POCL_KERNEL_CACHE")) != "0"
    if keeps and scratch_folder.usable(_pocls_choice()):
        return {}
    return {"POCL_CACHE_DIR": str(scratch_folder.make() or Path(os.devnull, "pocl"))}


def _pocls_choice() -> Path:
    """Where PoCL keeps its cache if it is not told."""
    for name, below in (("POCL_CACHE_DIR", ""), ("XDG_CACHE_HOME", "pocl/kcache"), ("HOME", ".cache/pocl/kcache")):
        if os.environ.get(name):
            return Path(os.environ[name], below)
    return Path("/tmp/pocl/kcache")


def _has_pocl_wheel() -> bool:
    """Whether PoCL is there as the 3.x wheel; later ones give their devices other names."""
    import pyopencl

    packages = Path(pyopencl.__file__).parents[1]
    return bool(list(packages.glob("pocl_binary_distribution-3.*.dist-info")))


def _has_driver(word: str) -> bool:
    """Whether a vendors folder names a driver with this word in its name, and the driver exists."""
    drivers = [text.strip() for text in _system_icds().values()]
    return any(word in driver.lower() and _loads(driver) for driver in drivers)


def _loads(library: str) -> bool:
    """Whether a driver is really there: removed packages leave their vendor files behind."""
    if os.path.isabs(library):
        return os.path.exists(library)
    try:  # on the loader's search path; it would load the driver next
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _vendor_folders() -> list[Path]:
    conda = Path(sys.prefix, "etc/OpenCL/vendors")
    return [_SYSTEM_VENDORS, conda] if Path(sys.prefix, "conda-meta").is_dir() else [_SYSTEM_VENDORS]


def _system_icds() -> dict[str, str]:
    """Give the name and text of each vendor file that the loader reads by itself."""
    found = {}
    for file in (file for folder in _vendor_folders() for file in sorted(folder.glob("*.icd"))):
        with contextlib.suppress(OSError):
            found[file.name] = file.read_text(errors="replace")
    return found


def vendor_files() -> dict[str, str]:
    """Give the driver's library that each file names which the loader reads, pip's among them, by the file's path."""
    import pyopencl

    chosen = os.environ.get("OCL_ICD_VENDORS")
    folders = [Path(chosen)] if chosen else _vendor_folders()
    found = {}
    for folder in (*folders, Path(pyopencl.__file__).parent / ".libs"):
        for file in sorted(folder.glob("*.icd")) if folder.is_dir() else []:
            with contextlib.suppress(OSError):
                library = file.read_text(errors="replace").strip()
                beside = file.parent / library  # as in PoCL's wheel
                found[str(file)] = str(beside) if beside.is_file() else library
    intel = _intel_library()
    if intel is not None:
        found.setdefault("pip's intel-opencl-rt", str(intel))
    return found


def _intel() -> tuple[dict[str, str], Path | None]:
    """Give the setting that shows a pip-installed Intel runtime, and a folder that is of no use after the query."""
    library = _intel_library()
    if library is None or "OCL_ICD_VENDORS" in os.environ or _has_driver("intelocl"):
        return {}, None
    if os.name == "nt":  # the Khronos loader, which adds to what it finds elsewhere
        return {"OCL_ICD_FILENAMES": str(library)}, None
    with contextlib.suppress(OSError):
        folder = _vendors_folder(library)
        return {"OCL_ICD_VENDORS": str(folder)}, folder
    return {}, None


def _intel_library() -> Path | None:
    user = site.getuserbase()
    for prefix in (sys.prefix, user) if private_files.is_own(Path(user)) else (sys.prefix,):
        for relative in _INTEL_LIBRARIES:
            library = Path(prefix, relative)
            if library.is_file():
                return library
    return None


def _vendors_folder(library: Path) -> Path:
    """Make a vendors folder of the system's drivers and one more library, for one query.

    The variable replaces the system's folder, so its files are repeated.
    """
    folder = private_files.temporary_folder("clarray-vendors-", *private_files.temporary_places(), cache_folder())
    for name, text in (_system_icds() | {"clarray-intel.icd": f"{library}\n"}).items():
        PrivateFolder(folder).write(name, text.encode(errors="surrogateescape"))
    return folder
