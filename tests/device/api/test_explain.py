"""Descriptions of an evaluation for users: `explain`, `profile`, `show_config`."""

from __future__ import annotations

import inspect
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import clarray
from clarray._core import host_policy
from clarray._engine.evaluate import kernel_cache_of
from clarray._engine.speedups import core_state, native

ROOT = Path(__file__).resolve().parents[3]


def array(n: int = 1000) -> clarray.DeviceArray:
    return clarray.array(np.arange(n, dtype=np.float32))


@pytest.mark.kernels_alone
def test_explaining_runs_nothing() -> None:
    a, b = array(), array() + 1
    value = ((a - b) ** 2).sum()
    with clarray.profile() as p:
        text = value.explain()
    assert (p.launches, p.transfers, p.builds) == (0, 0, 0)
    assert value._node.memory is None
    for wanted in (
        "add over axes (0,) -> float32 0-d",
        "square",
        "subtract",
        "array float32 1000",
        "1. reduce:",
        "ReducePolicy(",
        "__kernel",
        "void reduce(",
    ):
        assert wanted in text, wanted
    assert text == value.explain()
    assert float(value) == 1000


def test_the_launches_are_those_that_run() -> None:
    x = array()
    shared = x * 2
    cases = {
        "one": x + 1,
        "sum": (x * x).sum(),
        "centred": (x - x.mean()) * 2,
        "shared": shared + shared.sum(),
        "large": clarray.ones(1 << 20, np.float32).sum(axis=0) + 1,
        "transposed": x.reshape(10, 100).T + x.reshape(100, 10),
        "index": clarray.arange(5000, dtype=np.int64),
        "index below": clarray.arange(5000, dtype=np.float32) * 2,
        "masked": x[x > 5].sum(),
    }
    other = shared - 1  # so that `shared` is a pass of its own
    for name, value in cases.items():
        text = value.explain()
        with clarray.profile() as p:
            value.evaluate()
        explained = re.findall(r"^  \d+\. (\w+): .* ([\d,]+) bytes", text, re.M)
        ran = [(r.name, f"{r.nbytes:,}") for r in p.records if r.kind == "launch"]
        assert explained == ran, name
    np.testing.assert_array_equal(other, np.arange(1000, dtype=np.float32) * 2 - 1)


@pytest.mark.kernels_alone
def test_explaining_memory_and_selections() -> None:
    x = array()
    assert "nothing is left to run" in x.explain()
    assert "strides (-2,)" in x[::-2].explain()
    assert "selection" in x[x > 3].explain()
    host = np.ones(3, np.float32)
    if x.device.capabilities.host_memory:
        assert "shared with the host" in clarray.asarray(host).explain()


@pytest.mark.kernels_alone
def test_profile_tells_who_asked() -> None:
    x = array(1 << 16)
    (x + 1).evaluate()
    with clarray.profile() as p:
        y = (x + 1).evaluate()
        line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
        np.sum(y).item()
        clarray.asnumpy(y)
    here = f"test_explain.py:{line}"
    launch = next(r for r in p.records if r.kind == "launch")
    assert launch.where == here
    assert launch.nbytes == 2 * y.nbytes
    assert launch.gigabytes_per_second > 0
    assert {r.where for r in p.records} <= {f"test_explain.py:{line + k}" for k in (0, 2, 3)}
    assert p.transfers == 2
    assert p.bytes == y.nbytes + 4
    text = str(p)
    assert "GB/s" in text.splitlines()[0]
    assert here in text
    assert f"{p.launches} launches, 2 transfers" in text.splitlines()[-1]


def test_uploads_are_transfers() -> None:
    host = np.arange(24, dtype=np.float32).reshape(4, 6)
    with clarray.profile() as p:
        clarray.array(host)
        clarray.array(host.T[::-1])
        clarray.array(host, np.float16)
        clarray.array(host.astype(">f4"))
    assert p.transfers == 4
    assert p.bytes == 24 * (4 + 4 + 2 + 4)


