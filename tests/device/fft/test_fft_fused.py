"""What is done to a transform's result: the last pass computes it as it stores, to the bits of a pass of its own."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._core.device_array import DeviceArray, wrap
from clarray._engine.expr.node import index
from clarray._engine.launch.host_tier import setting
from clarray._engine.runtime import current_device
from clarray.fft import transforms

from ..conftest import policy_changed, policy_in_force

pytestmark = pytest.mark.usefixtures("quick_builds")
FP64 = current_device().capabilities.fp64
POLICIES = ["own", "tiny-cpu", "tiny-gpu", "gpu"]


@pytest.fixture(autouse=True)
def _by_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the size, and whatever other library there is."""
    monkeypatch.setattr(transforms, "_kernels_pay", lambda *_: True)
    monkeypatch.setattr(transforms, "available", lambda _: False)


def host(shape: tuple[int, ...], dtype: str = "F") -> np.ndarray:
    random = np.random.default_rng(sum(shape))
    values = random.standard_normal(shape)
    return (values + 1j * random.standard_normal(shape) if dtype in "FD" else values).astype(dtype)


def launched(body: Callable[[], Any]) -> int:
    """How many launches a body makes, whose results are computed."""
    body()  # what is made once
    with clarray.profile() as p:
        found = body()
        for each in found if isinstance(found, tuple) else (found,):
            each.evaluate()
    return p.launches


Transform = Callable[[ModuleType, Any], Any]

# Transforms of (3, 4, 16) complex values: their name, and what the last pass of each is.
TRANSFORMS: dict[str, Transform] = {
    "one pass or two": lambda xp, x: xp.fft.fft(x),
    "the first axis": lambda xp, x: xp.fft.fft(x, axis=0),
    "between axes": lambda xp, x: xp.fft.ifft(x, axis=1, norm="ortho"),
    "several passes": lambda xp, x: xp.fft.fft(x, 400),
    "mixed radices": lambda xp, x: xp.fft.fft(x, 90, norm="forward"),
    "cropped": lambda xp, x: xp.fft.ifft(x, 7),
    "a convolution": lambda xp, x: xp.fft.fft(x, 101),
    "a convolution back": lambda xp, x: xp.fft.ifft(x, 23, axis=1),
    "reals, in pairs": lambda xp, x: xp.fft.rfft(x.real),
    "reals, in pairs, several passes": lambda xp, x: xp.fft.rfft(x.real, 300),
    "reals, an odd number": lambda xp, x: xp.fft.rfft(x.real, 15, axis=1),
    "to reals, in pairs": lambda xp, x: xp.fft.irfft(x),
    "to reals, in pairs, between axes": lambda xp, x: xp.fft.irfft(x, axis=1),
    "to an odd number of reals": lambda xp, x: xp.fft.irfft(x, 21),
    "hermitian": lambda xp, x: xp.fft.hfft(x),
    "hermitian back": lambda xp, x: xp.fft.ihfft(x.real),
    "two axes": lambda xp, x: xp.fft.fft2(x),
    "three axes of reals": lambda xp, x: xp.fft.rfftn(x.real),
    "an operand of the other order": lambda xp, x: xp.fft.fft(x.transpose(2, 0, 1), axis=0),
}


def positions(xp: ModuleType, n: int) -> Any:
    """Numbers that clarray computes rather than reads."""
    return np.arange(n) if xp is np else wrap(index((n,), (1,), np.dtype(np.int64)))


# What is done to a result `f`, beside operands: `like` has its shape, `line` that of its last axis, and `column` that
# of the others.
EXPRESSIONS: dict[str, Callable[..., Any]] = {
    "abs(f)**2": lambda xp, f, like, line, column: abs(f) ** 2,
    "parts": lambda xp, f, like, line, column: f.real**2 + f.imag**2,
    "f * conj(f)": lambda xp, f, like, line, column: f * f.conj(),
    "a number": lambda xp, f, like, line, column: f * 3 + 1,
    "a window": lambda xp, f, like, line, column: f * line,
    "a column": lambda xp, f, like, line, column: (f - column) * line,
    "an array": lambda xp, f, like, line, column: xp.where(like > 0, f, 0),
    "an expression": lambda xp, f, like, line, column: f * (like * 2 + line),
    "positions": lambda xp, f, like, line, column: f * (positions(xp, f.shape[-1]) < 5),
    "bools": lambda xp, f, like, line, column: abs(f) > 1,
    "float16": lambda xp, f, like, line, column: abs(f).astype("float16"),
    "integers": lambda xp, f, like, line, column: (abs(f) * 10).astype("int32"),
    "logarithms": lambda xp, f, like, line, column: xp.log10(abs(f) + 1),
    "a reduction beside it": lambda xp, f, like, line, column: abs(f) / (line.sum() + 100),
}


