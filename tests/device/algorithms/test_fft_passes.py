"""Every pass of a Fourier transform, against a transform in long double, under each shape of policy."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clarray
from clarray._core.device_array import wrap
from clarray._engine.algorithms.fft import launch_tables
from clarray._engine.algorithms.fft import plan as plans
from clarray._engine.algorithms.fft.launch import transform
from clarray._engine.algorithms.fft.policy import MinimumSizes
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._engine.runtime import current_device

from ..conftest import policy_changed, policy_in_force

pytestmark = pytest.mark.usefixtures("quick_builds")
FP64 = current_device().capabilities.fp64
POLICIES = ["own", "tiny-cpu", "gpu", "tiny-gpu"]
KINDS = ["complex", "inverse", "rfft", "irfft"]
# Root mean square error over that of the values, in units of the last place: the largest of the lengths below was 2.0.
MOST = 3.0


def host(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    random = np.random.default_rng(sum(shape))
    values = random.standard_normal(shape)
    return (values + 1j * random.standard_normal(shape) if dtype in "FD" else values).astype(dtype)


def exact(kind: str, x: np.ndarray, n: int, axis: int = -1) -> np.ndarray:
    """NumPy transforms long doubles in long double; nothing is divided."""
    wide = x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)
    function = {"complex": np.fft.fft, "inverse": np.fft.ifft, "rfft": np.fft.rfft, "irfft": np.fft.irfft}[kind]
    return function(wide, n, axis, norm="forward" if kind[0] == "i" else "backward")


def run(kind: str, x: Any, n: int, axis: int = -1, scale: float = 1.0) -> clarray.DeviceArray:
    node = x._node
    inverse = kind[0] == "i"
    name = "complex" if kind == "inverse" else kind
    return wrap(transform(node, axis % len(node.shape), n, name, inverse=inverse, scale=scale))


def error(found: Any, wanted: np.ndarray) -> float:
    """The largest of the lines' root mean square errors, in units of the last place."""
    found = np.asarray(found)
    assert found.shape == wanted.shape
    scale = np.sqrt(np.mean(np.abs(wanted) ** 2)) or 1
    return float(np.sqrt(np.mean(np.abs(found - wanted) ** 2)) / scale / np.finfo(found.dtype).eps)


def check(kind: str, shape: tuple[int, ...], dtype: str, n: int | None = None, axis: int = -1) -> None:
    x = host(shape, dtype if kind != "rfft" else dtype.lower())
    if n is None:
        n = 2 * (shape[axis] - 1) if kind == "irfft" else shape[axis]
    found = run(kind, clarray.array(x), n, axis)
    assert found.dtype == (dtype.lower() if kind == "irfft" else dtype.upper())
    assert error(found, exact(kind, x, n, axis)) < MOST


@pytest.mark.parametrize("name", POLICIES)
def test_short_lengths(name: str) -> None:
    with policy_in_force(name):
        for n in (1, 3, 4, 7, 8, 11, 16, 26, 53, 90, 101):
            check("complex", (3, n), "F")


