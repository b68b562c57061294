"""Structures and their numbers."""

from __future__ import annotations

from clarray._engine.expr.node import Interner


def test_two_structures_have_two_numbers_whoever_comes_between() -> None:
    intern = Interner()

    class Key:
        """One in whose hashing another thread might have its turn."""

        met = False

        def __hash__(self) -> int:
            if not self.met:
                self.met = True
                numbers.append(intern("another"))
            return 1

    class Late(Key):
        """The same, when it has been looked for already."""

        looks = 0

        def __hash__(self) -> int:
            self.looks += 1
            return super().__hash__() if self.looks == 2 else 1

    for kind in (Key, Late):
        numbers: list[int] = []
        key = kind()
        numbers.append(intern(key))
        assert len(set(numbers)) == len(numbers) == 2
        assert intern(key) == numbers[1]
        intern = Interner()
