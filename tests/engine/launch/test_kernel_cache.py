"""What is prepared once is made once: no device."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from clarray._engine.codegen.arguments import Fields
from clarray._engine.codegen.render import Source
from clarray._engine.launch import kernel_cache
from clarray._engine.launch.kernel_cache import KernelCache
from clarray._engine.tuning.rows import CPU


@pytest.fixture
def cache() -> KernelCache:
    made = KernelCache.__new__(KernelCache)
    made.device = None  # type: ignore[assignment]
    made.prepared, made.rendered = {}, {}
    object.__setattr__(made, "policies", CPU)  # of no device that the compiled core could be told of
    return made


@pytest.mark.parametrize("value", [None, 0, (), "kernel"])
def test_a_value_is_made_once_whatever_it_is(cache: KernelCache, value: Any) -> None:
    calls: list[tuple[int, ...]] = []

    def make(*args: int) -> Any:
        calls.append(args)
        return value

    assert [cache.value_for("key", make, 1, 2) for _ in range(3)] == [value] * 3
    assert calls == [(1, 2)]


def test_an_error_is_not_kept(cache: KernelCache) -> None:
    def make() -> Any:
        raise KeyError("of the one who makes it")

    for _ in range(2):
        with pytest.raises(KeyError, match="of the one") as error:
            cache.value_for("key", make)
        assert error.value.__context__ is None  # that nothing was kept is nobody's error
    assert cache.prepared == {}


def test_kernels_are_of_the_source_that_was_rendered(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = Fields("__global int *yp")
    rendered: list[Any] = []
    kernel = SimpleNamespace()
    program = SimpleNamespace(kernel=lambda name: kernel)
    monkeypatch.setattr(KernelCache, "_program", lambda self, *given: rendered.append(given) or program)
    for _ in range(2):
        assert cache.kernel_for("one", lambda: Source.of("add", "text", fields)) is kernel
        assert cache.kernels_for("all", lambda: ("text", {"add": fields})) == {"add": kernel}
    assert rendered == [("text", {"add": ("buffer",)})] * 2
    assert kernel.arguments(yp=1) == [1]


def test_all_is_dropped_where_there_is_too_much(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "CACHE_LIMIT", 3)
    monkeypatch.setattr(kernel_cache, "KERNEL_LIMIT", 2)
    program = SimpleNamespace(kernel=lambda name: "kernel")
    monkeypatch.setattr(KernelCache, "_program", lambda self, *given: program)
    for number in range(4):
        cache.kernel_for(number, Source, "add", "text", ())
    assert [key for key, _ in cache.rendered] == [2, 3]
    for number in range(4):
        cache.value_for(number, int)
    assert list(cache.prepared) == [3]
    assert [key for key, _ in cache.rendered] == [2, 3]  # many shapes cost no kernels
