"""einops: its functions over the Array API as they are, its own ones once the backend is imported."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

einops = pytest.importorskip("einops")
array_api = pytest.importorskip("einops.array_api")

IMAGES = np.arange(2 * 4 * 6 * 3, dtype="float32").reshape(2, 4, 6, 3) / 7

REARRANGED = [
    ("b h w c -> c b h w", {}),
    ("b (h p) (w q) c -> b h w (p q c)", {"p": 2, "q": 3}),
    ("b h w c -> (b h) (w c) 1", {}),
]


@pytest.fixture(params=["einops", "array_api"])
def module(request: pytest.FixtureRequest):
    if request.param == "array_api":
        return array_api
    import clarray.einops_backend  # noqa: F401 - importing it is what registers

    return einops


def check(module, name: str, *args, **lengths) -> None:
    theirs = getattr(einops, name)(IMAGES, *args, **lengths)
    ours = getattr(module, name)(clarray.array(IMAGES), *args, **lengths)
    assert isinstance(ours, clarray.DeviceArray)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize(("pattern", "lengths"), REARRANGED)
def test_rearrange(module, pattern: str, lengths: dict[str, int]) -> None:
    check(module, "rearrange", pattern, **lengths)


def test_rearrange_of_a_list(module) -> None:
    pattern = "b h w c -> h (b w) c"
    ours = module.rearrange(list(clarray.array(IMAGES)), pattern)
    np.testing.assert_array_equal(ours, einops.rearrange(list(IMAGES), pattern))


@pytest.mark.parametrize("reduction", ["mean", "max", "min", "sum", "prod"])
def test_reduce(module, reduction: str) -> None:
    check(module, "reduce", "b (h p) (w q) c -> b h w c", reduction, p=2, q=2)


def test_reduce_by_a_function(module) -> None:
    check(module, "reduce", "b h w c -> b c", lambda x, axes: x.std(axes))


def test_repeat(module) -> None:
    check(module, "repeat", "b h w c -> b (h p) w r c", p=2, r=3)


def test_pack_and_unpack(module) -> None:
    ours = clarray.array(IMAGES)
    packed, shapes = module.pack([ours[0], ours[0, :, :, 0]], "h w *")
    expected, _ = einops.pack([IMAGES[0], IMAGES[0, :, :, 0]], "h w *")
    np.testing.assert_array_equal(packed, expected)
    first, second = module.unpack(packed, shapes, "h w *")
    np.testing.assert_array_equal(first, IMAGES[0])
    np.testing.assert_array_equal(second, IMAGES[0, :, :, 0])


def test_asnumpy(module) -> None:
    if module is array_api and not current_device().capabilities.host_memory:
        with pytest.raises(BufferError):  # it asks NumPy, which reads the host's memory only
            module.asnumpy(clarray.array(IMAGES))
        return
    host = module.asnumpy(clarray.array(IMAGES))
    assert type(host) is np.ndarray
    np.testing.assert_array_equal(host, IMAGES)


def test_einsum() -> None:
    import clarray.einops_backend

    pattern = "b h w c, b h w d -> b c d"
    ours = einops.einsum(clarray.array(IMAGES), clarray.array(IMAGES), pattern)
    assert isinstance(ours, clarray.DeviceArray)
    np.testing.assert_allclose(ours, einops.einsum(IMAGES, IMAGES, pattern), rtol=1e-5)


def test_errors_are_einops_own(module) -> None:
    with pytest.raises(einops.EinopsError, match="mismatch"):
        module.rearrange(clarray.array(IMAGES), "b (h p) w c -> b h p w c", p=3)


def test_importing_clarray_imports_no_einops() -> None:
    code = "import sys, clarray; assert not {'einops', 'xarray', 'scipy', 'sklearn'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)
