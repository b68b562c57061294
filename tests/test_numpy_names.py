"""The page of NumPy's names tells the truth: docs/numpy_names.py has a reason for every name that clarray lacks."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import clarray
from clarray._core import absent_names
from tests.scripts import import_script

DOCS = Path(__file__).resolve().parents[1] / "docs"
PLACES = ["numpy", "ndarray", "linalg", "fft", "random", "Generator"]


@pytest.fixture(scope="module")
def names() -> ModuleType:
    return import_script("docs", "numpy_names")


@pytest.mark.parametrize("key", PLACES)
def test_every_name_is_there_or_has_one_reason(key: str, names: ModuleType) -> None:
    place = names.places()[key]
    reasons = names.reasons_of(key)
    lacking = {name for name in place.names if not hasattr(place.ours, name)}
    assert sorted(lacking - reasons.keys()) == []
    assert sorted(name for name in reasons if hasattr(place.ours, name)) == []


def test_names_that_are_numpys_have_one_group(names: ModuleType) -> None:
    groups = [name for group in names.NUMPYS.values() for name in group.split()]
    assert sorted(set(groups)) == sorted(groups)
    taken = names.numpys()
    for name in taken:
        assert getattr(clarray, name) is getattr(np, name)
    assert sorted(set(taken) & set(clarray.__all__)) == []
    assert sorted(name for name in groups if hasattr(np, name) and name not in taken) == []


def test_type_checkers_know_the_names_that_are_numpys(names: ModuleType) -> None:
    text = (DOCS.parent / "clarray" / "_api" / "host_types.pyi").read_text()
    of_one_platform = {"complex256", "float128"}
    listed = set(re.findall(r'"(\w+)"', text)) | {"typing"} | of_one_platform
    assert sorted(set(names.numpys()) - listed - {"row_stack"}) == []


def test_numpys_modules_are_imported_as_clarrays() -> None:
    code = """
        import clarray, numpy, sys
        import clarray.polynomial.polynomial as polynomial
        import clarray.ma as ma, clarray.lib.recfunctions as records
        from clarray.polynomial import Polynomial, chebyshev
        from clarray.typing import NDArray
        from clarray._typing import ArrayLike
        from clarray.exceptions import AxisError
        assert polynomial is numpy.polynomial.polynomial is clarray.polynomial.polynomial
        assert ma is numpy.ma is clarray.ma and chebyshev is numpy.polynomial.chebyshev
        import numpy.lib.recfunctions
        assert records is numpy.lib.recfunctions
        assert clarray.lib.NumpyVersion is numpy.lib.NumpyVersion
        assert numpy.ma.__spec__.name == numpy.ma.__name__ == "numpy.ma"
        for name in ("clarray.polynomials", "clarray.ma.nothing", "clarray.lib.nothing"):
            try:
                __import__(name)
            except ModuleNotFoundError:
                continue
            raise AssertionError(name)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("core", "module 'clarray' has no attribute 'core': numpy.core is private since NumPy 2"),
        ("float_", "module 'clarray' has no attribute 'float_': .*Use `np.float64` instead"),
        ("trapz", "module 'clarray' has no attribute 'trapz': NumPy has removed it: use clarray.trapezoid$"),
        ("in1d", "use clarray.isin$"),
        ("float", "NumPy has removed it: use Python's float, or clarray.float64$"),
        ("object", "use Python's object"),
        ("cuda", r"clarray.devices\(\) lists devices"),
        ("sparse", r"scipy.sparse takes clarray.asnumpy\(x\)$"),
        ("scatter_add", r"use clarray.add.at\(x, indices, values\)$"),
        ("jit", "expressions are fused"),
        ("no_such_name", "module 'clarray' has no attribute 'no_such_name'$"),
        ("_core_", "module 'clarray' has no attribute '_core_'$"),
    ],
)
def test_what_is_not_taken_says_why(name: str, message: str) -> None:
    with pytest.raises(AttributeError, match=message):
        getattr(clarray, name)


def test_advice_names_what_is_there() -> None:
    for name, advice in absent_names._ADVICE.items():
        assert name in absent_names.LEFT_OUT or name not in clarray.__all__
        for path in re.findall(r"\bclarray((?:\.\w+)+)", advice):
            found: object = clarray
            for part in path[1:].split("."):
                found = getattr(found, part)


@pytest.mark.parametrize("name", ["ndimage", "special"])
def test_modules_of_scipys_names_say_what_to_write(name: str) -> None:
    module, absent = getattr(clarray, name), "zoom"
    advice = rf"'clarray.{name}' has no attribute 'zoom': .* scipy.{name}.zoom\(clarray.asnumpy\(x\)\)"
    with pytest.raises(AttributeError, match=advice):
        getattr(module, absent)


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
