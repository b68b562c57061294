"""Pillow: images of device arrays by way of an ndarray, and device arrays of images."""

from __future__ import annotations

import numpy as np
import pytest

import clarray

image = pytest.importorskip("PIL.Image")

GREY = (np.arange(48, dtype=np.uint8) * 5).reshape(6, 8)
COLOURS = np.stack([GREY, GREY.T.reshape(6, 8), 255 - GREY], axis=-1)


@pytest.mark.parametrize(
    "values", [GREY, COLOURS, GREY.astype(np.float32), GREY > 90], ids=lambda v: f"{v.dtype}{v.ndim}"
)
def test_there_and_back(values: np.ndarray) -> None:
    made = image.fromarray(clarray.array(values).get())
    assert made.tobytes() == image.fromarray(values).tobytes()
    back = clarray.asarray(made)
    assert isinstance(back, clarray.DeviceArray)
    assert back.dtype == values.dtype
    np.testing.assert_array_equal(back, values)


def test_views() -> None:
    x = clarray.array(COLOURS)
    assert image.fromarray(x[::2, ::-1, 1].get()).tobytes() == COLOURS[::2, ::-1, 1].tobytes()


@pytest.mark.parametrize("part", [np.s_[:], np.s_[::2, ::-1], np.s_[:, 3:]])
@pytest.mark.parametrize(
    "values", [GREY, COLOURS, GREY.astype(np.float32), GREY > 90], ids=lambda v: f"{v.dtype}{v.ndim}"
)
def test_an_array_itself(values: np.ndarray, part: tuple[slice, ...]) -> None:
    made = image.fromarray(clarray.array(values)[part])
    assert made.tobytes() == image.fromarray(values[part]).tobytes()


def test_pillow_gets_a_copy() -> None:
    x = clarray.array(GREY)
    made = image.fromarray(x)
    x += 1
    assert made.tobytes() == GREY.tobytes()


def test_nobody_else_gets_the_interface() -> None:
    """NumPy would take the memory by it and ask for no copy: docs/explanation/interoperability.md has the reasons."""
    with pytest.raises(AttributeError, match=r"__array_interface__.*x\.get\(\)"):
        _ = clarray.array(GREY).__array_interface__


def test_memory_of_the_host_without_a_copy() -> None:
    x = clarray.array(GREY)
    if x.device.capabilities.host_memory:
        made = image.fromarray(np.asarray(x, copy=False))
    else:
        made = image.fromarray(np.asarray(x))
    assert made.tobytes() == GREY.tobytes()