def operands(f: Any) -> tuple[DeviceArray, ...]:
    dtype = f.dtype.char.lower()
    order = "CF"[int(np.asarray(f).flags.f_contiguous)]
    like = np.require(host(f.shape, dtype), requirements=order)
    return tuple(clarray.array(x) for x in (like, host(f.shape[-1:], dtype), host((*f.shape[:-1], 1), dtype)))


CASES = [(policy, "F") for policy in POLICIES] + [("own", "D"), ("tiny-gpu", "D")] * FP64
MARKED = [pytest.param(*case, marks=pytest.mark.optimized if case[0] == "own" else []) for case in CASES]


@pytest.mark.parametrize(("policy", "dtype"), MARKED)
def test_every_last_pass_gives_the_bits_of_a_pass_of_its_own(policy: str, dtype: str) -> None:
    """Every way of storing with one expression each, and every expression with one way of storing."""
    x = clarray.array(host((3, 4, 16), dtype))
    few = ("abs(f)**2", "a column", "an array")
    for number, (name, transform) in enumerate(TRANSFORMS.items()):
        every = number == 0 and (policy, dtype) in (("own", "F"), ("tiny-gpu", "F"))
        with policy_in_force(policy):
            others = operands(transform(clarray, x))
            for title in EXPRESSIONS if every else [few[number % len(few)]]:
                expression = EXPRESSIONS[title]
                found = expression(clarray, transform(clarray, x), *others)
                apart = expression(clarray, transform(clarray, x).evaluate(), *others)
                assert (found.dtype, found.shape) == (apart.dtype, apart.shape)
                np.testing.assert_array_equal(found.get(), apart.get(), err_msg=f"{name}: {title}")
                assert found.strides == apart.strides, (name, title)


@pytest.mark.parametrize("title", EXPRESSIONS)
def test_it_is_what_numpy_computes(title: str) -> None:
    x = host((4, 5, 64))
    f = clarray.fft.fft(clarray.array(x), axis=1)
    others = operands(f)
    found = EXPRESSIONS[title](clarray, f, *others)
    wanted = EXPRESSIONS[title](np, np.fft.fft(x, axis=1), *(each.get() for each in others))
    scale = 1 if title in ("bools", "integers") else 2e-3 if title == "float16" else 2e-5
    assert np.abs(found.get().astype("D") - wanted).max() <= scale * np.abs(wanted).max()
    if title in ("bools", "integers"):
        assert np.mean(found.get() == wanted) > 0.95


