"""Kernels that include files: the contents are part of every key, and what cannot be known is not kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import clarray
from clarray._engine.runtime import includes
from clarray._engine.runtime.includes import include_comment, is_cacheable


@pytest.fixture
def header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "f.h"
    path.write_text("#define FACTOR 2\n")
    return path


DIRECTIVES = {
    "a path": '#include "{}"',
    "spaces": '  #  include   "{}"',
    "angled": "#include <{}>",
    "a continued line": '#inc\\\nlude "{}"',
    "after a text that looks like a comment": 'constant char t[] = "/*";\n#include "{}"\nconstant char u[] = "*/";',
    "a comment between": '#/**/include/* */"{}" // of mine',
    "the working folder": '#include "f.h"',
}


@pytest.mark.parametrize("directive", DIRECTIVES)
def test_the_note_tells_the_contents(header: Path, directive: str) -> None:
    source = DIRECTIVES[directive].format(header)
    first = include_comment(source)
    assert first == include_comment(source)
    assert is_cacheable(source + first)
    header.write_text("#define FACTOR 3\n")
    second = include_comment(source)
    assert first != second
    assert is_cacheable(source + second)
    assert not is_cacheable(source + first)  # changed before it was compiled
    header.write_text("#define FACTOR 2\n")
    assert include_comment(source) == first


def test_what_included_files_include_counts(header: Path) -> None:
    (header.parent / "below").mkdir()
    (header.parent / "below" / "g.h").write_text("#define G 1\n")
    header.write_text('#include "below/h.h"\n')
    (header.parent / "below" / "h.h").write_text('#include "g.h"\n#include "f.h"\n')  # in a circle, and beside it
    first = include_comment('#include "f.h"')
    assert is_cacheable(first)
    (header.parent / "below" / "g.h").write_text("#define G 2\n")
    second = include_comment('#include "f.h"')
    assert is_cacheable(second)
    (header.parent / "g.h").write_text("#define G 3\n")  # which another search would have found first
    assert len({first, second, include_comment('#include "f.h"')}) == 3


@pytest.mark.parametrize(
    "source",
    [
        '#define FILE "f.h"\n#include FILE',
        '#include "f.h"\n#include FILE',
        '#include "not there.h"',
        "#include <stdio.h>",
        '#if __has_include("f.h")\n#endif',
        '%:include "f.h"',
        '#import "f.h"',
        '#include "fifo"',
        '#include "."',
    ],
)
def test_what_is_not_known_is_not_kept(header: Path, source: str) -> None:
    if hasattr(os, "mkfifo"):
        os.mkfifo(header.parent / "fifo")
    assert include_comment(source).startswith(includes._UNKNOWN)
    assert include_comment(source) != include_comment(source)
    assert not is_cacheable(source + include_comment(source))


def test_a_folder_that_only_the_compiler_knows(header: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-mad-enable -I/elsewhere")
    assert include_comment('#include "f.h"').startswith(includes._UNKNOWN)


@pytest.mark.parametrize("source", ["", "float x = 1;", "// kernel void f() {}"])
def test_other_sources_stay_as_they_are(source: str) -> None:
    assert include_comment(source) == ""
    assert is_cacheable(source)


def _values(header: Path) -> tuple[float, float, float]:
    """What two kinds of kernels make of the header, made anew, the first with it in its text and in the preamble."""
    include = f'#include "{header}"\n'
    scaled = clarray.ElementwiseKernel("T x", "T z", "z = x * FACTOR", "scaled", preamble=include)
    within = clarray.ElementwiseKernel("T x", "T z", f"\n{include}z = x * FACTOR", "within")
    raw = clarray.RawKernel(f"{include}kernel void f(global float *x) {{ x[get_global_id(0)] = FACTOR; }}", "f")
    x = clarray.zeros(4, "float32")
    raw((4,), (1,), (x,))
    ones = clarray.ones(5000, "float32")
    return float(scaled(ones)[1]), float(within(ones)[1]), float(x[0])


def test_kernels_of_one_text_have_each_its_header(header: Path) -> None:
    for factor in (2, 3, 2, 5):
        header.write_text(f"#define FACTOR {factor}\n")
        assert _values(header) == (factor,) * 3


KERNEL = """
import clarray
k = clarray.RawKernel('#include "{}"\\nkernel void f(global float *x) {{ x[get_global_id(0)] = FACTOR; }}', "f")
x = clarray.zeros(4, "float32")
with clarray.profile() as p:
    k((4,), (1,), (x,))
print(float(x[0]), p.builds)
"""


def test_the_next_process_has_the_new_header_and_compiles_once(fresh: Any, header: Path) -> None:
    code = KERNEL.format(header)
    for factor, builds in ((2, 1), (2, 0), (3, 1), (3, 0), (2, 0)):
        header.write_text(f"#define FACTOR {factor}\n")
        assert fresh(code).stdout == f"{factor}.0 {builds}\n"
