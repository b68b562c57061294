"""What a profile records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clarray._engine.runtime import Device
from clarray._engine.runtime.profiling import Profile, Record, profile


def test_counts(device: Device, scale: Any) -> None:
    x = np.ones(1000, np.float32)
    scale(x, 1.0, True)
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
    assert launch.first == device.is_pocl
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
                Record("launch", "sum", 2_000_000_000, 0.5, "here.py:3"),
                Record("allocate", "memory", 64, 0.0, "here.py:3"),
                Record("synchronize", "wait", 0, 0.001, "here.py:4"),
            ]
        )
    )
    rows = text.splitlines()
    assert rows[1].split() == ["launch", "sum", "1", "2,000,000,000", "500.000", "4.0", "here.py:3"]
    assert rows[2].split() == ["synchronize", "wait", "1", "1.000", "here.py:4"]
    assert rows[3] == "rendering 0.000 ms, building 0.000 ms, copying 0.000 ms, waiting 1.000 ms, running 500.000 ms"
    assert rows[4].startswith("1 launches, 0 transfers of 0 bytes, 1 synchronisations, 0 builds, 64")


def test_a_loop_is_one_line_for_each_of_its_launches() -> None:
    records = [Record("render", "sum_source", 0, 0.002, "here.py:3"), Record("build", "sum", 0, 0.03, "here.py:3")]
    for number in range(400):
        records.append(Record("launch", "sum", 1000 + number, 0.001, "here.py:3", first=number == 0))
        records.append(Record("launch", "elementwise", 10, 0.001, "here.py:4"))
    records.append(Record("launch", "sum", 10, 0.001, "here.py:5"))
    found = Profile(records)
    assert [row.split() for row in str(found).splitlines()[1:-2]] == [
        ["render", "sum_source", "1", "2.000", "here.py:3"],
        ["build", "sum", "1", "30.000", "here.py:3"],
        ["first", "launch", "sum", "1", "1,000", "1.000", "0.0", "here.py:3"],
        ["launch", "elementwise", "400", "4,000", "400.000", "0.0", "here.py:4"],
        ["launch", "sum", "399", "478,800", "399.000", "0.0", "here.py:3"],
        ["launch", "sum", "1", "10", "1.000", "0.0", "here.py:5"],
    ]
    assert found.launches == 801
    assert (found.rendering, found.building) == (0.002, 0.031)
    assert found.running == pytest.approx(0.8)