# Expressions of x and y, (4, 16) complex values, with the launches they take where each transform is one pass, and
# those they took when a transform was run at its call.
LAUNCHES: dict[str, tuple[Callable[[Any, Any], Any], int, int]] = {
    "fft(x)": (lambda x, y: clarray.fft.fft(x), 1, 1),
    "abs(fft(x))**2": (lambda x, y: abs(clarray.fft.fft(x)) ** 2, 1, 2),
    "abs(fft(x * y))**2": (lambda x, y: abs(clarray.fft.fft(x * y)) ** 2, 1, 2),
    "fft(x) * y": (lambda x, y: clarray.fft.fft(x) * y, 1, 2),
    "fft(x) * y.T.T + 1": (lambda x, y: clarray.fft.fft(x) * y.T.T + 1, 1, 2),
    "fft(x) * fft(y)": (lambda x, y: clarray.fft.fft(x) * clarray.fft.fft(y), 2, 3),
    "ifft(fft(x) * y)": (lambda x, y: clarray.fft.ifft(clarray.fft.fft(x) * y), 2, 2),
    "abs(ifft(fft(x) * fft(y)))": (lambda x, y: abs(clarray.fft.ifft(clarray.fft.fft(x) * clarray.fft.fft(y))), 3, 4),
    "fft2(x)": (lambda x, y: clarray.fft.fft2(x), 2, 2),
    "abs(fft2(x))": (lambda x, y: abs(clarray.fft.fft2(x)), 2, 3),
    "abs(fft(x)).sum()": (lambda x, y: abs(clarray.fft.fft(x)).sum(), 2, 2),
    "fft(x).sum(0)": (lambda x, y: clarray.fft.fft(x).sum(0), 2, 2),
    "abs(fft(x)) / abs(x).max()": (lambda x, y: abs(clarray.fft.fft(x)) / abs(x).max(), 2, 3),
    "the parts": (lambda x, y: (lambda f: f.real**2 + f.imag**2)(clarray.fft.fft(x)), 2, 2),
    "fft(x) * conj(fft(x))": (lambda x, y: (lambda f: f * f.conj())(clarray.fft.fft(x)), 1, 2),
    "fft(x)[1:] * 2": (lambda x, y: clarray.fft.fft(x)[1:] * 2, 2, 2),
    "abs(fft(x)).T": (lambda x, y: abs(clarray.fft.fft(x)).T, 1, 2),
    "abs(fft(x).T)": (lambda x, y: abs(clarray.fft.fft(x).T), 2, 2),
    "fft(x)[None] + y": (lambda x, y: clarray.fft.fft(x)[None] + y, 2, 2),
    "fftshift(fft(x))": (lambda x, y: clarray.fft.fftshift(clarray.fft.fft(x)), 2, 2),
    "rfft(x.real) * 2": (lambda x, y: clarray.fft.rfft(x.real) * 2, 1, 2),
    "irfft(x) ** 2": (lambda x, y: clarray.fft.irfft(x) ** 2, 1, 2),
    "hfft(x) + 1": (lambda x, y: clarray.fft.hfft(x) + 1, 1, 2),
    "ihfft(x.real)": (lambda x, y: clarray.fft.ihfft(x.real), 1, 2),
    "a prime": (lambda x, y: abs(clarray.fft.fft(x, 101)), 2, 3),
    "two results": (lambda x, y: _two(lambda f: (abs(f), f * 2), x), 2, 2),
    "a result and more": (lambda x, y: _two(lambda f: (f, f * 2), x), 2, 2),
    "an operand used before": (lambda x, y: _held(x * y, 0), 3, 3),
    "an operand used after": (lambda x, y: _held(x * y, 1), 2, 2),
    "an operand transformed twice": (lambda x, y: _held(x * y, 2), 2, 2),
    "an operand used beside": (lambda x, y: (lambda z: abs(clarray.fft.fft(z)) * z)(x * y), 1, 2),
    "into memory": (lambda x, y: clarray.fft.fft(x, out=clarray.empty_like(y)), 1, 2),
    "over its operand": (lambda x, y: (lambda z: clarray.fft.fft(z, out=z))(x + 0), 3, 3),
}


def _two(of: Callable[[Any], tuple[Any, Any]], x: Any) -> tuple[Any, Any]:
    return of(clarray.fft.fft(x))


def _held(z: Any, how: int) -> tuple[Any, ...]:
    """A transform of a pending value, which is read by another."""
    if how == 0:
        (z + 1).evaluate()
        return z, clarray.fft.fft(z)
    f = clarray.fft.fft(z)
    return (f, z + 1) if how == 1 else (f, clarray.fft.fft(z, axis=0))


@pytest.mark.parametrize("name", LAUNCHES)
def test_launches(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setting, "on", False)
    body, wanted, before = LAUNCHES[name]
    x, y = clarray.array(host((4, 16))).evaluate(), clarray.array(host((4, 16))[::-1].copy()).evaluate()
    with policy_in_force("gpu"):
        for _ in range(4):  # by Python, recorded, and made again by the core
            assert launched(lambda: body(x, y)) == wanted
    assert wanted <= before


# Semantics ----------------------------------------------------------------------------------------


def spectrum(x: np.ndarray) -> np.ndarray:
    return np.abs(np.fft.fft(x)) ** 2


def close(found: Any, wanted: Any) -> None:
    wanted = np.asarray(wanted)
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=0, atol=2e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("n", [64, 4096])
def test_later_writes_and_deletions_change_nothing(n: int) -> None:
    """Whether the operand is read by the pass that waits, or by one before it."""
    x = host((3, n))
    for change in ("in place", "an element", "a view", "deleted", "assigned"):
        a = clarray.array(x)
        f = clarray.fft.fft(a)
        power = abs(f) ** 2
        if change == "in place":
            a += 1
        elif change == "an element":
            a[1, 3] = 1000
        elif change == "a view":
            a[:, ::2][...] = 0
        elif change == "deleted":
            del a
        else:
            a[...] = f
        close(power, spectrum(x))
        close(f, np.fft.fft(x))


