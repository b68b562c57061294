"""clarray.fft against numpy.fft; which library transforms is the device's, test_vkfft.py has the other."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clarray
from clarray._engine.runtime import current_device
from clarray.fft import transforms

from ..conftest import outcome

FP64 = current_device().capabilities.fp64
DTYPES = ["float32", "complex64", "float16"] + (["float64", "complex128", "int16", "bool"] if FP64 else [])
LINES = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
PLANES = ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]
RTOL = {"e": 2e-3, "f": 2e-6, "F": 2e-6, "d": 1e-14, "D": 1e-14}


def host(dtype: str, shape: tuple[int, ...] = (3, 8, 5)) -> np.ndarray:
    random = np.random.default_rng(0)
    values = random.uniform(-3, 3, shape)
    if dtype.startswith("c"):
        values = values + 1j * random.uniform(-3, 3, shape)
    return values.astype(dtype)


def check(name: str, x: np.ndarray, *args: Any, **kwargs: Any) -> None:
    """The same as NumPy, within rounding, or the same error."""
    theirs, expected = outcome(lambda xp: getattr(xp.fft, name)(x, *args, **kwargs), np)
    device_array = clarray.array(x)
    ours, error = outcome(lambda xp: getattr(xp.fft, name)(device_array, *args, **kwargs), clarray)
    if expected is not None:
        assert isinstance(error, TypeError if isinstance(expected, TypeError) else type(expected))
        return
    if error is not None:
        raise error
    assert isinstance(ours, clarray.DeviceArray)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    # NumPy's divisor of float16 values is float16 too
    rtol = 2e-3 if x.dtype == np.float16 else RTOL[theirs.dtype.char]
    np.testing.assert_allclose(ours.get(), theirs, rtol=0, atol=rtol * np.abs(theirs).max(initial=0))
    np.testing.assert_array_equal(device_array, x)


def test_names_and_signatures_are_numpys() -> None:
    assert set(clarray.fft.__all__) == set(np.fft.__all__)
    for name in np.fft.__all__:
        ours = inspect.signature(getattr(clarray.fft, name)).parameters.values()
        wanted = inspect.signature(getattr(np.fft, name)).parameters.values()
        extra = ["dtype"] if name in ("fftfreq", "rfftfreq") else []  # the Array API's
        assert [p.name for p in ours] == [*(p.name for p in wanted), *extra]
        assert [p.default for p in ours][: len(wanted)] == [p.default for p in wanted]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype: str) -> None:
    for name in (*LINES, *PLANES):
        check(name, host(dtype))


@given(
    name=st.sampled_from(LINES),
    n=st.sampled_from([None, 1, 4, 5, 8, 9, 0, -1]),
    axis=st.sampled_from([-1, 0, 1, -3, 3]),
    norm=st.sampled_from([None, "backward", "ortho", "forward", "what"]),
)
def test_lines(name: str, n: int | None, axis: int, norm: str | None) -> None:
    check(name, host("float32"), n, axis, norm)


@given(
    name=st.sampled_from(PLANES),
    s=st.sampled_from([None, (4, 6), (-1, 5), (3,), (4, 3, 5)]),
    axes=st.sampled_from([(0, 1), (-1, 0), (1,), (2, 0, 1), (0, 0), (0, 3)]),
    norm=st.sampled_from([None, "ortho", "forward"]),
)
def test_several_axes(name: str, s: Any, axes: Any, norm: str | None) -> None:
    check(name, host("complex64" if "rfft" not in name else "float32"), s, axes, norm)


@pytest.mark.parametrize("name", [*LINES, *PLANES])
def test_what_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two mistakes NumPy's is told, by the kernels too where the host has them otherwise."""
    monkeypatch.setattr(transforms, "_kernels_pay", lambda *_: True)
    if name in LINES:
        counts = [None, 4, 0, "x", -1.0, 2.0, True, np.True_, np.int8(3), 1j, *map(np.array, (4, [0], [0, 1], [2.0]))]
        calls = list(itertools.product(counts, [-1, 3, "x"], [None, "what"]))
        calls += [(n, -1, norm) for n in (2**62, 2**63, 2**64) for norm in (None, "ortho", "forward")]
    else:
        shapes: list[Any] = [None, (4, 6), (4, 0), (4, "x"), (4,), (4, True), [np.True_, np.False_], (2, 2**64)]
        calls = list(itertools.product(shapes, [(0, 1), (0, 3)], [None, "what"]))
    for dtype in ("float32", "complex64", "float16"):
        x = host(dtype)
        on_device = clarray.array(x)
        for args in calls:
            _, expected = outcome(lambda xp, x=x, args=args: getattr(xp.fft, name)(x, *args), np)
            _, error = outcome(lambda xp, x=on_device, args=args: getattr(xp.fft, name)(x, *args), clarray)
            assert type(error) is type(expected), (dtype, args, error, expected)


