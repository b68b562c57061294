"""What docs/how-to/coming_from.md tells users of other libraries to write."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clarray

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "coming_from.md"


def named() -> list[str]:
    """The dotted names of clarray's in the page, and those without it in the tables' right columns."""
    text = PAGE.read_text()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    right = " ".join(row.split(" | ", 1)[1] for row in rows)
    bare = [name for name in re.findall(r"`([a-z_]+)`", right) if hasattr(np, name)]
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


def test_fuse_gives_the_function() -> None:
    def function(x: Any) -> Any:
        return x * 2 + 1

    assert clarray.fuse(function) is function
    assert clarray.fuse()(function) is function
    assert clarray.fuse(kernel_name="twice")(function) is function
    for wrong in ((1,), (function, function)):
        with pytest.raises(TypeError, match="fuse takes one function"):
            clarray.fuse(*wrong)


def test_the_memory_pool() -> None:
    pool = clarray.get_default_memory_pool()
    before = pool.used_bytes()
    x = clarray.zeros(1 << 20, np.int8).evaluate()
    assert pool.used_bytes() - before == 1 << 20
    del x
    assert pool.used_bytes() == before
    assert pool.free_bytes() >= 1 << 20
    assert pool.total_bytes() == pool.used_bytes() + pool.free_bytes()
    pool.free_all_blocks()
    assert pool.free_bytes() == 0


def test_the_limit_of_the_memory_pool() -> None:
    pool, before = clarray.get_default_memory_pool(), clarray.config.memory_limit
    try:
        pool.set_limit(size=1 << 40)
        assert clarray.config.memory_limit == 1 << 40
        pool.set_limit(fraction=0.5)
        assert clarray.config.memory_limit == "50%"
        assert pool.get_limit() == clarray.memory_info().limit > 0
        for none in ({"size": 0}, {"fraction": 0}):
            pool.set_limit(**none)
            assert clarray.config.memory_limit is None
            assert pool.get_limit() == 0
        for wrong in ({}, {"size": 1, "fraction": 0.5}):
            with pytest.raises(ValueError, match="size or fraction"):
                pool.set_limit(**wrong)
    finally:
        clarray.config.memory_limit = before
