"""Functions that NumPy computes on small arrays where they lie: NumPy's bits and layout, and those of the kernels."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray
from clarray import DeviceArray
from clarray._api.small_functions import FUNCTIONS, METHODS, WRITES, WRITING_METHODS
from clarray._core.small_operands import MAX_ELEMENTS, supports_small_calls
from clarray._engine.launch.host_tier import kernels_only, setting
from clarray._engine.runtime import current_device

from ..conftest import check_same, outcome

pytestmark = [
    pytest.mark.kernels_alone,
    pytest.mark.usefixtures("quick_builds"),
    pytest.mark.skipif(
        not supports_small_calls(current_device()), reason="there are small calls on CPUs only, of all dtypes"
    ),
]
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "contiguous": lambda x: x,
    "strided": lambda x: x[::2, 1:],
    "transposed": lambda x: x.T,
    "backwards": lambda x: x[::-1, ::-1],
    "empty": lambda x: x[:0],
}
# Where results are only said to be equal: of equal elements, NumPy's sort gives any first, and of two zeros either.
EQUAL = ("sort", "partition", "unique", "union1d", "intersect1d", "setdiff1d", "setxor1d", "argpartition", "argsort")

PADDED = ["xp.pad(v, 2)", "xp.pad(v, 2, constant_values=3)"]
# Calls with a matrix x, a vector v, a mask m of x's shape and positions i.
CALLS: dict[str, list[str]] = {
    "argmax": ["xp.argmax(x)", "xp.argmax(x, 1)", "x.argmax(axis=0, keepdims=True)"],
    "argmin": ["xp.argmin(x)", "x.argmin(0)"],
    "argsort": ["xp.argsort(v, kind='stable')", "x.argsort(axis=0, kind='stable')"],
    "argpartition": ["v[xp.argpartition(v, 3)][3]"],
    "nonzero": ["xp.nonzero(x)", "v.nonzero()"],
    "flatnonzero": ["xp.flatnonzero(x)"],
    "argwhere": ["xp.argwhere(x)"],
    "count_nonzero": ["xp.count_nonzero(x)", "xp.count_nonzero(x, axis=1)"],
    "searchsorted": ["xp.searchsorted(xp.sort(v), v)", "xp.sort(v).searchsorted(v[1], side='right')"],
    "digitize": ["xp.digitize(v, v[:1])"],
    "lexsort": ["xp.lexsort((v, v[::-1]))"],
    "array_equal": ["xp.array_equal(x, x)", "xp.array_equal(x, v)"],
    "isin": ["xp.isin(x, v[:3])"],
    "sort": ["xp.sort(x)", "xp.sort(x, axis=None)", "xp.sort(x, axis=0, stable=True)"],
    "partition": ["xp.partition(v, 3)[3]"],
    "unique": ["xp.unique(x)", "xp.unique(v, return_counts=True)", "xp.unique(x, axis=0)"],
    "union1d": ["xp.union1d(x, v)"],
    "intersect1d": ["xp.intersect1d(x, v)"],
    "setdiff1d": ["xp.setdiff1d(x, v)"],
    "setxor1d": ["xp.setxor1d(x, v)"],
    "take": ["xp.take(x, i)", "x.take(i, axis=1, mode='wrap')", "xp.take(v, [0, -1])", "v.take(99)"],
    "compress": ["xp.compress(m[0], x, axis=1)", "v.compress([True, False, True])"],
    "extract": ["xp.extract(m, x)"],
    "delete": ["xp.delete(v, 1)", "xp.delete(x, slice(0, 2), axis=1)"],
    "repeat": ["xp.repeat(x, 3)", "x.repeat(2, axis=0)", "v.repeat(i % 2)"],
    "tile": ["xp.tile(x, 2)", "xp.tile(v, (2, 3))"],
    "roll": ["xp.roll(x, 1)", "xp.roll(x, (1, -2), (0, 1))"],
    "resize": ["xp.resize(x, (3, 5))", "xp.resize(v, 20)"],
    "pad": ["xp.pad(x, ((1, 0), (2, 1)), 'edge')", "xp.pad(v, 1, 'reflect')", *PADDED],
    "diag": ["xp.diag(v)", "xp.diag(v, -1)", "xp.diag(x)"],
    "diagflat": ["xp.diagflat(v, 1)"],
    "insert": ["xp.insert(v, 1, v[0])", "xp.insert(x, 0, 1, axis=1)"],
    "concatenate": ["xp.concatenate([x, x], 1)", "xp.concatenate((v, v[::-1]))", "xp.concatenate([x, x], None)"],
    "stack": ["xp.stack([v, v])", "xp.stack((x, x), axis=-1)"],
    "vstack": ["xp.vstack([x, x])"],
    "hstack": ["xp.hstack([x, x])"],
    "dstack": ["xp.dstack([x, x])"],
    "column_stack": ["xp.column_stack([v, v])"],
    "append": ["xp.append(x, v)", "xp.append(v, 1)"],
    "block": ["xp.block([[x, x], [x, x]])"],
    "packbits": ["xp.packbits(m)", "xp.packbits(i.astype('u1'), axis=-1, bitorder='little')"],
    "unpackbits": ["xp.unpackbits(m.view('u1'))", "xp.unpackbits(m.view('u1'), axis=1, count=11)"],
    "bincount": ["xp.bincount(i)", "xp.bincount(i, minlength=9)"],
    "cumsum": ["xp.cumsum(x)", "x.cumsum(axis=0)"],
    "cumprod": ["xp.cumprod(v)", "x.cumprod(1)"],
    "convolve": ["xp.convolve(v, v[:3])"],
    "correlate": ["xp.correlate(v, v[:3], 'full')"],
    "vdot": ["xp.vdot(v, v)"],
    "kron": ["xp.kron(x, v)"],
    "allclose": ["xp.allclose(x, x)", "xp.allclose(v, v[::-1], equal_nan=True)"],
}
ASSIGNED = [
    *("v[i] = 7", "v[i] = v[::-1][i]", "v[v > 2] = 0", "v[v > 2] += 1", "x[m] = 3", "x[i % 2, i % 2] = v[i]"),
    *(
        "x[[0, 1]] = 2",
        "x[:, i % 2] = 1",
        "x[m[:, 0]] = 5",
        "v[[]] = 1",
        "x[True] = 2",
        "v[i] = True",
        "v[::2][i // 3] = v[1]",
    ),
    *(
        "xp.put(v, i, 9)",
        "v.put(i, v[:2])",
        "xp.place(x, m, v[:1])",
        "xp.putmask(x, m, v[:2])",
        "v.sort()",
        "x.sort(0)",
    ),
    *(
        "xp.fill_diagonal(x, 3)",
        "xp.put_along_axis(x, x.argsort(1)[:, :1], 8, 1)",
        "v.partition(2); v = v[2:3]",
        "v[i] = 2.5",
    ),
]
PRODUCTS = ["xp.dot(x, x.T)", "v.dot(v)", "xp.dot(v, 2)", "xp.inner(x, x)", "xp.outer(v, x)"]
PICKED = [
    *(
        "v[i]",
        "x[m]",
        "v[v > 2]",
        "x[i % 2]",
        "x[i % 2, i % 3]",
        "x[:, i % 2]",
        "x[i[:, None] % 2, i % 3]",
        "v[[1, 0]]",
    ),
    *(
        "x[m[:, 0]]",
        "x[[True, False, True]]",
        "v[[]]",
        "v[i[0]]",
        "x[None, i % 2]",
        "x[..., i % 2]",
        "v[i == 1]",
        "v[True]",
    ),
    *("v[99]", "v[[99]]", "v[i * 9]", "x[m[:1]]", "v[v]", "x[i % 2, :2]", "x[1, i % 2]", "x[i % 2, None]", "x[m, 0]"),
]


def operands(xp: Any, dtype: str, layout: str = "contiguous") -> dict[str, Any]:
    """The same for NumPy and for clarray: small numbers that repeat, zeros of both signs, NaNs with a sign."""
    x = (np.arange(36) * 5 % 7).astype(dtype).reshape(4, 9)
    if x.dtype.kind in "fc":
        x[0, :4] = [np.nan, -0.0, 0.0, np.inf]
        x[1, 3] = -np.nan
    seen = LAYOUTS[layout](x)
    made = {"v": seen.ravel()[:9].copy(), "m": np.ascontiguousarray(seen != 0), "i": np.array([2, 0, 1, 2, 5])}
    return {"x": LAYOUTS[layout](xp.array(x)), "xp": xp, **{name: xp.array(value) for name, value in made.items()}}


def run(xp: Any, text: str, dtype: str, layout: str = "contiguous") -> tuple[Any, Exception | None]:
    names = operands(xp, dtype, layout)

    def body(_: Any) -> Any:
        if text in ASSIGNED:
            exec(text, names)
            return [names["x"], names["v"]]
        return eval(text, names)

    with np.errstate(all="ignore"):
        return outcome(body, xp)


def bits(value: Any, strides: bool = True) -> Any:
    """All that can be told of a result."""
    if isinstance(value, tuple | list):
        return [type(value), *(bits(one, strides) for one in value)]
    if not isinstance(value, DeviceArray | np.ndarray | np.generic):
        return type(value), value
    host = np.asarray(value)
    steps = zip(value.shape, value.strides, strict=True) if strides and value.size else ()
    return host.dtype, host.shape, [step for extent, step in steps if extent > 1], host.tobytes()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setting, "on", True)


def test_every_function_has_calls() -> None:
    assert CALLS.keys() == FUNCTIONS.keys()
    assert METHODS.keys() <= CALLS.keys()
    assert {*WRITES, *WRITING_METHODS} <= {word for text in ASSIGNED for word in text.replace("(", ".").split(".")}


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.usefixtures("small")
def test_bits_are_numpys(dtype: str, layout: str) -> None:
    for text in [*(text for calls in CALLS.values() for text in calls), *PICKED, *ASSIGNED, *PRODUCTS]:
        theirs, expected = run(np, text, dtype, layout)
        if expected is None and is_rounded(text, dtype):
            continue
        ours, error = run(clarray, text, dtype, layout)
        assert type(error) is type(expected), f"{text}: {error!r} instead of {expected!r}"
        if expected is not None:
            continue
        if dtype == "float16" and "unique" in text and "axis" in text:
            continue  # NumPy puts rows with NaN first, kernels last
        if np.dtype(dtype).kind in "fc" and any(name in text for name in EQUAL):  # kernels order zeros of both signs
            np.testing.assert_equal(host(ours), host(theirs), text)
        else:
            strides = text in CALLS["sort"]
            assert bits(ours, strides) == bits(theirs, strides), f"{text} of {dtype}, {layout}"


def is_rounded(text: str, dtype: str) -> bool:
    """Whether floats are computed: that is left to kernels."""
    computed = "@ matmul cumsum cumprod convolve correlate dot inner vdot outer kron +=".split()  # noqa: SIM905
    return np.dtype(dtype).kind in "fc" and any(name in text for name in computed)


# A kernel for each layout and dtype: every dtype where elements follow each other, few elsewhere.
BESIDE_KERNELS = {
    "contiguous": ["bool", "int32", "float32", "complex64"],
    "strided": ["int32", "float32"],
    "transposed": ["bool", "complex64"],
    "backwards": ["float32"],
    "empty": ["float32"],
}
PAIRS = [
    pytest.param(layout, dtype, marks=[] if dtype in BESIDE_KERNELS[layout] else pytest.mark.exhaustive)
    for layout in LAYOUTS
    for dtype in BESIDE_KERNELS["contiguous"]
]


@pytest.mark.parametrize(("layout", "dtype"), PAIRS)
@pytest.mark.usefixtures("small")
def test_bits_and_places_are_the_kernels(dtype: str, layout: str) -> None:
    """Where elements lie decides in which order they are added: a result must not lie otherwise for being small."""
    for name, calls in {**CALLS, "picked": PICKED, "assigned": ASSIGNED, "products": PRODUCTS}.items():
        for text in calls:
            ours, error = run(clarray, text, dtype, layout)
            with kernels_only():
                kernels, expected = run(clarray, text, dtype, layout)
            assert type(error) is type(expected), text
            if expected is None and (name in EQUAL or "sort" in text or "partition" in text):
                np.testing.assert_equal(host(ours), host(kernels), text)
            elif expected is None:
                assert bits(ours) == bits(kernels), f"{text}, {layout}"


def host(value: Any) -> Any:
    return [host(one) for one in value] if isinstance(value, tuple | list) else np.asarray(value)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("small")
def test_small_calls_are_no_launches(name: str) -> None:
    names = operands(clarray, "int32")
    with clarray.profile() as p:
        eval(CALLS[name][0], names)
    assert (p.launches, p.first_calls) == (0, 0)
    assert p.small_calls >= 1
    assert "small call" in str(p)


# When -----------------------------------------------------------------------------------------------


LARGE = [
    *(
        "xp.tile(v, 100000)",
        "xp.pad(v, 90000)",
        "xp.pad(w[None], 50)",
        "xp.repeat(v, 90000)",
        "xp.resize(v, (300, 300))",
        "xp.diag(w)",
        "xp.outer(w, w)",
    ),
    *("xp.take(v, xp.zeros(40000, int))", "xp.bincount(v * 100000)", "xp.sort(xp.arange(5000))"),
    *(
        "v[xp.zeros((300, 300), int)]",
        "v[xp.zeros((200, 1), int), xp.zeros(200, int)] if 0 else v[xp.zeros(40000, int)]",
    ),
    *("xp.kron(w, w)", "xp.convolve(w, w)", "xp.inner(w[:, None], w[:, None])", "xp.tile(w, (1, 90))"),
]


@pytest.mark.parametrize("text", LARGE)
@pytest.mark.usefixtures("small")
def test_what_is_large_is_left_to_kernels(text: str) -> None:
    names = {"v": clarray.arange(5), "w": clarray.arange(600), "xp": clarray}
    with clarray.profile() as p:
        eval(text, names)
    assert p.small_calls == 0


# Keys of a table of 400 x 300, positions i and j, a mask m of few rows: how many elements each names is small or not.
OF_LARGE = {
    "few": [
        "i[:2]",
        "i, j",
        "[1, -2]",
        "i[:, None], j",
        "..., j",
        "3, j",
        "i, None, j",
        "None, 3, ..., i",
        "i, ..., j",
        "i, 5:9",
    ],
    "along an axis": ["i[:2]", ":, j[:2]", "i[:2], ...", "j[:2], :", "None, i[:2]", "..., None, i[:2]"],
    "many": [
        "i",
        "m, ...",
        ":, i.repeat(40)",
        "i.repeat(50)",
        "i.repeat(300)[:, None], j.repeat(20)",
        "..., j.repeat(40)",
    ],
    "refused": ["i, j, i", "i, ..., j, i", "400", "i + 400", ":, :, i", "i, i[:2]", "m, m"],
}


@pytest.mark.parametrize("text", [pytest.param(text, id=text) for texts in OF_LARGE.values() for text in texts])
@pytest.mark.usefixtures("small")
def test_few_elements_of_a_large_array_are_numpys(text: str) -> None:
    """What counts is how many elements a key names, not of how many."""
    host = np.arange(120_000.0).reshape(400, 300)

    def key(xp: Any) -> Any:
        i, j, m = xp.array([7, -1, 30, 7, 5, 0]), xp.array([1, 2, 299, 2, -4, 9]), xp.arange(400) % 100 == 3
        return eval(f"np.s_[{text}]", {"np": np, "i": i, "j": j, "m": m})

    def write(xp: Any) -> Any:
        table = xp.array(host)
        table[key(xp)] = -1.0
        return table

    check_same(lambda xp: xp.array(host)[key(xp)], message=False)
    check_same(lambda xp: (xp.array(host) + 1)[key(xp)], message=False)
    check_same(write, message=False)
    if text not in OF_LARGE["refused"]:
        table, given = clarray.array(host), key(clarray)
        with clarray.profile() as p:
            table[given].evaluate()
        assert (p.small_calls > 0) == (text not in OF_LARGE["many"])


@pytest.mark.parametrize(
    "text",
    [
        *("xp.cumsum(f)", "xp.convolve(f, f)", "xp.dot(f, f)", "xp.outer(f, i)", "xp.concatenate([f, d])"),
        *("xp.append(f, 1.5)", "xp.sort(f.view(Sub))", "xp.bincount(i, weights=f)", "xp.cumsum(i, dtype='f4')"),
        *(
            "xp.pad(f, 1, 'mean')",
            "xp.insert(i, 0, 1.5)",
            "xp.concatenate([f, f], out=d[:8])",
            "xp.take(f, [1], out=f[:1])",
        ),
        *("xp.dot(i, 2.5)", "xp.allclose(f + 1j, f)", "xp.unique(f.astype('f2') + f)[:0] if 0 else xp.allclose(h, h)"),
    ],
)
@pytest.mark.usefixtures("small")
def test_what_rounds_or_converts_is_left_to_kernels(text: str) -> None:
    class Sub(DeviceArray):
        pass

    f = clarray.array(np.arange(4, dtype="f4"))
    names = {"f": f, "d": clarray.zeros(9), "i": clarray.arange(4), "h": f.astype("f2"), "xp": clarray, "Sub": Sub}
    with clarray.profile() as p:
        eval(text, names)
    assert p.small_calls == 0


def test_the_setting_turns_them_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setting, "on", False)
    with clarray.profile() as p:
        clarray.sort(clarray.arange(4))
    assert (p.small_calls, p.launches > 0) == (0, True)


# Writes and pending work ------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
def test_writes_keep_earlier_values() -> None:
    x = clarray.arange(6) * 1
    x.evaluate()
    y, z = x + 1, x[::-1]
    x[clarray.array([0, 5])] = 9
    x.put([1], 7)
    assert (y.tolist(), z.tolist()) == ([1, 2, 3, 4, 5, 6], [9, 4, 3, 2, 7, 9])
    x[x > 5] = 0
    x.sort()
    assert (x.tolist(), y.tolist()) == ([0, 0, 0, 2, 3, 4], [1, 2, 3, 4, 5, 6])


@pytest.mark.usefixtures("small")
def test_pending_operands() -> None:
    check_same(lambda xp: [xp.sort(xp.asarray([3.0, 1.0]) * 2), xp.take(xp.arange(4) + 1, xp.arange(2) + 1)])
    check_same(lambda xp: [xp.roll(xp.zeros(3) + 1, 1), xp.concatenate([xp.arange(3), xp.ones(2, int)])])
    check_same(lambda xp: xp.sort((xp.arange(5) * -1)[xp.asarray([True, False, True, True, False])]))


@pytest.mark.usefixtures("small")
def test_pending_floats_stay_pending_for_kernels() -> None:
    x = clarray.ones((4, 4), np.float32).evaluate()
    for call in (lambda y: clarray.cumsum(y), lambda y: clarray.outer(y, y), lambda y: clarray.convolve(y[0], y[0])):
        y = x * 2
        with clarray.profile() as p:
            call(y)
        assert p.small_calls == 0
    y = x * 2
    clarray.cumsum(y, axis=0)
    assert y._node.memory is None


@pytest.mark.usefixtures("small")
def test_shared_memory_is_read_and_written_at_once() -> None:
    host = np.array([3, 1, 2])
    x = clarray.asarray(host)
    y = clarray.sort(x)
    x[clarray.array([0])] = 8
    assert host.tolist() == [8, 1, 2]
    host[:] = 0
    assert (y.tolist(), clarray.unique(x).tolist()) == ([1, 2, 3], [0])


@pytest.mark.usefixtures("small")
def test_results_are_new_and_writeable() -> None:
    x = clarray.arange(4)
    for y in (clarray.take(x, x), x[x], clarray.concatenate([x]), clarray.repeat(x, 1), clarray.sort(x)):
        y[:] = 7
        y += 1
        assert y.tolist() == [8] * 4
    assert x.tolist() == [0, 1, 2, 3]
    host = np.arange(3)
    host.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        clarray.asarray(host)[clarray.array([0])] = 1
    with pytest.raises(ValueError, match="read-only"):
        clarray.asarray(host).sort()


@pytest.mark.usefixtures("small")
def test_threads() -> None:
    x = clarray.arange(64)
    x.evaluate()
    failed: list[Any] = []

    def work(number: int) -> None:
        for turn in range(200):
            y = clarray.roll(x * number, turn % 5)
            y[y > 10] = 0
            wanted = np.roll(np.arange(64) * number, turn % 5)
            if not np.array_equal(y.get(), np.where(wanted > 10, 0, wanted)):
                failed.append((number, turn))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_the_limit_bounds_what_is_counted() -> None:
    assert 1 << 10 <= MAX_ELEMENTS <= 1 << 20


NOTHING = {  # a view without elements begins at one that is not there
    "backwards": lambda x: x[::-1],
    "all backwards": lambda x: x[::-1, ::-1, ::-1],
    "turned": lambda x: x.transpose(2, 1, 0)[:, ::-1],
    "parts": lambda x: x[1::2, ::-3],
}
OF_NOTHING = {
    "hstack": lambda xp, x: xp.hstack((x, x)),
    "copy": lambda xp, x: x.copy(),
    "sort": lambda xp, x: xp.sort(x, -1),
    "take": lambda xp, x: xp.take(x, np.zeros(3, int), 1) if x.shape[1] else x,
    "roll": lambda xp, x: xp.roll(x, 1, 1),
    "repeat": lambda xp, x: xp.repeat(x, 2, 1),
    "pad": lambda xp, x: xp.pad(x, 1),
    "indices": lambda xp, x: x[:, np.array([0, 1, -1])] if x.shape[1] else x,
    "on the host": lambda xp, x: np.asarray(x),
    "sum": lambda xp, x: x.sum(1),
}


@pytest.mark.parametrize("name", NOTHING)
@pytest.mark.usefixtures("small")
def test_views_of_nothing(name: str) -> None:
    for shape in ((6, 7, 0), (0, 4, 3), (5, 0, 2)):
        host = np.zeros(shape, "int32")
        for text, function in OF_NOTHING.items():
            found, expected = function(clarray, NOTHING[name](clarray.array(host))), function(np, NOTHING[name](host))
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype), (shape, text)
            np.testing.assert_array_equal(clarray.asnumpy(found), expected)