@pytest.mark.parametrize("name", ["tiny-cpu", "tiny-gpu"])
@pytest.mark.parametrize(("kind", "dtype"), [*((kind, "F") for kind in KINDS), *[("irfft", "D")] * FP64])
def test_boundaries_of_passes(name: str, kind: str, dtype: str) -> None:
    """One pass, two and three, a length of large primes, lines before the axis and after it."""
    with policy_in_force(name):
        for n in (1, 7, 18, 23, 400):
            for before, after in ((2, 3), (5, 1)) if n == 18 else ((2, 3),):
                if kind == "irfft":
                    check(kind, (before, n // 2 + 1, after), dtype, n, 1)
                else:
                    check(kind, (before, n, after), dtype, axis=1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.optimized
def test_long_lengths(kind: str) -> None:
    for n in (1 << 16, 3**9, 2 * 1009):
        check(kind, (n // 2 + 1 if kind == "irfft" else n,), "F", n)


@pytest.mark.parametrize("n", [1 << 20, 100003])
@pytest.mark.optimized
def test_very_long_lengths(n: int) -> None:
    check("complex", (n,), "F")


@given(
    name=st.sampled_from(["tiny-cpu", "tiny-gpu"]),
    kind=st.sampled_from(KINDS),
    shape=st.lists(st.sampled_from([1, 2, 4, 7]), min_size=1, max_size=4).map(tuple),
    n=st.sampled_from([None, 3, 8]),
    data=st.data(),
)
def test_axes_cropped_and_padded(name: str, kind: str, shape: tuple[int, ...], n: int | None, data: Any) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    if kind == "irfft" and n is None and shape[axis] == 1:
        n = 1
    with policy_in_force(name):
        check(kind, shape, "F", n, axis)


@pytest.mark.parametrize("name", POLICIES)
def test_views(name: str) -> None:
    x = host((6, 5, 24), "F")
    device = clarray.array(x)
    with policy_in_force(name):
        for cut in (np.s_[::2, ::-1, ::-2], np.s_[1:, 2, 4:16], np.s_[:, :, 3:4], np.s_[:, 0, ::3]):
            for axis in range(x[cut].ndim):
                assert (
                    error(run("complex", device[cut], n := x[cut].shape[axis], axis), exact("complex", x[cut], n, axis))
                    < MOST
                )
        turned = x.transpose(2, 0, 1)
        assert error(run("inverse", device.transpose(2, 0, 1), 5, 2), exact("inverse", turned, 5, 2)) < MOST
        wide = np.broadcast_to(x[0, 0], (4, 24))
        assert (
            error(run("complex", clarray.broadcast_to(device[0, 0], (4, 24)), 24, 1), exact("complex", wide, 24)) < MOST
        )


@pytest.mark.parametrize("axes", [(1, 0, 2), (2, 0, 1), (2, 1, 0)])
def test_results_lie_as_their_operands(axes: tuple[int, int, int]) -> None:
    """NumPy's, too, lie in the operand's order of axes, whichever axis is transformed, cropped or padded."""
    x, cube = host((6, 4, 5), "F").transpose(axes), clarray.array(host((6, 4, 5), "F")).transpose(axes)
    pending = cube * 2 + 1
    for axis, n, kind in ((0, 8, "complex"), (1, 37, "inverse"), (2, 3, "irfft")):
        for operand, value in ((cube, x), (pending, x * np.float32(2) + np.float32(1))):
            found, wanted = run(kind, operand, n, axis), exact(kind, value, n, axis)
            assert error(found, wanted) < MOST
            assert np.argsort(found.strides).tolist() == np.argsort(wanted.strides).tolist()
    assert pending._node.memory is None


@pytest.mark.parametrize("name", POLICIES)
def test_pending_operands_are_computed_while_they_are_read(name: str) -> None:
    x, window = host((3, 20), "F"), host((20,), "f")
    a, w = clarray.array(x), clarray.array(window)
    with policy_in_force(name):
        for n in (20, 16, 24):
            run("complex", a * w + 1, n)
            with clarray.profile() as p:
                found = run("complex", a * w + 1, n).evaluate()
            wanted = exact("complex", x * window + np.float32(1), n)
            assert {record.name for record in p.records if record.kind == "launch"} == {"fft"}
            assert error(found, wanted) < MOST
        numbers = run("rfft", clarray.arange(20, dtype=np.float32) * 2, 20)
        assert error(numbers, exact("rfft", np.arange(20, dtype=np.float32) * 2, 20)) < MOST


@pytest.mark.parametrize("name", POLICIES)
def test_what_is_not_finite_stays_in_its_line(name: str) -> None:
    for n in (12, 46):
        x = host((9, n, 5), "F")
        x[3, 1, 2], x[8, 2, 4], x[0, 0, 0] = np.nan, np.inf, complex(1, np.inf)
        with policy_in_force(name):
            found = run("complex", clarray.array(x), n, 1).get()
        wanted = np.isfinite(x).all(axis=1)
        np.testing.assert_array_equal(np.isfinite(found).all(axis=1), wanted)
        assert not np.isfinite(found).any(axis=1)[~wanted].any()


@pytest.mark.parametrize("name", POLICIES)
def test_what_half_a_spectrum_of_reals_cannot_have_does_not_count(name: str) -> None:
    with policy_in_force(name):
        for n in (8, 9):
            x = host((2, 5), "F")
            assert error(run("irfft", clarray.array(x), n), np.fft.irfft(x, n, norm="forward")) < MOST


@pytest.mark.parametrize("n", [64, 1000, 1021, 4096, 2 * 97])
@pytest.mark.parametrize("dtype", ["F", "D"] if FP64 else ["F"])
@pytest.mark.optimized
def test_errors_are_pocketffts(n: int, dtype: str) -> None:
    """SciPy's pocketfft transforms float32 in float32; NumPy's forward transform of it is one of doubles."""
    library = pytest.importorskip("scipy.fft")
    x = host((16, n), dtype)
    wanted = exact("complex", x, n)
    ours, theirs = run("complex", clarray.array(x), n).get(), library.fft(x)
    assert error(ours, wanted) <= 1.5 * error(theirs, wanted)
    assert (
        np.abs(ours - wanted).max() <= 1.5 * np.abs(theirs - wanted).max() + np.finfo(dtype).eps * np.abs(wanted).max()
    )


@pytest.mark.kernels_alone
def test_a_result_is_scaled_by_its_last_pass() -> None:
    x = host((4, 48), "F")
    with clarray.profile() as p:
        found = clarray.array(x)
        found = run("inverse", found, 48, scale=1 / 48).evaluate()
    assert p.launches == 1
    assert error(found, exact("inverse", x, 48) / 48) < MOST


def test_the_users_memory_has_been_read() -> None:
    x = host((4, 48), "F")
    wanted = exact("complex", x, 48)
    found = run("complex", clarray.asarray(x), 48)
    x[...] = 0
    assert error(found, wanted) < MOST


@pytest.mark.optimized
def test_the_same_bits_in_every_thread_and_at_every_call() -> None:
    x = clarray.array(host((64, 1000), "F")).evaluate()
    first = run("complex", x, 1000).get()
    found: list[np.ndarray] = []

    def work() -> None:
        found.extend(run("complex", x, 1000).get() for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 10
    for each in found:
        np.testing.assert_array_equal(each, first)


def test_few_tables_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_tables, "_CACHE_BYTES", 1024)
    device = current_device()
    device.attached.pop(launch_tables._NAME, None)  # known ones are given out, and none dropped for them
    for n in (64, 256, 64):
        check("complex", (9, n), "F")
    kept = device.attached[launch_tables._NAME]
    assert 0 < len(kept) < 3
    assert len(kept) == 1 or sum(each.memory.nbytes for each in kept.values()) <= 1024


def test_the_public_functions_take_the_kernels() -> None:
    """Where they are quicker than the host, and wherever the host would have to copy."""
    x = host((512, 600), "F")
    with policy_changed("fft", least=MinimumSizes()), clarray.config(host_library="raise"):
        a = clarray.array(x)
        np.testing.assert_allclose(clarray.fft.fft2(a), np.fft.fft2(x), atol=1e-5 * 600)
        np.testing.assert_allclose(clarray.fft.irfft(a, axis=0), np.fft.irfft(x, axis=0), atol=1e-6)
        np.testing.assert_allclose(clarray.fft.rfftn(a.real), np.fft.rfftn(x.real), atol=1e-5 * 600)
        np.testing.assert_allclose(clarray.fft.hfft(a[0], 1000), np.fft.hfft(x[0], 1000), atol=1e-3)
    if current_device().capabilities.host_memory:
        assert kernel_cache_of(current_device()).policies.fft.least > MinimumSizes()
        with clarray.profile() as p:
            clarray.fft.fft(clarray.ones(64, np.complex64))
        assert p.host_calls == 1


def test_plans_divide_what_they_can() -> None:
    """Every pass fits, their sizes multiply to the length, and butterflies to those of the passes."""
    for name in ("own", "tiny-cpu", "tiny-gpu", "gpu"):
        with policy_in_force(name):
            policy = kernel_cache_of(current_device()).policies.fft
        for n in (1, 2, 17 * 16, 1000, 3**9, 2**24, 19 * 19 * 19, 2**31, 97 * 31 * 2):
            if not plans.is_direct(n, policy, 4):
                assert max(plans.prime_factors(n)) > min(policy.prime, plans.max_points(policy, 4) // policy.lines)
                continue
            passes = plans.passes(n, 1, 1, policy, 4)
            assert np.prod([each.points for each in passes], dtype=object) == n
            assert passes[-1].m == 1
            for each in passes:
                assert each.points <= plans.max_points(policy, 4)
                for joined in (False, True):
                    assert np.prod(plans.radices(each.points, policy.radix, joined)) == each.points
        for n in (23, 101, 1048573):
            size = plans.convolution_length(n, policy, 4)
            assert size >= 2 * n - 1
            assert plans.is_direct(size, policy, 4)
