"""Import modules of folders that are not packages: the benchmarks and the documentation's extensions."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]


def import_script(folder: str, name: str) -> ModuleType:
    """Import a module of a folder of the repository, which may import its neighbours."""
    path = str(ROOT / folder)
    sys.path.insert(0, path)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(path)
