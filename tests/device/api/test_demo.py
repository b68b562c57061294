"""`python -m clarray` and the benchmarks: files are read, answers checked, errors one line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clarray._api import demo

ROOT = Path(__file__).resolve().parents[3]


def test_npy_is_mapped(tmp_path: Path) -> None:
    x = np.arange(12, dtype=">i4").reshape(3, 4)
    np.save(tmp_path / "x.npy", x)
    label, data = demo.load(tmp_path / "x.npy")
    assert label == "x.npy"
    assert isinstance(data, np.memmap)
    np.testing.assert_array_equal(data, x)


@pytest.mark.parametrize("x", [np.arange(12.0).reshape(3, 4).T, np.arange(5, dtype=np.int16)])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_is_mapped_where_it_is_stored(tmp_path: Path, x: np.ndarray, save: object) -> None:
    save(tmp_path / "x.npz", first=x, second=np.ones(3))  # type: ignore[operator]
    label, data = demo.load(tmp_path / "x.npz")
    assert label == "x.npz, array 'first'"
    assert isinstance(data, np.memmap) == (save is np.savez)
    assert data.dtype == x.dtype
    np.testing.assert_array_equal(data, x)


@pytest.mark.parametrize("headings", ["", "time,volts\n"])
def test_csv(tmp_path: Path, headings: str) -> None:
    (tmp_path / "x.csv").write_text(headings + "1,2\n3,4.5\n")
    np.testing.assert_array_equal(demo.load(tmp_path / "x.csv")[1], [[1, 2], [3, 4.5]])


def test_missing_numbers_of_a_csv_file_are_nan(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("1,\n3, 4\n")
    np.testing.assert_array_equal(demo.load(file)[1], [[1, np.nan], [3, 4]])


@pytest.mark.parametrize("text", ["place,height\nChur,593\n", "1;2\n3;4\n", "1,2\n3\n"])
def test_a_csv_file_of_something_else(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.csv"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"x\.csv: .*Save the columns of numbers as a \.npy file"):
        demo.load(file)


@pytest.mark.parametrize(
    ("name", "values", "error"),
    [
        ("words.npy", np.array(["a"]), TypeError),
        ("nothing.npy", np.array([]), ValueError),
        ("x.txt", None, ValueError),
        ("absent.npy", None, OSError),
    ],
)
def test_unusable_files(tmp_path: Path, name: str, values: np.ndarray | None, error: type[Exception]) -> None:
    if values is not None:
        np.save(tmp_path / name, values)
    with pytest.raises(error):
        demo.load(tmp_path / name)


def test_a_wrong_answer_is_seen() -> None:
    x = np.linspace(0, 1, 1000, dtype=np.float32)
    case = next(case for case in demo.cases(x.shape) if case.label == "x.sum()")
    right = x.sum(dtype=np.float64).astype(np.float32)
    assert demo.agrees(right, case, x)
    assert not demo.agrees(right * np.float32(1.0001), case, x)
    counts = np.arange(1000)
    assert demo.agrees(counts.sum(), case, counts)
    assert not demo.agrees(counts.sum() + 1, case, counts)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint32, np.float16, np.float32, np.complex64])
def test_table_on_the_device(tmp_path: Path, capsys: pytest.CaptureFixture[str], dtype: type) -> None:
    np.save(tmp_path / "x.npy", (np.arange(6000) % 7).reshape(60, 100).astype(dtype))
    assert demo.main([str(tmp_path / "x.npy")]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "x.sum(axis=1)" in printed.out
    assert " NO" not in printed.out


def test_an_error_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["absent.npy"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def benchmark_rows(folder: Path, script: str, *arguments: str) -> list[dict[str, Any]]:
    """Run a command of the benchmarks, and give the rows that it wrote."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / script), *arguments, "--output", str(folder)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (written,) = folder.glob("*.json")
    rows: list[dict[str, Any]] = json.loads(written.read_text())["rows"]
    return rows


def test_benchmarks_run(tmp_path: Path) -> None:
    """A few operations at small sizes, clarray and NumPy only; times are not judged."""
    options = "--large 4096 --math 4096 --rounds 3 --peers clarray,numpy --no-process"
    rows = benchmark_rows(tmp_path, "run.py", "sum", "exp", *options.split())
    assert all(row["agrees_with_numpy"] and not row["errors"] for row in rows)
    assert {"a.sum()", "exp"} <= {row["operation"] for row in rows}


def test_whole_programs_run(tmp_path: Path) -> None:
    options = "--sizes small --budget 0 --peers clarray,numpy"
    (row,) = benchmark_rows(tmp_path, "programs.py", "crc16", *options.split())
    assert row["program"] == "crc16"
    assert row["best_seconds"].keys() == {"clarray", "numpy"}
    assert not row["errors"]
    assert not row["differs"]