@pytest.mark.parametrize("name", ["fftn", "irfftn"])
def test_extents_that_numpy_deprecates(name: str) -> None:
    x = host("float32")
    for kwargs in ({"s": (4, 6)}, {"s": (4, None), "axes": (0, 1)}):
        with pytest.warns(DeprecationWarning, match="`s`"):
            theirs = getattr(np.fft, name)(x, **kwargs)
        with pytest.warns(DeprecationWarning, match="`s`") as caught:
            ours = getattr(clarray.fft, name)(clarray.array(x), **kwargs)
        assert caught[0].filename == __file__
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours.get(), theirs, atol=1e-4)


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0), (1, 1)])
def test_small_and_empty(shape: tuple[int, ...]) -> None:
    for name in ("fft", "rfft", "irfft", "fftn", "rfftn", "fft2"):
        check(name, np.ones(shape, np.float32))


@given(name=st.sampled_from(["fftshift", "ifftshift"]), axes=st.sampled_from([None, 0, -1, (0, 2), [1], (), (0, 0), 3]))
def test_shifts(name: str, axes: Any) -> None:
    x = host("float32")
    theirs, expected = outcome(lambda xp: getattr(xp.fft, name)(x, axes), np)
    with clarray.profile() as p:
        ours, error = outcome(lambda xp: getattr(xp.fft, name)(clarray.array(x), axes), clarray)
    assert type(error) is type(expected)
    if expected is None:
        assert p.host_calls == 0
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.skipif(not FP64, reason="the device has no float64")
def test_frequencies(same: Any) -> None:
    for n in (1, 8, 9, np.int32(5)):
        same(lambda xp, n=n: xp.fft.fftfreq(n))
        same(lambda xp, n=n: xp.fft.rfftfreq(n, 0.3))
    same(lambda xp: xp.fft.fftfreq(2.5))
    same(lambda xp: xp.fft.rfftfreq(2.5))
    same(lambda xp: xp.fft.fftfreq(0))


def test_frequencies_of_a_dtype_on_a_device() -> None:
    made = clarray.fft.fftfreq(9, 0.5, device=current_device(), dtype=np.float32)
    assert made.dtype == np.float32
    np.testing.assert_allclose(made, np.fft.fftfreq(9, 0.5).astype(np.float32), rtol=1e-6)


def test_out() -> None:
    x = clarray.array(host("float32"))
    out = clarray.empty((3, 8, 5), np.complex64)
    pending = out + 0
    for name in ("fft", "ifft2", "fftn"):
        assert getattr(clarray.fft, name)(x, out=out) is out
        np.testing.assert_allclose(out, getattr(np.fft, name)(host("float32")), atol=1e-4)
    assert pending.shape == out.shape
    view = clarray.empty((3, 5, 8), np.complex64).swapaxes(1, 2)
    np.fft.fft(x, axis=1, out=view)
    np.testing.assert_allclose(view, np.fft.fft(host("float32"), axis=1), atol=1e-4)
    for wrong in (clarray.empty((3, 8, 4), np.complex64), clarray.empty((3, 8), np.complex64)):
        with pytest.raises(ValueError, match="wrong shape"):
            clarray.fft.fft(x, out=wrong)
    with pytest.raises(TypeError):
        clarray.fft.fft(x, out=clarray.empty((3, 8, 5), np.float32))
    on_host = np.empty((3, 8, 5), np.complex64)
    assert clarray.fft.fft(x, out=on_host) is on_host
    np.testing.assert_allclose(on_host, np.fft.fft(host("float32")), atol=1e-4)


def test_numpys_functions_lists_and_pending_values() -> None:
    x = host("float32")
    found = np.fft.rfft(clarray.array(x) * 2 + 1, axis=1)
    assert isinstance(found, clarray.DeviceArray)
    np.testing.assert_allclose(found, np.fft.rfft(x * 2 + 1, axis=1), atol=1e-4)
    made = clarray.fft.fft(x[0, 0])
    assert isinstance(made, clarray.DeviceArray)
    check("fft", x[::2, ::-1, 1:4])
    there = clarray.fft.irfft(clarray.fft.rfft(clarray.array(x), axis=1), 8, axis=1)
    np.testing.assert_allclose(there, x, atol=1e-5)
