"""What a notebook shows of an array."""

from __future__ import annotations

import base64
import io
import re
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import clarray
from clarray._api.notebook import png, thumbnail

PICTURE = re.compile(r'src="data:image/png;base64,([^"]*)"')


@pytest.fixture
def image() -> ModuleType:
    return pytest.importorskip("PIL.Image", reason="Pillow reads the pictures again")


def rows(array: clarray.DeviceArray) -> dict[str, str]:
    page = ElementTree.fromstring(array._repr_html_())
    assert page.attrib["class"] == type(array).__name__
    return {row[0].text or "": row[1].text or "" for row in page.iter("tr")} | {"text": page.findtext("pre") or ""}


def decoded(text: str, image: ModuleType) -> np.ndarray:
    (found,) = PICTURE.findall(text)
    return np.asarray(image.open(io.BytesIO(base64.b64decode(found))))


def test_it_says_what_an_array_is_and_where() -> None:
    x = clarray.array(np.ones((300, 400), np.float32)).evaluate()
    found = rows(x)
    assert found["shape"] == "(300, 400)"
    assert found["dtype"] == "float32"
    assert found["device"] == str(x.device)
    assert found["memory"] == "468.75 KiB, computed"
    assert found["text"] == repr(x)


def test_what_is_pending_stays_so_and_is_called_so() -> None:
    x = clarray.array(np.ones((300, 400), np.float32))
    y = x * 2 + 1
    with clarray.profile() as p, clarray.config(thumbnails=True):
        found = rows(y)
    assert found["memory"].endswith(", pending")
    assert y._node.memory is None
    assert sum(r.nbytes for r in p.records if r.kind == "allocate") < 50_000
    assert rows(y.evaluate())["memory"].endswith(", computed")
    assert rows(y[1:])["memory"].endswith(", a view of another array's")
    assert rows(x[x > 0])["memory"] == "468.75 KiB, pending: what a mask selects"
    assert rows(x[x > 0])["shape"] == "(120000,)"


def test_numbers_and_shared_memory() -> None:
    assert rows(clarray.array(3.0))["shape"] == "()"
    assert rows(clarray.zeros((0, 3)))["memory"].startswith("0 ")
    host = np.arange(3.0)
    x = clarray.asarray(host)
    shared = x.device.capabilities.host_memory
    assert rows(x)["memory"].endswith("shared with a NumPy array or another library" if shared else "computed")


def test_text_is_escaped() -> None:
    x = clarray.zeros(2)
    with np.printoptions(formatter={"all": lambda value: "<b>&"}):
        assert "&lt;b&gt;&amp;" in x._repr_html_()
        assert rows(x)["text"] == repr(x)


def test_pictures_are_of_colour_images_until_others_are_asked_for() -> None:
    x = clarray.ones((5, 5))
    assert clarray.config.thumbnails == "images"
    assert "<img" not in x._repr_html_()
    with clarray.config(thumbnails=True):
        assert "<img" in x._repr_html_()
    clarray.config.thumbnails = True
    try:
        assert "<img" in x._repr_html_()
        with clarray.config(thumbnails=False):
            assert "<img" not in x._repr_html_()
    finally:
        clarray.config.thumbnails = "images"
    with pytest.raises(ValueError, match="thumbnails must be one of 'images', False, True, not 'small'"):
        clarray.config.thumbnails = "small"


@pytest.mark.parametrize("channels", [3, 4])
def test_a_colour_image_is_its_picture(channels: int, image: ModuleType) -> None:
    host = np.random.default_rng(6).integers(0, 256, (90, 60, channels), dtype=np.uint8)
    page = clarray.array(host)._repr_html_()
    np.testing.assert_array_equal(decoded(page, image), host)
    assert "<pre" not in page
    with clarray.config(thumbnails=False):
        assert "<pre" in clarray.array(host)._repr_html_()
    assert "<pre" in clarray.array(host.astype(np.float32))._repr_html_()


def test_a_number_is_one_line() -> None:
    page = ElementTree.fromstring(clarray.arange(4.0).sum()._repr_html_())
    assert "".join(page.itertext()) == "np.float64(6.0)"
    assert page.find("table") is None


