"""Set environment variables for the first query of OpenCL's platforms.

The variables are the settings of backends, and OCL_ICD_VENDORS, with which the loader finds Intel's runtime if pip has
installed it without a system file. Variables that the user has set stay. All others are restored after the query,
except those that a compiler reads later.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from clarray._engine.runtime import private_files
from clarray._engine.runtime.backends import BACKENDS
from clarray._engine.runtime.cache import cache_folder
from clarray._engine.runtime.private_files import PrivateFolder

# Variables of PoCL that do not change the generated code.
_NO_COMPILER_SETTING = (
    "AFFINITY|CACHE_DIR|DEBUG|DEVICES|KERNEL_CACHE|MAX_PTHREAD_COUNT|MEMORY_LIMIT|STARTUP_DELAY|(LEAVE_KERNEL|SIG)\\w+"
)
_COMPILER_SETTING = rf"POCL_(?!({_NO_COMPILER_SETTING})$)\w+|CL_CONFIG_\w+|AMD_OCL_\w+|IGC_\w+"
_READS_A_FILE = r"(^|[\s=\"'])-(include|imacros)"
_SYSTEM_VENDORS = Path("/etc/OpenCL/vendors")
_INTEL_LIBRARIES = ("lib/libintelocl.so", "Library/bin/intelocl64.dll")
_PACKAGE_DEPTH = 2 if os.name == "nt" else 3  # of lib/python3.x/site-packages in a prefix


def compiler_settings() -> str:
    """Return the variables that change the code a compiler generates, or '' if none is set."""
    names = sorted(name for name in os.environ if re.fullmatch(_COMPILER_SETTING, name))
    settings = " ".join(f"{name}={os.environ[name]}" for name in names)
    return f"{settings} {_this_process()}" if re.search(_READS_A_FILE, settings) else settings


@cache
def _this_process() -> str:
    """Return a text unique to this process, so that other processes do not load programs that depend on files."""
    return os.urandom(16).hex()


@contextlib.contextmanager
def prepared_environment() -> Iterator[None]:
    """Set the variables for discovery during the block."""
    intel, temporary = _intel()
    changes = {name: value for name, value in intel.items() if name not in os.environ}
    for backend in BACKENDS:
        changes.update(backend.settings(_has_driver))
        lasting = backend.compiler_settings(_has_driver)
        os.environ.update({name: value for name, value in lasting.items() if name not in os.environ})
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        for backend in BACKENDS:
            backend.end_discovery()
        if temporary is not None:
            private_files.remove_folder(temporary)


def _has_driver(word: str) -> bool:
    """Return whether a vendors folder names an existing driver with this word in its name."""
    drivers = [text.strip() for text in _system_icds().values()]
    return any(word in driver.lower() and _loads(driver) for driver in drivers)


def _loads(library: str) -> bool:
    """Return whether a driver can be loaded. Removed packages leave their vendor files behind."""
    if os.path.isabs(library):
        return os.path.exists(library)
    try:  # on the loader's search path: the loader loads the driver next
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _vendor_folders() -> list[Path]:
    conda = Path(sys.prefix, "etc/OpenCL/vendors")
    return [_SYSTEM_VENDORS, conda] if Path(sys.prefix, "conda-meta").is_dir() else [_SYSTEM_VENDORS]


def _system_icds() -> dict[str, str]:
    """Return the name and text of each vendor file that the loader reads by default."""
    texts = {}
    for file in (file for folder in _vendor_folders() for file in sorted(folder.glob("*.icd"))):
        with contextlib.suppress(OSError):
            texts[file.name] = file.read_text(errors="replace")
    return texts


def vendor_files() -> dict[str, str]:
    """Return the driver's library by the path of each vendor file that the loader reads, including those of pip."""
    import pyopencl

    chosen = os.environ.get("OCL_ICD_VENDORS")
    folders = [Path(chosen)] if chosen else _vendor_folders()
    libraries = {}
    for folder in (*folders, Path(pyopencl.__file__).parent / ".libs"):
        # OCL_ICD_VENDORS may also be the path of one file
        for file in [folder] if folder.is_file() else sorted(folder.glob("*.icd")) if folder.is_dir() else []:
            with contextlib.suppress(OSError):
                library = file.read_text(errors="replace").strip()
                relative = file.parent / library  # as in PoCL's wheel
                libraries[str(file)] = str(relative) if relative.is_file() else library
    intel = _intel_library()
    if intel is not None:
        libraries.setdefault("pip's intel-opencl-rt", str(intel))
    return libraries


def _intel() -> tuple[dict[str, str], Path | None]:
    """Return the setting for Intel's runtime if pip has installed it, and a folder to remove after the query."""
    library = _intel_library()
    if library is None or "OCL_ICD_VENDORS" in os.environ or _has_driver("intelocl"):
        return {}, None
    if os.name == "nt":  # the Khronos loader adds the file to those that it finds elsewhere
        return {"OCL_ICD_FILENAMES": str(library)}, None
    with contextlib.suppress(OSError):
        folder = _vendors_folder(library)
        return {"OCL_ICD_VENDORS": str(folder)}, folder
    return {}, None


def _intel_library() -> Path | None:
    """Find the library in the prefixes of the folders from which Python imports installed packages."""
    packages = [folder for folder in sys.path if folder.endswith(("site-packages", "dist-packages"))]
    for prefix in (Path(sys.prefix), *(Path(folder, *[".."] * _PACKAGE_DEPTH).resolve() for folder in packages)):
        for relative in _INTEL_LIBRARIES:
            library = prefix / relative
            if library.is_file():
                return library
    return None


def _vendors_folder(library: Path) -> Path:
    """Make a temporary vendors folder with the system's drivers and one more library.

    The variable replaces the system's folder, so the new folder has copies of its files.
    """
    folder = private_files.temporary_folder("clarray-vendors-", *private_files.temporary_folders(), cache_folder())
    for name, text in (_system_icds() | {"clarray-intel.icd": f"{library}\n"}).items():
        PrivateFolder(folder).write(name, text.encode(errors="surrogateescape"))
    return folder
