"""The gallery's programs compute with clarray what the same lines compute with NumPy."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.scripts import ROOT, import_script

PROGRAMS = sorted((ROOT / "docs/gallery").glob("*.py"))
RANDOM = "monte_carlo"  # draws numbers of its own on the device


@pytest.fixture(scope="module")
def gallery_times() -> ModuleType:
    pytest.importorskip("matplotlib")
    return import_script("benchmarks", "gallery_times")


def results(gallery_times: ModuleType, program: Path) -> list[list[Any]]:
    """Return what a program computes with clarray and with NumPy."""
    compute = gallery_times.computation(program)
    libraries = (gallery_times.arguments(compute, library) for library in ("clarray", "numpy"))
    return [gallery_times.on_host(compute(*modules)) for modules in libraries]


def agree(mine: np.ndarray, numpys: np.ndarray) -> bool:
    """Return whether floats are equal up to rounding, and integers but for one in a thousand next to a boundary."""
    if mine.dtype != numpys.dtype or mine.shape != numpys.shape:
        return False
    if mine.dtype.kind in "iub":
        return np.count_nonzero(mine != numpys) <= mine.size // 1000
    return np.allclose(mine, numpys, rtol=1e-4, atol=1e-4 * np.abs(numpys).max())


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.stem != RANDOM], ids=lambda path: path.stem)
def test_a_program_computes_what_numpy_does(program: Path, gallery_times: ModuleType) -> None:
    mine, numpys = results(gallery_times, program)
    if program.stem == "pca_of_images":  # eigenvectors have either sign
        mine[0], numpys[0] = abs(mine[0]), abs(numpys[0])
    if program.stem == "spectrogram":  # decibels of silence are rounding errors
        mine, numpys = [10 ** (mine[0] / 20)], [10 ** (numpys[0] / 20)]
    assert len(mine) == len(numpys)
    assert [k for k, pair in enumerate(zip(mine, numpys, strict=True)) if not agree(*pair)] == []


def test_prices_of_monte_carlo_agree(gallery_times: ModuleType) -> None:
    (price, error, *_, counts, edges), (numpys_price, numpys_error, *_, numpys_counts, numpys_edges) = results(
        gallery_times, ROOT / f"docs/gallery/{RANDOM}.py"
    )
    assert abs(price - numpys_price) < 5 * np.hypot(error, numpys_error)
    assert np.isclose(error, numpys_error, rtol=0.01)
    assert np.all(abs(counts - numpys_counts) < 6 * np.sqrt(counts + numpys_counts + 1))
    assert np.array_equal(edges, numpys_edges)


# Of the table of UNESCO's Technical Papers in Marine Science 44 (1983): salinity, degrees, bar, kg/m3.
UNESCO = [
    (0, 5, 0, 999.96675),
    (0, 5, 1000, 1044.12802),
    (0, 25, 0, 997.04796),
    (0, 25, 1000, 1037.90204),
    (35, 5, 0, 1027.67547),
    (35, 5, 1000, 1069.48914),
    (35, 25, 0, 1023.34306),
    (35, 25, 1000, 1062.53817),
]


@pytest.mark.parametrize(("salinity", "degrees", "bar", "expected"), UNESCO)
def test_the_equation_of_state_gives_the_published_values(
    gallery_times: ModuleType, salinity: float, degrees: float, bar: float, expected: float
) -> None:
    density = gallery_times.computation(ROOT / "docs/gallery/ocean_density.py").__globals__["density"]
    assert round(density(salinity, degrees, bar), 5) == expected


def test_black_and_scholes_prices_a_call_of_the_textbook(gallery_times: ModuleType) -> None:
    """Check put-call parity's bounds and a value computed with the complementary error function."""
    compute = gallery_times.computation(ROOT / "docs/gallery/black_scholes.py")
    modules = gallery_times.arguments(compute, "numpy")
    strike, years, smile, price, implied = compute(*modules)
    lower = np.maximum(100 - strike * np.exp(-0.03 * years), 0)
    assert np.all((lower - 1e-4 <= price) & (price <= 100))
    assert np.allclose(implied, smile, rtol=0, atol=1e-3)
    call = compute.__globals__["call"]
    assert round(call(*modules, 110.0, 1.0, 0.25)[0], 3) == 7.256
