"""The table of dtypes: what it says, and that nothing else knows a packed dtype by name."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from clarray._engine.ops.dtypes import DTYPES, wide_dtype

ROOT = Path(__file__).resolve().parents[3]
NAMES_DTYPES = {"_engine/ops/dtypes.py", "_api/numpy_names.py"}  # the table, and the names that users see
PACKED = {row.dtype.name for row in DTYPES.values() if row.packed}
HELPERS = {f"lib/{row.packed.name}.mako" for row in DTYPES.values() if row.packed}


@pytest.mark.parametrize("row", DTYPES.values(), ids=lambda row: row.dtype.name)
def test_rows_agree_with_numpy(row) -> None:
    assert row.kind == row.dtype.kind
    assert row.mantissa == (np.finfo(row.dtype).nmant if row.kind in "fc" else 0)
    assert (wide_dtype(row.dtype) != row.dtype) == (row.packed is not None)
    assert row.letter == ("e" if row.packed else row.kind)


def test_what_is_no_dtype_of_the_table_is_as_wide_as_it_is() -> None:
    assert wide_dtype(np.dtype("M8[s]")) == np.dtype("M8[s]")


def _named(tree: ast.Module) -> set[str]:
    """Dtypes that code names: attributes and strings of their name, docstrings aside."""
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return (attributes | strings) & PACKED


def test_only_the_table_names_a_packed_dtype() -> None:
    found = {}
    for path in sorted((ROOT / "clarray").rglob("*.py")):
        name = path.relative_to(ROOT / "clarray").as_posix()
        named = _named(ast.parse(path.read_text()))
        if named and name not in NAMES_DTYPES:
            found[name] = named
    assert not found, "ask the row of ops/dtypes.py"


def test_only_the_table_and_its_helpers_have_functions_of_a_format() -> None:
    formats = "|".join(row.packed.name for row in DTYPES.values() if row.packed)
    call = re.compile(rf"\b(?:vload\w*|vstore|ca_\w+?)_(?:{formats})(?:_|\d|\b)")
    found = []
    for root, suffix in (("clarray", "*.py"), ("templates", "*.mako")):
        for path in sorted((ROOT / root).rglob(suffix)):
            name = path.relative_to(ROOT / root).as_posix()
            text = path.read_text()
            if path.suffix == ".py":  # what users are told to call is prose
                text = re.sub(r'""".*?"""', "", text, flags=re.DOTALL)
            if name not in NAMES_DTYPES | HELPERS and call.search(text):
                found.append(name)
    assert not found, "ask the row of ops/dtypes.py"