def test_show_config(capsys: pytest.CaptureFixture[str]) -> None:
    clarray.show_config()
    brief = capsys.readouterr().out.splitlines()
    assert brief[:2] == ["Versions", f"  clarray                   {clarray.__version__}"]
    assert f"  compiled core             {core_state}" in brief
    assert (core_state == "in force") is (native is not None)
    assert sum(line.startswith(" *") for line in brief) == 1
    assert len(brief) <= 40  # one screen
    for name in (*host_policy.SETTINGS, "memory_limit"):
        assert f"  {name:25} {getattr(clarray.config, name)!r}" in brief
    clarray.show_config(details=True)
    whole = capsys.readouterr().out
    begun = whole.splitlines()[: len(brief)]
    in_use = f"  {'memory':25}"  # it may be given back meanwhile
    assert [line for line in begun if in_use not in line] == [line for line in brief if in_use not in line]
    for wanted in ("compute_units", "fp64", "ReducePolicy("):
        assert wanted in whole
        assert wanted not in "".join(brief)


@pytest.mark.kernels_alone
def test_an_explanation_has_the_policies_that_are_used_only() -> None:
    x, matrix = array(), clarray.ones((300, 300), np.float32).evaluate()
    cases = [
        (("elementwise",), lambda: x + 1),
        (("reduce",), lambda: (x * x).sum()),
        (("reduce",), lambda: x[x > 5].sum()),
        (("products",), lambda: matrix @ matrix[0]),
        (("elementwise", "reduce"), lambda: x[:300] * matrix.mean()),
    ]
    for names, make in cases:
        found = make().explain()
        assert tuple(found.policies) == names
        assert found.count("Policy(") == len(names)
    assert (x + 1).explain().policies == {"elementwise": str(policies_of(x).elementwise)}
    assert x.explain().policies == {}


def policies_of(x: clarray.DeviceArray) -> Any:
    return kernel_cache_of(x.device).policies


@pytest.mark.kernels_alone
def test_an_explanation_shows_itself() -> None:
    x = array()
    found = ((x - x.mean()) * 2).explain()
    assert isinstance(found, str)
    shown, pointer = repr(found).rsplit("\n", 1)
    assert str(found).startswith(shown)
    assert all(launch in shown for launch in found.launches)
    assert "Policy(" not in shown
    assert "__kernel" not in shown
    assert pointer.startswith("print()")
    assert repr(x.evaluate().explain()) == str(x.evaluate().explain())  # nothing left to run
    assert [box.title for box in found.boxes if box.kind == "pass"] == ["multiply", "add"]
    assert len(found.launches) == len(re.findall(r"^  \d+\. ", found, re.M))
    page = ElementTree.fromstring(found._repr_html_())
    assert len(list(page.iter("li"))) == len(found.launches)
    assert {each.text for each in page.iter("summary")} >= {"Policies", "OpenCL source 1"}
    drawn = ElementTree.fromstring(found.picture())
    rectangles = [each for each in drawn.iter() if each.tag.endswith("rect")]
    assert len(rectangles) == len(found.boxes)
    places = {(each.attrib["x"], each.attrib["y"]) for each in rectangles}
    assert len(places) == len(rectangles)  # none on another
    assert pickle.loads(pickle.dumps(found)).launches == found.launches
    assert "<svg" not in x.explain()
    many = x
    for _ in range(70):
        many = many + x
    assert many.explain().picture() == "" or len(many.explain().boxes) <= 60


@pytest.mark.parametrize("pure", ["0", "1"])
def test_what_is_said_of_the_core(pure: str) -> None:
    """README names the line: in `show_config`, and as the doctor has it."""
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert "line `compiled core` of `clarray.show_config()` says" in readme
    program = "from clarray._api.doctor.system import versions; print(versions()['compiled core'])"
    environment = os.environ | {"CLARRAY_PURE": pure}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True, cwd=ROOT)
    assert (done.stdout == "not in force: CLARRAY_PURE is set\n") is (pure == "1")


def test_attributes_of_pending_values(same: Any) -> None:
    """Shape, dtype and layout are known, or found out, without the value being asked for."""

    def body(xp: Any) -> Any:
        x = xp.arange(24, dtype=np.float32).reshape(4, 6)
        y = (x.T * 2)[::-1]
        flags = y.flags
        names = ("C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE")
        return [y.shape, y.ndim, y.size, y.nbytes, y.itemsize, y.strides, *(flags[n] for n in names)]

    same(body)
    x = array() + 1
    assert (x.shape, x.dtype, x.size, x.ndim, len(x), x.nbytes) == ((1000,), "float32", 1000, 1, 1000, 4000)
    assert x._node.memory is None
