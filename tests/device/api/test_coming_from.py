"""What docs/coming_from.rst tells users of other libraries to write."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import clarray

PAGE = Path(__file__).resolve().parents[3] / "docs" / "coming_from.rst"


def named() -> list[str]:
    """The dotted names of clarray's in the page, and those without it in the tables' right columns."""
    text = PAGE.read_text()
    rows = [line for line in text.splitlines() if line.startswith("``") and "  " in line]
    right = " ".join(re.split(r"  +", row, maxsplit=1)[1] for row in rows)
    bare = [name for name in re.findall(r"``([a-z_]+)``", right) if hasattr(np, name)]
    return sorted(set(re.findall(r"\bclarray\.([a-zA-Z_.]+[a-zA-Z])", text)) | set(bare))


@pytest.mark.parametrize("name", named())
def test_names_are_there(name: str) -> None:
    import clarray.ndimage
    import clarray.random
    import clarray.special

    found = clarray
    for part in name.split("."):
        found = getattr(found, part)


def test_the_page_names_many() -> None:
    assert len(named()) > 30


def test_the_module_of_an_array() -> None:
    x, host = clarray.ones(3), np.ones(3)
    assert clarray.get_array_module(host, x) is clarray
    assert clarray.get_array_module(host, 1) is np
    assert clarray.get_array_module() is np


def test_values_from_the_host() -> None:
    x = clarray.zeros((2, 3), "f4")
    view = x[1]
    x.set(np.arange(6).reshape(2, 3))
    assert view.tolist() == [3, 4, 5]
    with pytest.raises(ValueError, match="shape mismatch"):
        x.set(np.ones(3))


def test_values_for_other_libraries() -> None:
    x = clarray.arange(4, dtype="i4")
    assert x.to_numpy().tolist() == [0, 1, 2, 3]
    assert x.to_numpy().base is None
    assert x.to_numpy("f8").dtype == np.float64
    assert not np.shares_memory(x.to_numpy(copy=False), x.to_numpy())