def test_a_host_array_that_is_shared_has_been_read() -> None:
    x = host((3, 64))
    wanted = spectrum(x)
    power = abs(clarray.fft.fft(clarray.asarray(x))) ** 2
    x[...] = 0
    close(power, wanted)


def test_results_over_their_operands() -> None:
    x = host((4, 64))
    wanted = np.fft.fft(x)
    for way in range(6):
        a = clarray.array(x)
        if way == 0:
            clarray.fft.fft(a, out=a)
        elif way == 1:
            a[...] = clarray.fft.fft(a)
        elif way == 2:
            a[:] = clarray.fft.fft(a) * 1
        elif way == 3:
            a *= 0
            a += clarray.fft.fft(clarray.array(x))
        elif way == 4:
            f = clarray.fft.fft(a)
            a[...] = f
            close(f, wanted)
        else:
            clarray.multiply(clarray.fft.fft(a), 1, out=a)
        close(a, wanted)
    a = clarray.array(x)
    a *= clarray.fft.fft(a)
    close(a, x * wanted)
    a = clarray.array(x)
    a += abs(clarray.fft.fft(a[::-1])) * a
    close(a, x + np.abs(np.fft.fft(x[::-1])) * x)
    b = clarray.array(np.stack([x, x]))
    b[1] = clarray.fft.fft(b[0])
    b[0, 1:] = clarray.fft.fft(b[0, :-1])
    close(b[1], wanted)
    close(b[0, 1:], wanted[:-1])


def test_results_into_memory_of_any_order() -> None:
    x = host((4, 5, 16))
    wanted = np.abs(np.fft.fft(x, axis=1))
    for out in (
        clarray.empty((4, 5, 16), "f"),
        clarray.empty((16, 5, 4), "f").T,
        clarray.empty((8, 10, 32), "f")[::2, ::-2, ::2],
        clarray.empty((5, 5, 16), "f")[1:],
        clarray.empty((4, 5, 16), "d" if FP64 else "e"),
    ):
        out[...] = abs(clarray.fft.fft(clarray.array(x), axis=1))
        scale = 1e-3 if out.dtype.char == "e" else 1e-5
        np.testing.assert_allclose(out.get(), wanted, atol=scale * wanted.max())


def test_a_pending_result_is_an_array_like_any_other() -> None:
    x = host((4, 64))
    wanted = np.fft.fft(x)

    def new() -> DeviceArray:
        f = clarray.fft.fft(clarray.array(x))
        assert f._node.memory is None
        return f

    assert (new().shape, new().dtype, len(new()), new().ndim, new().strides) == ((4, 64), "F", 4, 2, wanted.strides)
    close(new().get(), wanted)
    close(np.asarray(new()), wanted)
    close(pickle.loads(pickle.dumps(new())), wanted)
    close(new().copy(), wanted)
    close(new()[3], wanted[3])
    close(new()[1:, ::-2], wanted[1:, ::-2])
    close(new().T, wanted.T)
    close(new().reshape(8, 32), wanted.reshape(8, 32))
    close(new().real, wanted.real)
    close([row.sum() for row in new()], wanted.sum(1))
    close(new()[new().real > 0], wanted[wanted.real > 0])
    close(new()[[2, 0]], wanted[[2, 0]])
    close(clarray.concatenate([new(), new() * 2]), np.concatenate([wanted, wanted * 2]))
    close(abs(new()).max(), np.abs(wanted).max())
    close(abs(new()).cumsum(1), np.abs(wanted).cumsum(1))
    close(new() @ new().conj().T, wanted @ wanted.conj().T)
    assert abs(complex(new()[0, 0]) - wanted[0, 0]) < 1e-3
    assert repr(new()[:1, :2]).startswith("array([[")
    assert repr(new() * 1) == repr((new().evaluate() * 1).evaluate())
    f = new()
    f.real[...] = 0
    close(f, wanted.imag * 1j)
    f = new()
    f[0] = 0
    close(f[1:], wanted[1:])
    assert not f[0].any()


