"""SciPy's ``output=``: compiled code that would write to a copy of a device array raises instead."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# In a process of its own: SciPy reads SCIPY_ARRAY_API when it is imported, and refuses mixed operands with it.
PROGRAM = """
import sys
import numpy as np, clarray
from scipy import ndimage

image = (np.arange(25.0) * 7 % 11).reshape(5, 5)
places = np.indices((5, 5))
calls = {
    "grey_dilation": lambda a, x: ndimage.grey_dilation(a, size=3, output=x),
    "grey_erosion": lambda a, x: ndimage.grey_erosion(a, size=3, output=x),
    "grey_opening": lambda a, x: ndimage.grey_opening(a, size=3, output=x),
    "white_tophat": lambda a, x: ndimage.white_tophat(a, 3, output=x),
    "maximum_filter": lambda a, x: ndimage.maximum_filter(a, 3, output=x),
    "median_filter": lambda a, x: ndimage.median_filter(a, 3, output=x),
    "gaussian_filter": lambda a, x: ndimage.gaussian_filter(a, 1, 0, x),
    "gaussian_laplace": lambda a, x: ndimage.gaussian_laplace(a, 1, output=x),
    "correlate": lambda a, x: ndimage.correlate(a, np.ones((3, 3)), x),
    "generic_filter": lambda a, x: ndimage.generic_filter(a, np.mean, 3, output=x),
    "fourier_gaussian": lambda a, x: ndimage.fourier_gaussian(a, 1, output=x),
    "zoom": lambda a, x: ndimage.zoom(a, 1, output=x),
    "spline_filter": lambda a, x: ndimage.spline_filter(a, output=x),
    "map_coordinates": lambda a, x: ndimage.map_coordinates(a, places, output=x),
    "affine_transform": lambda a, x: ndimage.affine_transform(a, np.eye(2), output=x),
    "distance_transform_bf": lambda a, x: ndimage.distance_transform_bf(a > 3, distances=x),
}
for name, call in calls.items():
    for given in (image, clarray.array(image)):
        x = clarray.zeros((5, 5))
        try:
            call(given, x)
        except TypeError as error:
            assert "(x[...] = result)" in str(error) and error.__traceback__.tb_next is not None, (name, error)
        else:
            raise AssertionError(name)
    expected = np.zeros((5, 5))
    call(image, expected)
    if name not in ("distance_transform_bf",):
        x[...] = call(image, None)
        np.testing.assert_array_equal(x, expected, name)
"""


@pytest.mark.parametrize("pure", ["0", "1"])
def test_a_result_is_never_lost(pure: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "SCIPY_ARRAY_API"}
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment | {"PYTHONPATH": paths, "CLARRAY_PURE": pure},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
