"""What a profile records."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from clarray._engine.runtime import Device
from clarray._engine.runtime.profiling import Profile, Record, profile


def made(
    kind: Any, name: str, nbytes: int, seconds: float, where: str, first: bool = False, start: float = 0.0
) -> Record:
    return Record(kind=kind, name=name, nbytes=nbytes, seconds=seconds, where=where, first=first, start=start)


def test_counts(device: Device, scale: Any) -> None:
    x = np.ones(1000, np.float32)
    scale(x, 1.0, True)
    scale(x, 1.0, False)
    with profile() as p:
        scale(x, 2.0, True)
        scale(x, 2.0, False)
        device.synchronize()
    assert p.launches == 2
    assert p.transfers == 4
    assert p.bytes == 16_000
    assert p.builds == 0
    assert p.allocated_bytes == 16_000
    assert [r.name for r in p.records if r.kind == "launch"] == ["scale", "scale"]
    assert all(r.nbytes == 8000 and r.seconds > 0 for r in p.records if r.kind == "launch")
    assert all("conftest.py:" in r.where for r in p.records)
    scale(x, 2.0, True)
    assert p.launches == 2


def test_synchronisations_and_builds(device: Device, scale: Any) -> None:
    x = device.upload(np.ones(10, np.float32))
    scale.kernel.launch((1,), (1,), (x.buffer, 10, x.buffer, 1.0))
    source = f"kernel void unique_{np.random.randint(1 << 62)}(global int *x) {{ x[0] = 0; }}"  # noqa: NPY002
    name = source.split()[2].partition("(")[0]
    with profile() as p:
        device.synchronize()
        device.synchronize()
        device.program(source, {name: ("buffer",)}).kernel(name).launch((1,), (1,), (x.buffer,))
    assert p.synchronisations == 1
    assert p.builds == 1
    (launch,) = (r for r in p.records if r.kind == "launch")
    in_child = device.backend.compiles_in_child(device.cl_device)
    assert launch.first == (device.backend.compiles_at_launch and not in_child)
    assert p.building >= next(r.seconds for r in p.records if r.kind == "build") + launch.seconds * launch.first
    assert p.running == (0 if launch.first else launch.seconds)


def test_profiles_nest(scale: Any) -> None:
    x = np.ones(10, np.float32)
    with profile() as outer:
        with profile() as inner:
            scale(x, 1.0, True)
        scale(x, 1.0, True)
    assert inner.launches == 1
    assert outer.launches == 1


def test_the_table() -> None:
    text = str(
        Profile(
            [
                made("launch", "sum", 2_000_000_000, 0.5, "here.py:3"),
                made("allocate", "memory", 64, 0.0, "here.py:3"),
                made("synchronize", "wait", 0, 0.001, "here.py:4"),
            ]
        )
    )
    rows = text.splitlines()
    assert rows[1].split() == ["launch", "sum", "1", "2,000,000,000", "500.000", "4.0", "here.py:3"]
    assert rows[2].split() == ["synchronize", "wait", "1", "1.000", "here.py:4"]
    assert rows[3] == "rendering 0.000 ms, building 0.000 ms, copying 0.000 ms, waiting 1.000 ms, running 500.000 ms"
    assert rows[4].startswith("1 launches, 0 transfers of 0 bytes, 1 synchronisations, 0 builds, 64")


def test_names_of_kernels_are_explained() -> None:
    kernels = "radix_count", "index_map", "add"
    p = Profile([made("launch", name, 8, 1e-3, "a.py:1") for name in kernels])
    p.records.append(made("build", "radix_count, radix_split, radix_fill, radix_bucket", 0, 1e-3, "a.py:1"))
    lines = str(p).splitlines()
    assert "radix_count, radix_split, radix_fill and 1 more" in lines[4]
    assert [line.partition(":")[0] for line in lines[5:-2]] == ["index_map", "radix_*"]


@pytest.mark.parametrize("arguments", [["-c"], ["-"]])
def test_code_without_a_file_has_lines(arguments: list[str]) -> None:
    program = (
        "import clarray\nwith clarray.profile() as p:\n    clarray.ones(10**6).evaluate()\nprint(p.records[-1].where)"
    )
    text = program if arguments == ["-"] else None
    command = [sys.executable, *arguments, *([] if text else [program])]
    run = subprocess.run(command, input=text, capture_output=True, text=True)
    assert run.stdout.strip() == ("<stdin>:3" if text else "<string>:3"), run.stderr


def test_a_loop_is_one_line_for_each_of_its_launches() -> None:
    records = [made("render", "sum_source", 0, 0.002, "here.py:3"), made("build", "sum", 0, 0.03, "here.py:3")]
    for number in range(400):
        records.append(made("launch", "sum", 1000 + number, 0.001, "here.py:3", first=number == 0))
        records.append(made("launch", "elementwise", 10, 0.001, "here.py:4"))
    records.append(made("launch", "sum", 10, 0.001, "here.py:5"))
    found = Profile(records)
    rows = str(found).splitlines()
    assert rows[-3].startswith("first launch: this process launches the kernel for the first time")
    assert [row.split() for row in rows[1:-3]] == [
        ["render", "sum_source", "1", "2.000", "here.py:3"],
        ["build", "sum", "1", "30.000", "here.py:3"],
        ["first", "launch", "sum", "1", "1,000", "1.000", "0.0", "here.py:3"],
        ["launch", "elementwise", "400", "4,000", "400.000", "0.0", "here.py:4"],
        ["launch", "sum", "399", "478,800", "399.000", "0.0", "here.py:3"],
        ["launch", "sum", "1", "10", "1.000", "0.0", "here.py:5"],
    ]
    assert "first launch" not in str(Profile(records[3:]))
    assert "<div>first launch: " in found._repr_html_()
    assert found.launches == 801
    assert (found.rendering, found.building) == (0.002, 0.031)
    assert found.running == pytest.approx(0.8)


def a_loop() -> Profile:
    records = []
    for number in range(400):
        records.append(made("build", "sum<float>", 0, 0.03, "<here>.py:3", start=0.0) if not number else None)
        records.append(made("launch", "sum<float>", 4000, 0.001, "<here>.py:3", start=0.04 + number * 0.002))
        records.append(made("transfer", "to host", 8, 0.0005, "<here>.py:4", start=0.0415 + number * 0.002))
    records.append(made("allocate", "memory", 64, 0.0, "<here>.py:3"))
    return Profile([record for record in records if record is not None])


def test_notebooks_show_the_table() -> None:
    found = a_loop()._repr_html_()
    rows = [re.findall("<t[dh][^>]*>(.*?)</t[dh]>", row) for row in re.findall("<tr>(.*?)</tr>", found)]
    assert rows == [
        ["", "what", "times", "bytes", "ms", "GB/s", "where"],
        ["build", "sum&lt;float&gt;", "1", "", "30.000", "", "&lt;here&gt;.py:3"],
        ["launch", "sum&lt;float&gt;", "400", "1,600,000", "400.000", "0.0", "&lt;here&gt;.py:3"],
        ["transfer", "to host", "400", "3,200", "200.000", "0.0", "&lt;here&gt;.py:4"],
    ]
    assert "running 400.000 ms" in found
    assert "400 launches, 400 transfers of 3,200 bytes" in found
    ElementTree.fromstring(found)


def test_of_itself_a_profile_says_the_sums() -> None:
    assert repr(a_loop()).startswith("<Profile: 400 launches, 400 transfers of 3,200 bytes, ")
    assert len(repr(a_loop())) < 200


def test_records_tell_when_they_began(scale: Any) -> None:
    x = np.ones(1000, np.float32)
    began = time.perf_counter()
    with profile() as p:
        scale(x, 1.0, True)
        time.sleep(0.02)
        scale(x, 1.0, True)
    ended = time.perf_counter() - began
    starts = [r.start for r in p.records if r.kind == "launch"]
    assert starts[1] - starts[0] >= 0.02
    assert all(r.start >= 0 and r.start + r.seconds <= ended for r in p.records)


def test_the_timeline_has_a_bar_for_each_record() -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is an extra")
    matplotlib.use("agg")
    axes = a_loop().timeline()
    assert [len(bars.get_paths()) for bars in axes.collections] == [1, 400, 400]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["build", "launch", "transfer"]
    assert [label.get_text() for label in axes.get_legend().get_texts()] == ["sum<float>, 430 ms", "to host, 200 ms"]
    last = axes.collections[-1].get_paths()[-1].get_extents()
    assert (last.x0, last.x1) == (pytest.approx(839.5), pytest.approx(840.0))
    assert a_loop().timeline(axes) is axes
    assert Profile().timeline().get_legend() is None
    matplotlib.pyplot.close("all")


def test_many_names_share_a_colour() -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is an extra")
    matplotlib.use("agg")
    axes = Profile([made("launch", f"k{n}", 1, 1.0 + n, "x.py:1", start=n) for n in range(30)]).timeline()
    assert len(axes.get_legend().get_texts()) == 10
    assert sum(len(bar.get_paths()) for bar in axes.collections) == 30
    matplotlib.pyplot.close("all")


def test_without_matplotlib_the_timeline_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        a_loop().timeline()