def test_arrays_are_not_read_beside_what_lies_far_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a CPU long lines are stored at such steps that what is read there too drives them out of the cache."""
    monkeypatch.setattr(setting, "on", False)
    x, w = host((2, 64)), host((64,), "f")
    a, b = clarray.array(x), clarray.array(w)
    with policy_changed("fft", epilogue_inputs_below=64):
        apart = launched(lambda: clarray.fft.fft(a).evaluate() * b)
        assert launched(lambda: clarray.fft.fft(a) * b) == apart
        assert launched(lambda: clarray.fft.fft(a) * 2) == apart - 1
        assert launched(lambda: clarray.fft.fft(a) * positions(clarray, 64)) == apart - 1
        close(clarray.fft.fft(a) * b, np.fft.fft(x) * w)


def test_both_orders_of_evaluation() -> None:
    x = host((4, 64))
    wanted = np.fft.fft(x)
    f = clarray.fft.fft(clarray.array(x))
    power, angle = np.abs(f) ** 2, np.angle(f)
    close(angle, np.angle(wanted))
    close(power, np.abs(wanted) ** 2)
    close(f, wanted)
    f = clarray.fft.fft(clarray.array(x))
    f.get()
    close(np.abs(f) ** 2, np.abs(wanted) ** 2)


def test_errors_are_raised_at_the_call() -> None:
    a = clarray.array(host((4, 64)))
    for call, error in (
        (lambda: clarray.fft.fft(a, axis=2), IndexError),
        (lambda: clarray.fft.fft(a, 8, axis=2), np.exceptions.AxisError),
        (lambda: clarray.fft.fft(a, 0), ValueError),
        (lambda: clarray.fft.fft(a, norm="none"), ValueError),
        (lambda: clarray.fft.rfft(a), TypeError),
        (lambda: clarray.fft.fft(a, 8, out=clarray.empty((4, 64), "F")), ValueError),
        (lambda: clarray.fft.fft(a, out=clarray.empty((4, 64), "f")), TypeError),
    ):
        with pytest.raises(error):
            call()


def test_what_is_not_finite_spoils_its_own_line() -> None:
    x = host((4, 64))
    x[1, 3], x[2, 5] = np.nan, np.inf
    power = (abs(clarray.fft.fft(clarray.array(x))) ** 2).get()
    close(power[[0, 3]], spectrum(x[[0, 3]]))
    assert not np.isfinite(power[1:3]).any()


def test_a_longer_chain_stays_right() -> None:
    """What grows beyond the cost that stays pending is computed on the way."""
    x = host((4, 64))
    f, wanted = clarray.fft.fft(clarray.array(x)), np.fft.fft(x)
    for number in range(60):
        f, wanted = f * np.float32(0.5) + number, wanted * np.float32(0.5) + number
    close(f, wanted)
    f, wanted = clarray.array(x), x
    for _ in range(6):
        f, wanted = clarray.fft.ifft(clarray.fft.fft(f) * f), np.fft.ifft(np.fft.fft(wanted) * wanted)
    close(f, wanted)


def _append_power(f: DeviceArray, found: list[np.ndarray]) -> None:
    found.append((abs(f) ** 2).get())


def test_threads_share_a_pending_transform() -> None:
    x = host((64, 1000))
    wanted = spectrum(x)
    for _ in range(3):
        f = clarray.fft.fft(clarray.array(x))
        found: list[np.ndarray] = []
        threads = [threading.Thread(target=_append_power, args=(f, found)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 4
        for each in found:
            close(each, wanted)


def test_the_plan_tells_what_is_fused() -> None:
    f = clarray.fft.fft(clarray.array(host((4, 16))))
    told = (abs(f) ** 2).explain()
    assert "fft over axes (1,) -> complex64 4x16" in told
    assert told.count("which store") == 1
    assert f._node.memory is None
    assert (abs(f).sum()).explain().count("which store") == 2


def test_repeated_calls_follow_their_operands() -> None:
    """Calls and evaluations that the core makes again, with other operands, numbers, shapes and readers."""
    rng = np.random.default_rng(0)
    for n in (16, 4096, 16):
        for number in range(12):
            x = (rng.standard_normal((2, n)) + 1j * rng.standard_normal((2, n))).astype("F")
            h = rng.standard_normal(n if number % 2 else (2, n)).astype("f")
            a, b = clarray.array(x), clarray.array(h)
            close(abs(clarray.fft.fft(a)) ** 2 * number, spectrum(x) * number)
            close(clarray.fft.fft(a) * b, np.fft.fft(x) * h)
            close(clarray.fft.ifft(clarray.fft.fft(a) * b), np.fft.ifft(np.fft.fft(x) * h))
            f = clarray.fft.fft(a * b)
            g = abs(f)
            close(f * b - g, np.fft.fft(x * h) * h - np.abs(np.fft.fft(x * h)))
            close(g, np.abs(np.fft.fft(x * h)))
