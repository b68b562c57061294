"""Our frozen dataclasses act as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from clarray._engine import fast_dataclass

OPTIONS = [
    {"frozen": True, "slots": True, "kw_only": True},
    {"frozen": True, "slots": True},
    {"frozen": True},
    {"frozen": True, "slots": True, "eq": False},
    {"slots": True},
    {},
]


def made(decorate: Callable[..., Any], options: dict[str, bool]) -> tuple[Any, Any, Any]:
    """Three classes of one module, defined one way."""

    @decorate(**options)
    class Point:
        """A point."""

        x: int
        y: Any = 2
        many: ClassVar[int] = 7

        @property
        def both(self) -> Any:
            return self.x, self.y

    @decorate(**options)
    class Alone:
        x: int

        def __repr__(self) -> str:
            return "mine"

    @decorate(**options)
    class Empty:
        pass

    return Point, Alone, Empty


def outcome(body: Callable[[], Any]) -> Any:
    try:
        return body()
    except Exception as error:
        return type(error), isinstance(error, dataclasses.FrozenInstanceError)


@pytest.mark.parametrize("options", OPTIONS)
def test_as_the_standard_librarys(options: dict[str, bool]) -> None:
    def facts(classes: tuple[Any, Any, Any]) -> list[Any]:
        point, alone, empty = classes
        a, b, c = point(x=1), point(x=1, y=2), point(x=1, y=[3])
        return [
            *(repr(a), repr(c), repr(alone(x=1)), repr(empty())),
            *(a == b, a == c, a == alone(x=1), a != b, a == 1, alone(x=1) == alone(x=1), empty() == empty()),
            outcome(lambda: hash(a) == hash(b)),
            outcome(lambda: isinstance(hash(c), int)),
            outcome(lambda: hash(a) == hash((1, 2))),
            outcome(lambda: setattr(point(x=1), "x", 5)),
            outcome(lambda: delattr(point(x=1), "x")),
            outcome(lambda: point(1, 2).both),
            outcome(lambda: point()),
            outcome(lambda: point(x=1, z=2)),
            *(a.both, b.both, c.both, point.many, point.__doc__, hasattr(a, "__dict__"), point.__match_args__),
            dataclasses.replace(a, y=5).both,
            dataclasses.asdict(c),
            [field.name for field in dataclasses.fields(point)],
            str(inspect.signature(point)),
            repr(copy.copy(c)),
            copy.deepcopy(c).both,
        ]

    assert facts(made(fast_dataclass.dataclass, options)) == facts(made(dataclasses.dataclass, options))


@fast_dataclass.dataclass(frozen=True, slots=True)
class Kept:
    x: int
    rest: dict[str, int] = dataclasses.field(default_factory=dict)


def test_pickled_and_made_of_factories() -> None:
    assert pickle.loads(pickle.dumps(Kept(1, {"a": 2}))) == Kept(1, {"a": 2})
    one, other = Kept(1), Kept(1)
    assert one == other
    assert one.rest is not other.rest
