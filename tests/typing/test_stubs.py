"""What type checkers see of clarray: the stubs are what they would be written as, and users' programs are checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.typing import stubs

RIGHT = """
from typing import Any

import clarray
from clarray import DeviceArray
from typing_extensions import assert_type

x = clarray.array([1.0, 2.0])
assert_type(x, DeviceArray)
for found in (x + 1, 1 - x, -x, x.sum(), clarray.sin(x), x.T, x > 0, x.reshape(2, 1), clarray.sum(x, axis=0)):
    assert_type(found, DeviceArray)
assert_type(clarray.divmod(x, 2), tuple[DeviceArray, DeviceArray])
assert_type(float(x.sum()), float)
assert_type(x[0], Any)  # NumPy's scalar, or an array
assert_type(x.shape, tuple[int, ...])
x += 1
x[0] = 3
with clarray.config(host_fallback="allow"):
    clarray.linalg.norm(x)
    clarray.fft.fft(x)
    clarray.random.default_rng(1)
"""
WRONG = {
    "clarray.summ(x)": "attr-defined",
    "x.summ()": "attr-defined",
    "x.sum(axes=0)": "call-arg",
    "clarray.cumsum(x, axs=0)": "call-arg",
    "clarray.linalg.nrm(x)": "attr-defined",
}


@pytest.mark.parametrize("path", stubs.FILES, ids=lambda path: path.name)
def test_stubs_are_up_to_date(path: Path) -> None:
    assert path.read_text() == stubs.FILES[path](), "run python tests/typing/stubs.py"


def test_programs_of_users_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One run of mypy: what is right passes strictly, and every line that is wrong is told."""
    api = pytest.importorskip("mypy.api")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MYPYPATH", str(Path(stubs.clarray.__file__).parents[1]))
    (tmp_path / "right.py").write_text(RIGHT)
    start = "import clarray\n\nx = clarray.zeros(3)\n"
    (tmp_path / "wrong.py").write_text(start + "\n".join(WRONG))
    options = ["--strict", "--ignore-missing-imports", "--follow-imports=silent"]
    text, errors, _ = api.run([*options, "right.py", "wrong.py"])
    assert not errors
    assert [line for line in text.splitlines() if line.startswith("right.py")] == []
    told = {
        int(line.split(":")[1]): line
        for line in text.splitlines()
        if line.startswith("wrong.py") and ": error:" in line
    }
    for number, (statement, code) in enumerate(WRONG.items(), start.count("\n") + 1):
        assert f"[{code}]" in told.get(number, ""), statement
