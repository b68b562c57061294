"""The page of NumPy's names tells the truth: docs/numpy_names.py has a reason for every name that clarray lacks."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
PLACES = ["numpy", "ndarray", "linalg", "fft", "random", "Generator"]


@pytest.fixture(scope="module")
def names() -> Iterator[ModuleType]:
    sys.path.insert(0, str(DOCS))
    try:
        yield importlib.import_module("numpy_names")
    finally:
        sys.path.remove(str(DOCS))


@pytest.mark.parametrize("key", PLACES)
def test_every_name_is_there_or_has_one_reason(key: str, names: ModuleType) -> None:
    place = names.places()[key]
    reasons = names.reasons_of(key)
    lacking = {name for name in place.names if not hasattr(place.ours, name)}
    assert sorted(lacking - reasons.keys()) == []
    assert sorted(name for name in reasons if hasattr(place.ours, name)) == []


def test_nine_in_ten_numeric_functions_are_on_the_device(names: ModuleType) -> None:
    numeric = names.numeric_functions()
    assert len(numeric) > 300
    assert len(names.on_device()) >= 0.9 * len(numeric)
    assert {"add", "sort", "einsum", "histogramdd", "concatenate"} <= set(numeric)


def test_names_that_do_not_count_are_functions_of_numpys(names: ModuleType) -> None:
    assert sorted(name for name in names.NOT_NUMERIC if not callable(getattr(np, name, print))) == []
    assert set(names.numeric_functions()) > names.ON_HOST


def test_the_page_is_the_one_that_is_written(names: ModuleType) -> None:
    text = names.page()
    if f"NumPy {names.numpy_series()}," in names.PAGE.read_text():  # it lists one series' names
        assert names.PAGE.read_text() == text
    for key in PLACES:
        assert names.places()[key].title in text
