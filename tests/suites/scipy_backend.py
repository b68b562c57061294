"""A plugin of pytest: SciPy's fixture `xp` gives the backend that SUITE_BACKEND names, clarray among them.

SciPy's conftest takes the backends that it knows by name and imports each that is installed. clarray gets what the
conftest keeps about any other: an id for the marks, and whether what is for CPUs only is to be skipped.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType

import pytest

BACKEND = os.environ["SUITE_BACKEND"]
OTHERS = [name for name in ("torch", "cupy", "jax", "dask") if name != BACKEND]

sys.modules.update(dict.fromkeys(OTHERS))  # an import of these fails: none is tested, and each would take memory
import scipy.conftest as theirs  # noqa: E402

for name in OTHERS:
    del sys.modules[name]


def clarray_parameter() -> object:
    """Make clarray known to SciPy's conftest and give the fixture's parameter."""
    import clarray
    from clarray._engine.runtime import current_device

    theirs.xp_known_backends.add("clarray")
    if current_device().capabilities.kind != "cpu":
        theirs.xp_skip_cpu_only_backends.add("clarray")
    return pytest.param(clarray, id="clarray", marks=pytest.mark.array_api_backends)


PARAMETERS = (clarray_parameter(),) if BACKEND == "clarray" else None


def devices(xp: ModuleType) -> list[object]:
    """SciPy's fixture of this name as SciPy 1.18 has it: before, it adds a list to what is a tuple from 2025.12 on."""
    return [*xp.__array_namespace_info__().devices(), None]


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The fixture's parameters were fixed when the conftest was imported; tests are made from them here."""
    if PARAMETERS is not None:
        for fixture in metafunc._arg2fixturedefs.get("xp", ()):
            fixture.params = PARAMETERS  # type: ignore[misc]
        for fixture in metafunc._arg2fixturedefs.get("devices", ()):
            fixture.func = devices  # type: ignore[misc]