def test_elements_are_aligned_in_a_box_that_fits() -> None:
    page = ElementTree.fromstring(clarray.ones((300, 3))._repr_html_())
    (text,) = page.iter("pre")
    assert {"max-height:24em", "overflow:auto", "font-family:monospace"} <= set(text.attrib["style"].split(";"))
    for cell in page.iter("td"):
        assert "font-family:monospace" in cell.attrib["style"]


@pytest.mark.parametrize(
    "host",
    [
        np.arange(12, dtype=np.float32).reshape(3, 4),
        np.arange(12, dtype=np.int64).reshape(3, 4)[::-1] * 2**58,
        np.array([[True, False], [False, False]]),
        np.array([[0, 255], [7, 9]], np.uint8),
        np.array([[-1e308, 1e308], [0, 5e307]]),
        np.full((4, 4), 2.0),
    ],
)
def test_greys_are_from_the_least_to_the_largest(host: np.ndarray, image: ModuleType) -> None:
    found = decoded(thumbnail(clarray.array(host)), image)
    low, high = float(host.min()), float(host.max())
    expected = (host / 2 - low / 2) / (high / 2 - low / 2) * 255 if high > low else np.full(host.shape, 128)
    np.testing.assert_allclose(found, expected, atol=0.51)


def test_what_is_not_finite_is_transparent(image: ModuleType) -> None:
    host = np.array([[np.nan, 1.0, 3.0], [np.inf, -np.inf, 2.0]], np.float32)
    found = decoded(thumbnail(clarray.array(host)), image)
    assert found[..., 1].tolist() == [[0, 255, 255], [0, 0, 255]]
    assert found[0, 1:, 0].tolist() == [0, 255]
    nothing = decoded(thumbnail(clarray.full((2, 2), np.nan)), image)
    assert not nothing.any()


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32, np.float16, bool])
def test_colours_are_what_matplotlib_makes_of_them(channels: int, dtype: Any, image: ModuleType) -> None:
    whole = np.dtype(dtype).kind in "iu"
    least, most = (0, 255) if dtype is np.uint8 else (-100, 400) if whole else (-0.5, 1.5)
    host = np.random.default_rng(3).uniform(least, most, (6, 5, channels))
    values = host > 0.5 if dtype is bool else host.astype(dtype)
    expected = values.clip(0, 255) if whole else values.astype(float).clip(0, 1) * 255
    np.testing.assert_allclose(decoded(thumbnail(clarray.array(values)), image), expected, atol=0.51)


@pytest.mark.parametrize("shape", [(1000, 300), (129, 128), (2, 70_000), (40, 30, 3), (500, 400, 4)])
def test_a_large_image_is_thinned(shape: tuple[int, ...], image: ModuleType) -> None:
    host = np.random.default_rng(4).integers(0, 256, shape, dtype=np.uint8)
    found = decoded(thumbnail(clarray.array(host)), image)
    step = -(-max(shape[:2]) // 128)
    expected = host[::step, ::step].astype(float)
    if len(shape) == 2:
        expected = (expected - expected.min()) / (expected.max() - expected.min()) * 255
    assert max(found.shape[:2]) <= 128
    np.testing.assert_allclose(found, expected, atol=0.51)


def test_a_small_image_is_drawn_larger() -> None:
    text = thumbnail(clarray.ones((10, 20)))
    assert "width:120px;height:60px;image-rendering:pixelated" in text


@pytest.mark.parametrize(
    "array",
    [np.zeros(9), np.zeros((3, 0)), np.zeros((1, 9)), np.zeros((3, 3), complex), np.zeros((4, 4, 5)), np.float32(1)],
)
def test_other_arrays_have_no_picture(array: Any) -> None:
    assert thumbnail(clarray.asarray(array)) == ""


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_a_png_is_read_as_it_was_written(channels: int, image: ModuleType) -> None:
    pixels = np.random.default_rng(channels).integers(0, 256, (7, 13, channels), dtype=np.uint8)
    found = np.asarray(image.open(io.BytesIO(png(pixels)))).reshape(pixels.shape)
    np.testing.assert_array_equal(found, pixels)
