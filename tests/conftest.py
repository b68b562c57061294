"""What every test shares: how Hypothesis searches, and the device in the report's header."""

from __future__ import annotations

import gc
import os
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from . import both_ways

# Read by SciPy when it is imported, and wanted by tests/users: it takes arrays of other libraries as they are.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
os.environ.setdefault("CLARRAY_ELEMENTS", "scalars")  # as without SciPy's setting

# Read when clarray is imported. What NumPy computes in the place of kernels, kernels compute as well: see `both_ways`.
os.environ.setdefault("CLARRAY_TIER", "1")

# Read then too: a test that fails shows where in clarray.
os.environ.setdefault("CLARRAY_TRACEBACK", "full")

# PoCL goes on after a division by zero, whose quotient another device may take for an address: here the process ends.
os.environ.setdefault("POCL_SIGFPE_HANDLER", "0")

# A process of a test starts in half the time if an earlier one has kept clarray's compiled Python.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The smoke set: folders, files and tests. A test belongs to it if its id is a line of the file or begins with one of
# SMOKE_STARTS.
SMOKE = frozenset(Path(__file__).with_name("smoke.txt").read_text().splitlines())
SMOKE_STARTS = tuple(line + end for line in SMOKE for end in "/:[")

# A first call may build a program, so neither time per example nor slow generation says anything.
_common = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
    "print_blob": True,
}
settings.register_profile("default", max_examples=50, **_common)
settings.register_profile("thorough", max_examples=1000, **_common)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(autouse=True)
def numpys_error_state() -> Iterator[None]:
    """What a test sets with `numpy.seterr`, as the fuzzer does, is its own: what warns does not depend on order."""
    with np.errstate():
        yield


@pytest.fixture(autouse=True, scope="session")
def plain_text_from_processes() -> Iterator[None]:
    """Keep colours out of what processes of tests print: tools use them where a variable asks, as `CI=true` does."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS", "PYTHON_COLORS", "MYPY_FORCE_COLOR"):
            patch.delenv(name, raising=False)
        patch.setenv("NO_COLOR", "1")
        yield


@pytest.fixture(autouse=True, scope="session")
def a_file_of_its_own_for_who_needs_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests in another process ask for takes no free block from under a test that looks for it."""
    from clarray._engine.runtime import pool_trimmer
    from clarray._engine.runtime.private_files import PrivateFolder

    folder = PrivateFolder(tmp_path_factory.mktemp("memory"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool_trimmer, "_request_folder", lambda: folder)
        yield


@pytest.fixture(autouse=True)
def kernels_alone(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let kernels compute everything in a test that is marked so, unless it turns first calls on itself."""
    if request.node.get_closest_marker("kernels_alone") is None:
        yield
        return
    from clarray._engine.launch.host_tier import setting

    with pytest.MonkeyPatch.context() as patch, both_ways.paused():
        patch.setattr(setting, "on", False)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    return (yield from _skip_without_float64())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    return (yield from _skip_without_float64())


def _skip_without_float64() -> Generator[None, Any, Any]:
    """Skip a test that asks for float64 on a device without it, as clarray's error says.

    `tests/device/whole/test_every_function.py` asserts that a call raises it only if NumPy's result has float64.
    """
    try:
        return (yield)
    except BaseException as error:
        if not lacks_float64(error):
            raise
        pytest.skip("the device has no float64")


def lacks_float64(error: BaseException) -> bool:
    """Return whether an error, or each error of a group, is clarray's refusal of float64, or a comparison with it."""
    from clarray._engine.runtime import current_device

    if isinstance(error, BaseExceptionGroup):
        return all(map(lacks_float64, error.exceptions))
    if isinstance(error, pytest.fail.Exception) and error.__context__ is not None:  # of `pytest.warns`
        return lacks_float64(error.__context__)
    is_refusal = isinstance(error, TypeError | AssertionError) and "it lacks cl_khr_fp64" in str(error)
    return is_refusal and not current_device().capabilities.fp64


def pytest_configure(config: pytest.Config) -> None:
    if os.environ["CLARRAY_TIER"] not in ("", "0"):
        config.pluginmanager.register(both_ways)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--exhaustive", action="store_true", help="run whole tables of pairs too, a kernel for each")
    parser.addoption("--sample", type=int, default=1, metavar="N", help="run one test of N, the same ones each time")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Under `-m smoke` import the files of the smoke set only: to import all of them takes longer than the set."""
    if config.option.markexpr != "smoke" or collection_path.suffix != ".py":
        return None
    name = collection_path.relative_to(config.rootpath).as_posix()
    belongs = name.startswith(SMOKE_STARTS) or any(line.partition("::")[0] == name for line in SMOKE)
    return None if belongs else True


@pytest.hookimpl(tryfirst=True)  # before `-m` reads the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the smoke set. Deselect exhaustive tests, unless requested, and the tests that `--sample` leaves out."""
    for item in items:
        if item.nodeid in SMOKE or item.nodeid.startswith(SMOKE_STARTS):
            item.add_marker("smoke")
    exhaustive, step = config.getoption("--exhaustive"), config.getoption("--sample")
    left_out = [
        item
        for item in items
        if (item.get_closest_marker("exhaustive") and not exhaustive) or not is_sampled(item.nodeid, step)
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        deselected = set(left_out)
        items[:] = [item for item in items if item not in deselected]


def is_sampled(nodeid: str, step: int) -> bool:
    """Return whether a test is in the sample of one test in `step`. The hash of its id decides."""
    return zlib.crc32(nodeid.encode(errors="backslashreplace")) % max(step, 1) == 0


@given(st.none())
def _hypothesis_runs(_: None) -> None:
    pass


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collections: with all tests one takes 0.65 seconds of a processor.

    Hypothesis makes its random generator in its first run, and warns if the collector does not see who refers to it.
    Python 3.14 always tracks the dictionary that does, so that run comes before the dictionary is excluded.
    """
    _hypothesis_runs()
    gc.collect()
    gc.freeze()


def pytest_report_header(config: pytest.Config) -> str:
    """Name the device under test; tests that need none still run where there is none."""
    import clarray

    try:
        with clarray.device(None) as device:
            return f"clarray device: {device}"
    except Exception as error:  # whatever is wrong, the tests themselves say it better
        return f"clarray device: none ({error})"
