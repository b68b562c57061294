"""Have kernels compute, too, what NumPy computes in their place, and compare: a plugin of pytest, and the fuzzer's.

    first call, small call  ->  NumPy computes  ->  its writes are undone  ->  the kernels compute  ->  the same bits?

By default NumPy computes small values until a kernel has been compiled, so most of the suite's statements would launch
nothing. Here each of them is computed in both ways. What the compiled core copies by a few indices is not seen here:
``tests/device/indexing/test_few_indices.py`` compares that.
"""

from __future__ import annotations

import inspect
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

Function = Callable[..., Any]

# NumPy leaves open how a partition orders its parts. Kernels sort small arrays, unless a test has them select.
ORDER_IS_OPEN = ("partition", "argpartition")

# Where an operand overlaps the target, these of NumPy's read what they have written.
READ_WRITTEN = ("place", "fill_diagonal")

counts: Counter[str] = Counter()  # 'both': computed in both ways; and what NumPy alone computed, by its name
found: list[str] = []  # differences, for where a test expects an error of any kind
_inside = threading.local()
_paused = False


@contextmanager
def paused() -> Iterator[None]:
    """For a test that says itself what NumPy computes, and what kernels."""
    global _paused
    _paused = True
    try:
        yield
    finally:
        _paused = False


def _is_off() -> bool:
    return _paused or getattr(_inside, "kernels", False)


def install() -> None:
    """Compare from here on, in this process."""
    import clarray
    from clarray._api import small_functions
    from clarray._core import host_calls, small_calls, small_indexing
    from clarray._engine.launch import host_tier
    from clarray._numpy.products import gufuncs, products

    ours: dict[int, Function] = {}
    for table, home in ((small_functions.METHODS, clarray.DeviceArray), (small_functions.FUNCTIONS, clarray)):
        ours |= {id(rule): _by_clarray(getattr(home, name)) for name, rule in table.items()}
    for function in (gufuncs._small_product, products._dot, products._inner):
        ours[id(_closed_over(function)["rule"])] = _by_clarray(function)
    writes: dict[Any, Function] = {
        entry[0]: _by_clarray(getattr(home, name))
        for table, home in ((small_functions.WRITES, clarray), (small_functions.WRITING_METHODS, clarray.DeviceArray))
        for name, entry in table.items()
    }
    host_tier.HostLaunch._run = _checked_first_call(host_tier.HostLaunch._run)  # type: ignore[method-assign]
    small_calls._try_on_host = _checked_call(small_calls._try_on_host, ours)
    small_calls._try_write = _checked_write(small_calls._try_write, writes)
    small_indexing._take = _checked_getitem(small_indexing._take)
    small_indexing._put = _checked_setitem(small_indexing._put)
    for module in (host_calls, host_tier):
        module.current_capture = _without_capture(module.current_capture)  # type: ignore[attr-defined]


def _without_capture(current_capture: Function) -> Function:
    """Abort captures with host calls: programs would repeat these calls, and nothing would compare them."""
    from clarray._engine.runtime.capture import abort_capture

    def current() -> Any:
        if not _is_off():
            abort_capture()
        return current_capture()

    return current


def _by_clarray(function: Any) -> Function:
    """What computes a function's calls that NumPy does not."""
    found: Function = _closed_over(function)["ours"]
    return found


def _closed_over(function: Any) -> Mapping[str, Any]:
    """What the function that asks NumPy first, below its decorators, is made with."""
    while not inspect.isfunction(function) or "ours" not in function.__code__.co_freevars:
        function = function.__wrapped__
    return inspect.getclosurevars(function).nonlocals


# The plugin -------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True, scope="session")
def statements_in_both_ways() -> None:
    """Compare wherever NumPy computes in the place of kernels."""
    install()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["both ways"] = dict(counts), found


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add what a worker of ``pytest -n`` has counted."""
    counted, differences = getattr(node, "workeroutput", {}).get("both ways", ({}, []))
    counts.update(counted)
    found.extend(differences)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many statements NumPy computed in the place of kernels, and how many of them were not compared."""
    both = counts["both"]
    alone = counts.total() - both
    terminalreporter.write_line(
        f"NumPy computed {both + alone} statements in the place of kernels, {alone} of them alone"
    )
    for name, count in counts.most_common(6):
        if name != "both":
            terminalreporter.write_line(f"  {name}: {count}")
    for difference in found[:20]:
        terminalreporter.write_line(difference)


# Both ways --------------------------------------------------------------------------------------------


def _checked_first_call(original: Function) -> Function:
    def run(self: Any) -> bool:
        from clarray._engine.expr.host_value import host_array

        if _is_off():
            return original(self)
        memory = self._target.memory
        with memory.device.lock:
            memory.device.finish()
            target = host_array(self._target)
            before = target.copy()
            is_computed: bool = original(self)
            memory.device.finish()
            value = target.copy()
            target[...] = before
            for launch in self._launches():
                launch.run()
            memory.device.finish()
            _compare(value, target, getattr(self._root.op, "name", "copy"))
            return is_computed

    return run


