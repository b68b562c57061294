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


def test_an_array_itself_is_refused() -> None:
    """NumPy would take the memory by `__array_interface__`, and no longer ask for a copy: docs/interoperability.rst."""
    with pytest.raises(AttributeError, match="__array_interface__"):
        image.fromarray(clarray.array(GREY))


def test_memory_of_the_host_without_a_copy() -> None:
    x = clarray.array(GREY)
    if x.device.capabilities.host_memory:
        made = image.fromarray(np.asarray(x, copy=False))
    else:
        made = image.fromarray(np.asarray(x))
    assert made.tobytes() == GREY.tobytes()
