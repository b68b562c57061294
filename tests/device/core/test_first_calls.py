"""What NumPy computes in a kernel's place while there is none: the same bits, and nothing that differs otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clarray
from clarray import DeviceArray
from clarray._engine.expr.host_value import Undefined, host_value, is_host_exact_tree
from clarray._engine.launch.host_tier import MOST_ELEMENTS, TieredKernel, kernels_only, setting
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._engine.ops.host_functions import integer_range, is_host_exact, is_host_exact_cast
from clarray._engine.ops.ufuncs import supported_ufuncs
from clarray._engine.runtime import Device, Kernel, current_device, programs
from clarray._engine.speedups import native

from ...caches import copy_device_record
from ..conftest import DTYPES, policy_in_force
from .test_recordings import python_calls
from .test_statement_launches import STATEMENTS, _double, _names

ROOT = Path(__file__).resolve().parents[3]
ALIKE = [name for name in DTYPES if is_host_exact(np.dtype(name))]
ODD = 12345  # stands for NaN, whose bits are open
AT_ONCE = 24  # expressions that one kernel computes

capabilities = current_device().capabilities
pytestmark = [
    pytest.mark.kernels_alone,
    pytest.mark.skipif(
        capabilities.kind != "cpu" or not capabilities.host_memory, reason="there are first calls on CPUs only"
    ),
]


@pytest.fixture
def first_calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """First calls by NumPy, as many as it takes some seconds to make, unless a test says otherwise."""
    cache = kernel_cache_of(current_device())
    before = cache.prepared, cache.rendered

    def wanted(prefetch_after: float = 1e9, compile_after: float = 1e9) -> None:
        monkeypatch.setattr(setting, "on", True)
        monkeypatch.setattr(setting, "prefetch_after", prefetch_after)
        monkeypatch.setattr(setting, "compile_after", compile_after)
        cache.prepared, cache.rendered = {}, {}

    wanted()
    yield wanted
    cache.prepared, cache.rendered = before


# The same bits --------------------------------------------------------------------------------------


def extremes(dtype: np.dtype) -> np.ndarray:
    """Numbers at which implementations may differ, and random bits."""
    bits = np.random.default_rng(0).integers(0, 256, 24 * dtype.itemsize, np.uint8)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        few = [0, 1, 2, 3, 7, 8, 31, 63, 64, 100, high, high - 1, high // 2, low, low + 1, low // 2]
        return np.concatenate([np.array([*few, *([-1, -2, -7] if low else [])], dtype), bits.view(dtype)])
    info = np.finfo(dtype)
    numbers = [0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 1e-3, 1 / 3, 7.9, 255.5, 2.0**23 + 0.5, 2.0**31, 2.0**63, np.inf, np.nan]
    numbers += [float(x) for x in (info.max, info.tiny, info.smallest_subnormal, info.eps, info.tiny / 3, 1 + info.eps)]
    return np.concatenate([np.array([*numbers, *(-x for x in numbers)], dtype), bits.view(dtype)])


def operand(dtype: str, seed: int) -> DeviceArray:
    return clarray.array(np.random.default_rng(seed).choice(extremes(np.dtype(dtype)), 1500))


def calls(dtype: str) -> dict[str, list[tuple[str, DeviceArray]]]:
    """What each ufunc makes of numbers of a dtype, as far as NumPy may compute it, by the dtype of that."""
    x, y, z = (operand(dtype, seed) for seed in range(3))
    exponents, signed, unsigned = operand("int32", 3), operand("int64", 4), operand("uint64", 5)
    found: dict[str, list[tuple[str, DeviceArray]]] = {}
    for ufunc in supported_ufuncs:
        pairs = (
            [(x, y)]
            + [(x, exponents)] * (ufunc is np.ldexp)
            + [(signed, unsigned), (unsigned, signed)] * (dtype == "int64" and ufunc.types[-1].endswith("?"))
        )
        for args in {1: [(x,)], 2: pairs, 3: [(x, y, z)]}[ufunc.nin]:
            try:
                with np.errstate(all="ignore"):
                    results: Any = ufunc(*args)
            except (TypeError, ValueError):  # there is no such loop, or a power is negative
                continue
            for result in results if isinstance(results, tuple) else (results,):
                if is_host_exact(result.dtype) and result._node.args and is_host_exact_tree(result._node):
                    found.setdefault(result.dtype.name, []).append((ufunc.__name__, result))
    return found


def differing(found: list[tuple[str, DeviceArray]]) -> set[str]:
    """Whose bits NumPy and a kernel compute differently: of expressions of one dtype, computed element by element."""
    wrong = set()
    for part in (found[at : at + AT_ONCE] for at in range(0, len(found), AT_ONCE)):
        size = part[0][1].size
        number = np.resize(np.arange(len(part), dtype=np.uint8), size)
        turns = clarray.array(number)
        one: Any = None
        for at, (_, value) in enumerate(part):
            known = clarray.where(clarray.isnan(value), ODD, value) if value.dtype.kind == "f" else value
            one = known if one is None else clarray.where(turns == at, known, one)
        assert is_host_exact_tree(one._node)
        clarray.synchronize()
        with np.errstate(all="ignore"):
            theirs = np.array(host_value(one._node))
        ours = clarray.asnumpy(one)
        bits = [a.view(np.uint8).reshape(size, -1) for a in (ours, theirs)]
        wrong |= {part[k][0] for k in number[(bits[0] != bits[1]).any(axis=1)]}
    return wrong


@pytest.mark.parametrize("dtype", ALIKE)
def test_ufuncs_give_the_bits_of_the_kernels(dtype: str) -> None:
    found = calls(dtype)
    assert found.keys() >= {dtype, "bool"}
    assert {result: wrong for result, part in found.items() if (wrong := differing(part))} == {}


@pytest.mark.parametrize("dtype", ALIKE)
def test_conversions_give_the_bits_of_the_kernels(dtype: str) -> None:
    found = []
    for source in ALIKE:
        assert is_host_exact_cast(np.dtype(source), np.dtype(dtype))
        value = operand(source, 6)
        if value.dtype.kind == "f" and np.dtype(dtype).kind in "iu":
            low, high = integer_range(np.dtype(dtype))
            value = clarray.where((value >= low) & (value < high), value, 1)
        found.append((source, value.astype(dtype)))
    assert differing(found) == set()


REDUCTIONS = ["sum", "prod", "max", "min", "any", "all", "count_nonzero", "nanmax", "ptp"]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32"])
def test_reductions_give_the_bits_of_the_kernels(dtype: str) -> None:
    values = np.random.default_rng(0).choice(extremes(np.dtype(dtype)), (5, 40))
    x = clarray.array(values[:, np.isfinite(values).all(axis=0)])
    computed = set()
    for name, axis in product(REDUCTIONS, (None, 1)):
        try:
            found = getattr(clarray, name)(x, axis=axis)
        except TypeError:  # of bools NumPy subtracts none
            continue
        if found._node.memory is None and is_host_exact_tree(found._node):
            computed.add(name)
            clarray.synchronize()
            with np.errstate(all="ignore"):
                theirs = np.array(host_value(found._node))
            assert clarray.asnumpy(found).tobytes() == theirs.tobytes(), name
    assert computed >= {"max", "any", "count_nonzero"}
    assert ("sum" in computed) == (dtype != "float32")


def test_what_is_not_defined_is_not_computed() -> None:
    for text in ("x - x", "x.max()", "clarray.array([0.0, -0.0]).min()", "x.astype(int)", "(x + 300).astype('u1')"):
        node = eval(text, {"x": clarray.array([np.inf, -np.nan, 1.0]), "clarray": clarray})._node
        assert is_host_exact_tree(node)
        clarray.synchronize()
        with np.errstate(all="ignore"), pytest.raises(Undefined):
            host_value(node)


@pytest.mark.parametrize(
    "text",
    [
        *("np.exp(f)", "f ** f", "f // f", "f % f", "np.clip(f, 0, 1)", "np.copysign(f, f)", "f.sum()", "f.mean()"),
        *("f.astype(np.float16)", "f + 1j", "np.frexp(f)[0]", "i ** i", "f.argmax()", "f.prod()"),
        "f.max(where=f > 0, initial=0)",
    ],
)
def test_the_rest_is_left_to_kernels(text: str) -> None:
    names = {"f": clarray.ones(3, np.float32), "i": clarray.ones(3, np.int32), "np": np}
    assert not is_host_exact_tree(eval(text, names)._node)


# When --------------------------------------------------------------------------------------------------


def profiled(body: Callable[[], Any]) -> tuple[int, int]:
    """First calls, and launches."""
    with clarray.profile() as p:
        body()
    return p.first_calls, p.launches


def test_first_calls_are_no_launches(first_calls: Any) -> None:
    x = clarray.array(np.arange(12, dtype=np.float32).reshape(3, 4))
    before = {*kernel_cache_of(x.device).device._programs}

    def body() -> None:
        assert ((x + 1) * x).tolist() == ((np.arange(12) + 1.0) * np.arange(12)).reshape(3, 4).tolist()
        x[1:, ::2] = x.T[:2, 1:] * 2
        assert float(x.max()) == 18
        assert int((x > 3).sum()) == 8

    with clarray.profile() as p:
        body()
    assert (p.first_calls, p.launches, p.builds) == (5, 0, 0)
    assert {r.name for r in p.records if r.kind == "first call"} == {"multiply", "copy", "maximum", "add"}
    assert "first call" in str(p)
    assert {*x.device._programs} == before


@pytest.mark.parametrize("dtype", ["float16", "complex64", "int8"])
def test_a_copy_and_what_reads_in_its_order_share_a_kernel(dtype: str, first_calls: Any) -> None:
    host = np.arange(6).reshape(2, 3).astype(dtype)
    x = clarray.array(host.T.copy()).T
    copied = clarray.zeros((2, 3), dtype)
    copied[...] = x
    np.testing.assert_array_equal(copied.get(), host)
    np.testing.assert_array_equal(x[x != 2].get(), host[host != 2])


def test_what_is_large_inexact_or_undefined_is_launched(first_calls: Any) -> None:
    small, large = clarray.ones(8), clarray.ones(MOST_ELEMENTS + 1)
    assert profiled(lambda: (small * 3).evaluate()) == (1, 0)
    assert profiled(lambda: (large * 3).evaluate()) == (0, 1)
    assert profiled(lambda: (clarray.broadcast_to(small[:1], large.shape) * 3).evaluate()) == (0, 1)
    assert profiled(lambda: float((large > 0).sum())) == (0, 1)
    assert profiled(lambda: np.sin(small).evaluate()) == (0, 1)
    small[3] = np.nan
    assert profiled(lambda: (small * 4).evaluate()) == (0, 1)
    setting.on = False
    assert profiled(lambda: (small * small + small).evaluate()) == (0, 1)


@pytest.mark.parametrize("statement", [statement for statement, _ in STATEMENTS])
def test_statements_that_overwrite_what_they_read(statement: str, first_calls: Any) -> None:
    expected: dict[str, Any] = {**_names(), "double": _double, "np": np}
    found = {name: clarray.array(a) if isinstance(a, np.ndarray) else a for name, a in expected.items()}
    exec(statement, expected)
    rounded_otherwise = any(part in statement for part in ("@", "sum", "1j"))
    assert profiled(lambda: exec(statement, found))[0] or rounded_otherwise
    for name, value in expected.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(clarray.asnumpy(found[name]), value)


def test_pending_work_is_waited_for(first_calls: Any) -> None:
    x = clarray.ones(1 << 22, np.float32)
    y = np.sin(x)  # the device's threads compute it, and return at once
    y.evaluate()
    part = y[-5:] * 2
    assert part.tolist() == (np.sin(np.ones(5, np.float32)) * 2).tolist() or np.allclose(part.get(), 2 * np.sin(1))
    assert float(part[0]) == 2 * float(y[-1])


# The kernel in the end ---------------------------------------------------------------------------------

# Statements, one for each way in which a kernel goes through memory.
LAYOUTS = {
    "flat": "a[:] = b * 2 + a",
    "strided": "a[1:, ::2] = b[:-1, 1::2] - a[1:, ::2]",
    "broadcast": "a[:] = b[0] * b[:, :1] + 2",
    "transposed": "a[:20, :20] = b.T[:20, :20] + c[:20, :20].T",
    "index": "a[:] = np.arange(30, dtype=np.float32) + b",
    "number": "s[...] = (b * a).max()",
    "rows": "r[:] = (b > a).sum(axis=1)",
    "columns": "t[:] = (b > a).sum(axis=0) + 1",
}


def arrays() -> dict[str, Any]:
    r = np.random.default_rng(0)
    floats = {name: r.integers(1, 99, (24, 30)).astype(np.float32) for name in "abc"}
    return floats | {"s": np.zeros((), np.float32), "r": np.zeros(24, int), "t": np.zeros(30, int)}


@pytest.mark.parametrize("policy", ["own", "tiny-gpu"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_kernel_is_compiled_beside_and_touches_nothing(policy: str, layout: str, first_calls: Any) -> None:
    with policy_in_force(policy):
        first_calls(compile_after=0.0)
        statement = LAYOUTS[layout]
        expected = arrays()
        names = {name: clarray.array(value) for name, value in expected.items()} | {"np": clarray}
        found = []
        for _ in range(600):
            exec(statement, {"np": np}, expected)
            found.append(profiled(lambda: exec(statement, names)))
            for name, value in expected.items():
                np.testing.assert_array_equal(names[name].get(), value, name)
            if not found[-1][0] and not found[-2][0]:
                break
            time.sleep(0.01)
        assert found[0][0]
        assert not found[0][1]
        assert found[-1][1], "the kernel has not come"


def test_one_call_that_waits_for_the_machine_is_not_often(first_calls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a program of a single sum would render a kernel, for which Mako is imported, on a machine that is busy."""
    first_calls(prefetch_after=0.001)
    looked: list[Any] = []

    def slow(root: Any) -> Any:
        time.sleep(0.01)
        return host_value(root)

    monkeypatch.setattr("clarray._engine.launch.host_tier.host_value", slow)
    monkeypatch.setattr(TieredKernel, "prefetch", lambda *given: looked.append(given))
    x = clarray.asarray(np.arange(10))
    (x * 3 - 2).evaluate()
    assert not looked
    (x * 3 - 2).evaluate()
    assert looked