def _checked_call(original: Function, ours: dict[int, Function]) -> Function:
    from clarray._core.host_calls import NOT_COMPUTED

    def tried(rule: Any, device: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with device.lock:  # another thread may write between the two ways
            return compared(rule, device, args, kwargs)

    def compared(rule: Any, device: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        value = original(rule, device, args, kwargs)
        if value is not NOT_COMPUTED and not _is_off():
            name = rule.numpys.__name__
            function = ours.get(id(rule))
            if function is None or (name == "searchsorted" and not _is_sorted(_on_host(args[0]))):
                counts[name] += 1  # what is found in an array that is not sorted is open
            else:
                _by_kernels(name, value, function, *args, **kwargs)
        return value

    return tried


def _checked_write(original: Function, writes: dict[Any, Function]) -> Function:
    def written(target: Any, numpys: Function, args: tuple[Any, ...], values: tuple[int, ...], most: int) -> Any:
        return _compared_write(
            target, lambda: original(target, numpys, args, values, most), numpys.__name__, writes[numpys], *args
        )

    return written


def _checked_getitem(original: Function) -> Function:
    from clarray._core.device_array import wrap
    from clarray._core.host_calls import NOT_COMPUTED

    def take(node: Any, key: Any, device: Any) -> Any:
        value = original(node, key, device)
        if value is not NOT_COMPUTED and not _is_off():
            array = wrap(node)
            _by_kernels("getitem", value, type(array).__getitem__, array, key.items)
        return value

    return take


def _checked_setitem(original: Function) -> Function:
    from clarray._core.device_array import wrap

    def put(node: Any, key: Any, value: Any, device: Any) -> Any:
        array = wrap(node)
        return _compared_write(
            array,
            lambda: original(node, key, value, device),
            "setitem",
            type(array).__setitem__,
            array,
            key.items,
            value,
        )

    return put


def _compared_write(target: Any, original: Callable[[], Any], name: str, function: Function, *args: Any) -> Any:
    from clarray._core.host_calls import NOT_COMPUTED
    from clarray._core.small_operands import window
    from clarray._engine.launch.host_tier import setting

    if _is_off() or not setting.on:
        return original()
    memory = target._node.memory
    if memory is None or memory.elements(target.dtype) is None:
        return original()
    with memory.device.lock:
        memory.device.finish()
        elements = window(target._node)
        if name in READ_WRITTEN and any(_overlaps(elements, one) for one in args[1:]):
            counts["overlapping"] += 1
            return original()
        before = elements.copy()
        if original() is NOT_COMPUTED:
            return NOT_COMPUTED
        value = elements.copy()
        elements[...] = before
        _by_kernels(name, value, lambda *args: (function(*args), target)[1], *args)
        elements = window(target._node)
        memory.device.finish()
        elements[...] = value
    return None


def _overlaps(elements: np.ndarray, operand: Any) -> bool:
    from clarray._core.small_operands import window

    node = getattr(operand, "_node", None)
    return node is not None and np.may_share_memory(elements, window(node))


def _by_kernels(name: str, value: Any, function: Function, *args: Any, **kwargs: Any) -> None:
    """Call a function without small calls and first calls, and compare its result."""
    from clarray._engine.launch.host_tier import kernels_only

    _inside.kernels = True
    try:
        with kernels_only(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            again = function(*args, **kwargs)
            _compare(value, again, name)
    finally:
        _inside.kernels = False


def _compare(numpys: Any, ours: Any, name: str) -> None:
    counts["both"] += 1
    if name in ORDER_IS_OPEN:
        numpys, ours = np.sort(_on_host(numpys), None), np.sort(_on_host(ours), None)
    if bits_of(numpys) != bits_of(ours):
        found.append(f"{name}: NumPy gave {numpys!r}, the kernels {ours!r}")
        raise AssertionError(found[-1])


def bits_of(value: Any) -> Any:
    """Return what two results have in common if they have the same bits. NaN's sign and payload are open."""
    if isinstance(value, tuple | list):
        return type(value).__name__, *map(bits_of, value)
    if not hasattr(value, "dtype"):
        is_plain = isinstance(value, bool | int | float | complex | str)
        return type(value).__name__, repr(value) if is_plain else ""
    host = _on_host(value)
    shape, dtype = host.shape, host.dtype
    if dtype.kind in "fc":
        host = np.ascontiguousarray(host).view(host.real.dtype)
        host = np.where(np.isnan(host), np.nan, host)
    return dtype, shape, host.tobytes()


def _is_sorted(values: np.ndarray) -> bool:
    return np.array_equal(values, np.sort(values), equal_nan=True)


def _on_host(value: Any) -> np.ndarray:
    import clarray

    return clarray.asnumpy(value) if isinstance(value, clarray.DeviceArray) else np.asarray(value)
