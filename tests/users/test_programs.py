"""NumPy programs run on clarray by changing the import, and nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import clarray
from clarray._engine.runtime import current_device

SOURCE = Path(__file__).with_name("programs.py").read_text()


def loaded(line: str) -> ModuleType:
    """The programs, with this line in place of the import of NumPy."""
    module = ModuleType("programs")
    source = SOURCE.replace("import numpy as np", line)
    exec(compile(source, "programs.py", "exec", dont_inherit=True), vars(module))
    return module


THEIRS = loaded("import numpy as np")
OURS = loaded("import clarray as np")
PROGRAMS = [name for name, value in vars(THEIRS).items() if inspect.isroutine(value)]


@pytest.fixture(scope="module", autouse=True)
def _on_a_device_with_float64() -> None:
    if not current_device().capabilities.fp64:
        pytest.skip("the device has no float64, NumPy's default")


@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")  # NumPy's, from 2.5 on
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "option_price"])
def test_program(name: str, agree: Callable[..., None]) -> None:
    rtol = 1e-5 if name == "neural_network" else 1e-9  # float32, and float64
    agree(lambda xp: getattr(OURS if xp is clarray else THEIRS, name)(), rtol)


def test_simulation() -> None:
    for module in (THEIRS, OURS):
        price, off, exact = module.option_price()
        assert abs(price - exact) < 4 * off
