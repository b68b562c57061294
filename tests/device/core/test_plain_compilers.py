"""Compilers without clang's builtins, without an instruction for `fma`, and without subnormal numbers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import clarray
from clarray._engine.ops import ctype
from clarray._engine.runtime import current_device, programs
from clarray._engine.runtime.capabilities import _CLANG_BUILTINS
from clarray._engine.runtime.errors import UNLINKED

TEMPLATES = Path(__file__).resolve().parents[3] / "templates"

# Templates whose results depend on one rounding: the same bits on every device, remainders, and sums of two parts.
EXACT = {
    "lib/portable.mako",
    "lib/floating.mako",
    "lib/exponential.mako",
    "lib/complex.mako",  # in float64 only
    "matmul/tensor.mako",  # an instruction of GPUs, emulated for tests
}

PLAIN = {f"CLARRAY_SIMULATE_NO_{what}": "1" for what in ("BUILTINS", "FMA", "SUBNORMALS", "FP64")}

FAMILIES = """
import numpy as np
import clarray
from clarray._api.doctor.families import FAMILIES, agrees, compute
from clarray._engine.launch.host_tier import setting

setting.on = False
for name in FAMILIES:
    assert agrees(compute(name, clarray.array), compute(name, np.array)), name
a, x = np.ones((300, 200), np.float32), np.ones(200, np.float32)
assert (clarray.array(a) @ clarray.array(x)).tolist() == [200.0] * 300
assert clarray.vecdot(clarray.array(a), clarray.array(x)).tolist() == [200.0] * 300
assert clarray.array(a).sum(axis=1).tolist() == [200.0] * 300
assert clarray.cumsum(clarray.array(a), axis=1)[:, -1].tolist() == [200.0] * 300
assert clarray.concatenate([clarray.array(a)] * 2, axis=1).sum() == 120000
device = clarray.zeros(1, np.float32).device
for source in device.sources:
    assert "__builtin" not in source, source
    assert "MULTIPLY_ADD fma" not in source, source
assert any("MULTIPLY_ADD mad" in source for source in device.sources)
print("done")
"""


def test_the_probe_has_every_builtin() -> None:
    texts = [path.read_text(encoding="utf-8") for path in TEMPLATES.rglob("*.mako")]
    texts.append(Path(ctype.__file__).read_text(encoding="utf-8"))
    used = {name for text in texts for name in re.findall(r"__builtin_\w+", text)}
    assert used == set(re.findall(r"__builtin_\w+", _CLANG_BUILTINS))


def test_fma_where_one_rounding_matters() -> None:
    templates = {
        path.relative_to(TEMPLATES).as_posix(): path.read_text(encoding="utf-8") for path in TEMPLATES.rglob("*.mako")
    }
    assert {name for name, text in templates.items() if re.search(r"\bfma\(", text)} == EXACT


@pytest.mark.parametrize("row", ["own", "tiny-cpu"])
def test_a_plain_compiler(row: str) -> None:
    """No kernel has a builtin, streams of the tiny row included, and sums of products are `mad`."""
    environment = {**os.environ, **PLAIN, **({} if row == "own" else {"CLARRAY_POLICY": row})}
    result = subprocess.run(
        [sys.executable, "-c", FAMILIES], env=environment, capture_output=True, text=True, timeout=600
    )
    assert result.stderr == ""
    assert result.stdout == "done\n"


def test_compilers_that_are_tried() -> None:
    """A builtin may end the process of a compiler that is not known, so it is not tried."""
    for device in clarray.devices():
        name = device.capabilities.platform.lower()
        known = device.capabilities.kind == "cpu" and ("portable computing" in name or "intel(r) opencl" in name)
        assert known or not device.capabilities.clang_builtins


def test_the_dialect_says_how_to_multiply_and_add() -> None:
    assert ctype.Dialect().multiply_add == "fma"
    assert ctype.Dialect(fma=False).multiply_add == "mad"


def test_a_library_without_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Mesa 26 says with LLVM's libclc 22: the error names the command that explains it."""
    monkeypatch.setattr(programs, "build_log", lambda program, device: f"Internal compilation error: {UNLINKED}")
    device = current_device()
    program = device.program(
        "kernel void broken(global float *x) { x[0] = no_such_function(x[1]); }", {"broken": ["buffer"]}
    )
    with pytest.raises(RuntimeError, match=f"{UNLINKED}\n.*clarray doctor"):
        program.kernel("broken").launch((1,), (1,), [device.allocate(8).buffer])
