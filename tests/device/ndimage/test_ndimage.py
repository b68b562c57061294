"""clarray.ndimage against scipy.ndimage: linear filters."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.ndimage
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clarray
from clarray import ndimage
from clarray._engine.runtime import current_device

pytestmark = pytest.mark.usefixtures("quick_builds")

ALL_MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap")
FP64 = current_device().capabilities.fp64
IMAGES = ["uint8", "int8", "uint16", "int32", "int64", "uint64", "bool", "float32", "float64"]
needs_fp64 = pytest.mark.skipif(not FP64, reason="the device has no float64")


def image(shape: Any, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.random(shape) < 0.4
    if dtype[0] in "iu":
        info = np.iinfo(dtype)
        return random.integers(max(info.min, -1000), min(info.max, 1000), shape, dtype=dtype)
    return random.random(shape).astype(dtype)


def outcome(module: Any, name: str, *args: Any, **kwargs: Any) -> tuple[Any, Exception | None]:
    try:
        return getattr(module, name)(*args, **kwargs), None
    except Exception as error:
        return None, error


def check(name: str, x: np.ndarray, *args: Any, bound: float = 1e-6, **kwargs: Any) -> None:
    """The same as SciPy: integers exactly, floats within `bound` of the largest magnitude."""
    theirs, expected = outcome(scipy.ndimage, name, x, *args, **kwargs)
    if expected is not None:
        _, error = outcome(ndimage, name, clarray.asarray(x), *args, **kwargs)
        assert (type(error), str(error)) == (type(expected), str(expected))
        return
    ours = getattr(ndimage, name)(clarray.asarray(x), *args, **kwargs)
    assert isinstance(ours, clarray.DeviceArray)
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    if theirs.dtype.kind in "biu" or not theirs.size:
        np.testing.assert_array_equal(ours.get(), theirs)
        return
    double = 1e-12 if name.startswith("uniform") else 1e-14  # SciPy's running sums drift
    fine = double if theirs.dtype.itemsize // (1 + (theirs.dtype.kind == "c")) == 8 else bound
    np.testing.assert_allclose(ours.get(), theirs, rtol=0, atol=fine * max(np.abs(theirs).max(), np.abs(x).max(), 1))


@needs_fp64
@pytest.mark.parametrize("kind", IMAGES)
def test_every_dtype(kind: str) -> None:
    x = image((23, 21), kind)
    check("gaussian_filter", x, 1.5)
    check("uniform_filter", x, (4, 3))
    if kind != "uint64":  # C leaves open what a negative double becomes, and compilers of SciPy differ
        check("correlate", x, [[1.0, -0.5], [0.25, 2.0]])
    if kind in ("uint8", "bool", "float64"):
        check("convolve1d", x, [0.2, 0.3, 0.5, 1.0], 0)
        check("sobel", x)
        check("laplace", x)


@needs_fp64
@pytest.mark.parametrize("output", ["float32", "float64", "uint8", "int32"])
def test_output_dtypes(output: str) -> None:
    check("gaussian_filter", image((15, 18), "float32"), 1, output=np.dtype(output))
    x = image((15, 18), "uint8")
    check("prewitt", x, 0, output=output)
    check("uniform_filter", x, 3, output=np.dtype(output).type)


@pytest.mark.parametrize("mode", ALL_MODES)
def test_modes_and_sizes(mode: str, policy: str) -> None:
    weights = np.arange(1, 8) / 28
    for n in (1, 2, 3, 5, 16, 67):
        check("correlate1d", image(n), weights, mode=mode, cval=0.7)
        check("correlate1d", image((n, 3)), weights, 0, mode=mode, cval=0.7)
    check("correlate", image((3, 19)), np.ones((5, 4)) / 20, mode=mode, cval=-0.3)
    check("gaussian_filter", image((2, 9)), 2, mode=mode, cval=0.1)


@pytest.mark.parametrize("origin", [-3, -1, 0, 2, 3])
def test_origins(origin: int) -> None:
    x = image((12, 14))
    check("correlate1d", x, np.arange(1.0, 7), origin=origin)
    check("convolve1d", x, np.arange(1.0, 8), 0, origin=origin)
    check("convolve", x, np.arange(24.0).reshape(6, 4) / 24, origin=(origin, 0))
    check("uniform_filter1d", x, 7, origin=origin)


@pytest.mark.parametrize("shape", [(0,), (1,), (0, 5), (1, 1), (4, 1, 6), (5, 6, 7), (2, 3, 4, 5)])
def test_any_rank(shape: tuple[int, ...], policy: str) -> None:
    x = image(shape)
    check("gaussian_filter", x, 0.8)
    check("correlate", x, np.arange(3.0 ** len(shape)).reshape((3,) * len(shape)) / 3.0 ** len(shape))
    check("sobel", x, 0)
    check("uniform_filter", x, 3, axes=(len(shape) - 1,))


def test_axes() -> None:
    x = image((9, 10, 3))
    for axes in ((0, 1), (1, 2), (2, 0), (-2,), 1):
        check("gaussian_filter", x, 1, axes=axes)
        check("laplace", x, axes=axes)
        check("uniform_filter", x, 3, axes=axes, mode="wrap")
    check("correlate", x, np.ones((3, 2)) / 6, axes=(0, 1))
    check("gaussian_filter", x, (1, 2), (0, 1), mode=["wrap", "mirror"], axes=(0, 2))
    check("gaussian_filter", x, 1, axes=(0, 0))
    check("gaussian_filter", x, 1, axes=5)


@pytest.mark.optimized
def test_gaussians_and_their_derivatives(policy: str) -> None:
    x = image((33, 40))
    for order in (0, 1, 2, 3):
        check("gaussian_filter", x, 1.2, order)
    check("gaussian_filter", x, (1, 0))
    check("gaussian_filter", x, 0)
    check("gaussian_filter", x, 9, truncate=3)
    check("gaussian_filter", x, 1, radius=2)
    check("gaussian_filter1d", x, 2, 0, mode="nearest")
    check("gaussian_laplace", x, 1.5)
    check("gaussian_gradient_magnitude", x, 1.5)


@needs_fp64
def test_complex_values() -> None:
    x = image((11, 12)) + 1j * image((11, 12), seed=1)
    for kind in ("complex64", "complex128"):
        y = x.astype(kind)
        check("gaussian_filter", y, 1)
        check("uniform_filter", y, 3)
        check("correlate1d", y, [1, 2j, 3])
        check("convolve1d", y, [1 - 1j, 2])
        check("convolve", y, [[1, 2j], [3, 4]])
        check("correlate", y, [[1, 2j], [3, 4]], mode="constant", cval=1 + 2j)
    check("correlate1d", image(9), [1, 2j])


@pytest.mark.optimized
def test_float16_is_computed_in_float32() -> None:
    x = image((9, 10), "float16")
    ours = ndimage.gaussian_filter(clarray.asarray(x), 1)
    assert ours.dtype == np.float16
    np.testing.assert_allclose(ours.get(), scipy.ndimage.gaussian_filter(x.astype("f4"), 1), rtol=2e-3)


def test_views_and_pending_values(policy: str) -> None:
    x = image((20, 24))
    ours = clarray.array(x)
    for view in (lambda a: a[::-1, ::2], lambda a: a.T, lambda a: a[3:9, 1:], lambda a: a[:, 5], lambda a: a[4:5] + a):
        np.testing.assert_allclose(
            ndimage.gaussian_filter(view(ours), 1).get(), scipy.ndimage.gaussian_filter(view(x), 1), rtol=2e-6
        )
    pending = ours * 2 + np.float32(1)
    with clarray.profile() as p:
        found = ndimage.gaussian_filter1d(pending, 1)
    assert [r.name for r in p.records if r.kind == "launch"] == ["stencil"]
    np.testing.assert_allclose(found.get(), scipy.ndimage.gaussian_filter1d(x * 2 + 1, 1), rtol=2e-6)


def test_zeros_beyond_the_edge_keep_their_sign() -> None:
    """What is prepared and remembered for 0.0 is not for -0.0."""
    x = -np.ones(5, "f4")
    ours = clarray.array(x)
    for cval in (0.0, -0.0, 0.0, -0.0):
        found = ndimage.maximum_filter(ours, 3, mode="constant", cval=cval).get()
        wanted = scipy.ndimage.maximum_filter(x, 3, mode="constant", cval=cval)
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


def test_output_arrays() -> None:
    x = image((8, 9))
    ours = clarray.array(x)
    out = clarray.zeros((8, 9), np.float32)
    assert ndimage.gaussian_filter(ours, 1, output=out) is out
    np.testing.assert_allclose(out.get(), scipy.ndimage.gaussian_filter(x, 1), rtol=2e-6)
    ndimage.gaussian_filter(ours, 1, output=ours)
    np.testing.assert_allclose(ours.get(), scipy.ndimage.gaussian_filter(x, 1), rtol=2e-6)
    with pytest.raises(RuntimeError, match="output shape not correct"):
        ndimage.gaussian_filter(ours, 1, output=out[1:])
    with pytest.raises(TypeError, match="DeviceArray"):
        ndimage.gaussian_filter(ours, 1, output=np.zeros((8, 9)))


def test_errors() -> None:
    x = image((5, 6))
    check("correlate1d", x, [])
    check("correlate1d", x, [1, 2], mode="sideways")
    check("correlate1d", x, [1, 2], origin=4)
    check("correlate1d", x, [1, 2], axis=7)
    check("correlate", x, [1, 2, 3])
    check("correlate", x, np.ones((3, 3)), origin=2)
    check("correlate", x, np.ones((3, 3)), mode=["wrap", "wrap"])
    check("uniform_filter1d", x, 0)
    check("uniform_filter", x, (3, 3, 3))
    check("gaussian_filter", x, 1, -1)
    check("gaussian_filter", x, 1, radius=1.5)
    check("gaussian_filter", x, 1, output="bool")


def test_without_float64_integers_need_whole_weights() -> None:
    code = (
        "import clarray, numpy as np\n"
        "x = clarray.asarray(np.arange(20, dtype=np.uint8).reshape(4, 5))\n"
        "print(clarray.ndimage.sobel(x).sum(), clarray.ndimage.uniform_filter(x, 3).sum())\n"
        "print(clarray.ndimage.gaussian_filter(x.astype(np.float32), 1).dtype)\n"
        "try: clarray.ndimage.gaussian_filter(x, 1)\n"
        "except TypeError as error: print(error)\n"
    )
    import os

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"CLARRAY_SIMULATE_NO_FP64": "1"},
    )
    x = np.arange(20, dtype=np.uint8).reshape(4, 5)
    sums, kind, error = done.stdout.splitlines()
    assert sums == f"{scipy.ndimage.sobel(x).sum()} {scipy.ndimage.uniform_filter(x, 3).sum()}"
    assert kind == "float32"
    assert "cl_khr_fp64" in error


def test_importing_clarray_imports_neither_scipy_nor_the_filters() -> None:
    code = "import sys, clarray; print('scipy' in sys.modules, 'clarray.ndimage' in sys.modules, clarray.ndimage.sobel)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False False <function sobel")


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    shape=st.lists(st.integers(1, 12), min_size=1, max_size=3),
    mode=st.sampled_from(ALL_MODES),
    data=st.data(),
)
@pytest.mark.optimized
def test_against_scipy(shape: list[int], mode: str, data: st.DataObject, policy: str) -> None:
    window = [data.draw(st.sampled_from((1, 2, 3, 8))) for _ in shape]  # small windows are unrolled, a kernel for each
    origins = [data.draw(st.integers(-(n // 2), (n - 1) // 2)) for n in window]
    random = np.random.default_rng(0)
    x, weights = image(shape), random.integers(-2, 3, window) / 4
    check("correlate", x, weights, mode=mode, cval=0.5, origin=origins, bound=3e-6)
    check("uniform_filter", x, window, mode=mode, cval=0.5, origin=origins)