def test_what_cannot_be_compiled_raises_at_the_launch(first_calls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise RuntimeError("no such compiler")

    monkeypatch.setattr(programs, "compile_source", refuse)
    monkeypatch.setattr(programs.Program, "_load", refuse)
    monkeypatch.setattr(current_device(), "_programs", {})
    first_calls(compile_after=0.0)
    x = clarray.array(np.arange(5, dtype=np.int16))

    def work() -> None:
        for _ in range(600):
            assert (x * 3 - x).tolist() == [0, 2, 4, 6, 8]
            time.sleep(0.01)

    with pytest.raises(RuntimeError, match="no such compiler"):
        work()


@pytest.mark.parametrize("kept", [True, False])
def test_a_kernel_that_is_kept_is_loaded_soon(kept: bool, first_calls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first_calls(prefetch_after=0.0)
    monkeypatch.setattr(Kernel, "is_stored", lambda kernel, inline: kept)
    x = clarray.ones(5, np.int32)
    for times in ((1, 0), *[(0, 1) if kept else (1, 0)] * 5):  # without waiting: no thread gets in between
        assert profiled(lambda: (x - 7 * x).evaluate()) == times


def test_kernels_only(first_calls: Any) -> None:
    x = clarray.ones(5, np.int32)
    assert profiled(lambda: (x - 5 * x).evaluate()) == (1, 0)
    with kernels_only():
        assert profiled(lambda: (x - 5 * x).evaluate()) == (0, 1)
    assert profiled(lambda: (x - 5 * x).evaluate()) == (0, 1), "its kernel is there"
    assert profiled(lambda: (5 * x - x).evaluate()) == (1, 0)


def test_threads_share_one_kernel(first_calls: Any) -> None:
    first_calls(compile_after=0.0)
    x = clarray.array(np.arange(7, dtype=np.float32))
    wrong = []

    def work() -> None:
        for _ in range(300):
            found = (x * x - 3 * x).tolist()
            if found != [k * k - 3.0 * k for k in range(7)]:
                wrong.append(found)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# Statements, and the functions of Python's that they go through where the core does all else.
LARGE = {"x[1:] = x[:-1] + y[1:]": 0, "y += x": 0, "x[::2] = y[::2] * 2": 0, "y[:] = x - x[:-5].max()": 1}


@pytest.mark.skipif(native is None, reason="there is no compiled core")
@pytest.mark.parametrize(
    ("statement", "size"),
    # the last is in two launches there, which Python prepares
    [(s, n) for s, n in product(LARGE, (3 * MOST_ELEMENTS, 1 << 19)) if not ("max" in s and n > 1 << 18)],
)
def test_what_is_too_large_for_numpy_is_the_cores(
    statement: str, size: int, first_calls: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the calling thread computes it or the device's own."""
    monkeypatch.setattr(Device, "several", False)
    host = {name: np.random.default_rng(k).integers(0, 9, size).astype(np.float32) for k, name in enumerate("xy")}
    code = compile(statement, "", "exec")
    least = 1000
    for few in (*[size] * 12, 9):
        expected = {name: value[:few].copy() for name, value in host.items()}
        found = {name: clarray.array(value) for name, value in expected.items()}
        exec(code, expected)
        calls = python_calls(partial(exec, code, found))
        least = calls if few == size and calls < least else least
        for name, value in expected.items():
            np.testing.assert_array_equal(clarray.asnumpy(found[name]), value)
    assert least <= LARGE[statement]


# In a process of its own ---------------------------------------------------------------------------------

START = """
import os, sys, threading, time
import numpy as np
import clarray
from clarray._engine.launch.host_tier import setting
from clarray._engine.runtime import compiling
setting.compile_after = 0.0
x = clarray.array(np.arange(5, dtype=np.float32))
for k, each in enumerate((x * 2, x * 2 - x, (x + 1) / x, x.max(), x - 1 - x)):
    each.evaluate()
"""
ENDS = {
    "ends while kernels are compiled": "",
    "ends by an error": "sys.exit(3)",
    "forks while kernels are compiled": """
child = os.fork()
if not child:
    try:
        y = clarray.ones(5) * 2 - 1
        y.evaluate()
    except RuntimeError as error:
        assert "fork" in str(error), error
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
assert (x * 2).tolist() == [0, 2, 4, 6, 8]
""",
    "resets its device while kernels are compiled": """
clarray.reset()
y = clarray.ones(5, np.float32)
for _ in range(300):
    assert (y * 2).tolist() == [2] * 5
    time.sleep(0.001)
""",
    "writes to stderr while kernels are compiled": "os.write(2, b'as it comes'); time.sleep(0.2)",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_process(end: str, tmp_path: Path) -> None:
    if "os.fork" in ENDS[end] and not hasattr(os, "fork"):
        pytest.skip("forking is Unix's")
    copy_device_record(tmp_path)
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"CLARRAY_TIER": "1", "CLARRAY_CACHE_DIR": str(tmp_path), "PYTHONPATH": paths}
    command = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-c", START + ENDS[end]]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (3 if "error" in end else 0, "as it comes" if "stderr" in end else "")


@pytest.mark.exhaustive  # the suite itself runs these files so, unless it is started with CLARRAY_TIER=0
def test_loops_of_statements_with_first_calls() -> None:
    """What compares statements of all kinds with NumPy does so with NumPy in the kernels' place."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:benchmark"]
    command += ["tests/device/whole/test_statements_machine.py", "tests/device/core/test_aliasing.py"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")} | {"CLARRAY_TIER": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
