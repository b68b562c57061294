"""The recipes of docs/engineering/extending.md work as they stand there."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray
from clarray import special
from clarray._engine.runtime import current_device
from clarray.linalg import tensors
from clarray.ndimage import ranks

PAGE = Path(__file__).resolve().parents[1] / "docs" / "engineering" / "extending.md"


def recipe(name: str, module: ModuleType) -> dict[str, Any]:
    """Run a page's code among the names of the module that it goes into."""
    (block,) = re.findall(
        rf"<!-- recipe: {name} -->\n```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE
    )
    names = dict(vars(module))
    exec(compile(block, str(PAGE), "exec"), names)
    return names


def drawn(*shape: int) -> np.ndarray:
    dtype = np.float64 if current_device().capabilities.fp64 else np.float32
    return np.random.default_rng(1).uniform(-4, 4, shape).astype(dtype)


def test_a_function_of_special() -> None:
    theirs = pytest.importorskip("scipy.special")
    names = recipe("special", special)
    x = drawn(100)
    ours = names["log_expit"](clarray.array(x))
    assert isinstance(ours, clarray.DeviceArray)
    np.testing.assert_allclose(ours.get(), theirs.log_expit(x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(names["cospi"](clarray.array(x)).get(), np.cos(np.pi * x), atol=1e-5)
    assert names["cospi"]([0.5, 1.0, 2.5]).tolist() == [0, -1, 0]
    with clarray.profile() as p:
        (names["log_expit"](clarray.array(x)) * 2 + 1).evaluate()
    assert p.launches <= 1  # none of its own


def test_a_function_of_ndimage() -> None:
    theirs = pytest.importorskip("scipy.ndimage")
    x = drawn(9, 11)
    ours = recipe("ndimage", ranks)["morphological_gradient"](clarray.array(x), 3)
    assert isinstance(ours, clarray.DeviceArray)
    np.testing.assert_array_equal(ours.get(), theirs.morphological_gradient(x, 3))


def test_a_function_of_linalg() -> None:
    theirs = pytest.importorskip("scipy.linalg")
    a, b = drawn(3, 4), drawn(5, 4)
    names = recipe("linalg", tensors)
    np.testing.assert_array_equal(names["khatri_rao"](clarray.array(a), b).get(), theirs.khatri_rao(a, b))
    with pytest.raises(ValueError, match="same number of columns"):
        names["khatri_rao"](a, b.T)
