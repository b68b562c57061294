"""scikit-image: what takes device arrays as ndarrays, what refuses them, and what would write to a copy."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clarray
from clarray import ndimage
from clarray._engine.runtime import current_device

skimage = pytest.importorskip("skimage")

from skimage import exposure, feature, filters, measure, metrics, morphology, restoration, transform, util  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
VALUES = (np.arange(256, dtype=np.float32) * 37 % 101).reshape(16, 16) / np.float32(101)

TAKEN: dict[str, Callable[[Any], Any]] = {
    "gaussian": filters.gaussian,
    "threshold_otsu": filters.threshold_otsu,
    "canny": feature.canny,
    "corner_harris": feature.corner_harris,
    "resize": lambda x: transform.resize(x, (5, 5)),
    "rotate": lambda x: transform.rotate(x, 30),
    "equalize_hist": exposure.equalize_hist,
    "rescale_intensity": exposure.rescale_intensity,
    "denoise_tv_chambolle": restoration.denoise_tv_chambolle,
    "img_as_ubyte": util.img_as_ubyte,
    "structural_similarity": lambda x: metrics.structural_similarity(x, x * 0.9, data_range=1.0),
    "peak_signal_noise_ratio": lambda x: metrics.peak_signal_noise_ratio(x, x * 0.9, data_range=1.0),
}
WITHOUT_A_COPY = ("structural_similarity",)  # asks for memory that it can share
REFUSED: dict[str, Callable[[Any], Any]] = {
    "skeletonize": lambda x: morphology.skeletonize(x > 0.5),
    "hough_line": lambda x: transform.hough_line(x > 0.5)[0],
    "find_contours": lambda x: measure.find_contours(x, 0.5)[0],
}


@pytest.mark.parametrize("name", TAKEN)
def test_taken_as_ndarrays_are(name: str) -> None:
    if name in WITHOUT_A_COPY and not current_device().capabilities.host_memory:
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            TAKEN[name](clarray.array(VALUES))
        return
    found, expected = TAKEN[name](clarray.array(VALUES)), TAKEN[name](VALUES)
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


BY_SCIPY = """
import numpy as np, clarray
from skimage import filters, measure, morphology
values = (np.arange(256, dtype=np.float32) * 37 % 101).reshape(16, 16) / np.float32(101)
x = clarray.array(values)
for function in (filters.sobel, filters.median):
    np.testing.assert_allclose(function(x), function(values), rtol=1e-5, atol=1e-6)
np.testing.assert_array_equal(measure.label(x > 0.5), measure.label(values > 0.5))
for function in (morphology.dilation, morphology.erosion, morphology.opening, morphology.white_tophat):
    try:
        function(x)
    except TypeError as error:
        assert "use clarray.ndimage" in str(error), error
    else:
        raise AssertionError(function)
"""


def test_functions_of_scipys_beside_ndarrays() -> None:
    """SciPy converts all of them, unless it is told to keep libraries apart, and then says which it was given."""
    environment = {name: value for name, value in os.environ.items() if name != "SCIPY_ARRAY_API"}
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", BY_SCIPY],
        env=environment | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    x = clarray.array(VALUES)
    for function in (filters.sobel, filters.median):
        with pytest.raises(TypeError, match="Multiple namespaces"):
            function(x)
        np.testing.assert_array_equal(function(x.get()), function(VALUES))


@pytest.mark.parametrize("name", REFUSED)
def test_compiled_code_wants_ndarrays(name: str) -> None:
    x = clarray.array(VALUES)
    with pytest.raises(TypeError, match="DeviceArray"):
        REFUSED[name](x)
    np.testing.assert_array_equal(REFUSED[name](x.get()), REFUSED[name](VALUES))


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [(morphology.dilation, ndimage.maximum_filter), (morphology.erosion, ndimage.minimum_filter)],
    ids=["dilation", "erosion"],
)
def test_grey_morphology(theirs: Callable[..., Any], ours: Callable[..., Any]) -> None:
    """It would write its result to a copy and raises. The calls in docs/reference/libraries.md give the same."""
    x, square = clarray.array(VALUES), np.ones((3, 3), bool)
    with pytest.raises(TypeError):
        theirs(x, square)
    expected = theirs(VALUES, square)
    np.testing.assert_array_equal(theirs(x.get(), square), expected)
    found = ours(x, 3)
    assert isinstance(found, clarray.DeviceArray)
    np.testing.assert_array_equal(found, expected)
