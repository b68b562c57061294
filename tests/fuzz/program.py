"""Programs as data: where the numbers come from, and statements, which are Python text over names of variables.

What runs is what is printed: a statement is executed with `xp` as NumPy or as clarray, and nothing stands between.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from . import values as values_module

LITERAL = 40  # an array of at most so many elements is printed as such


class Names(NamedTuple):
    """The variables of a statement."""

    makes: frozenset[str]
    reads: frozenset[str]
    writes: frozenset[str]  # through a key, an attribute, or in place


@dataclass(frozen=True)
class Datum:
    """An array of the host's that a program begins with.

    Attributes
    ----------
    layout : str
        What is applied to a larger or turned array so that one of this shape is left; see `LAYOUTS`.
    given : list, optional
        The elements, real numbers (pairs for complex ones), in place of those that the seed draws.
    """

    name: str
    seed: int
    shape: tuple[int, ...]
    dtype: str
    profile: str = "tame"
    layout: str = "C"
    given: tuple[Any, ...] | None = None

    @property
    def stored(self) -> tuple[int, ...]:
        """The shape of the array that the layout is applied to."""
        return LAYOUTS[self.layout][0](self.shape)

    @property
    def text(self) -> str:
        shape = self.stored
        complex_ = self.dtype.startswith("complex")
        if int(np.prod(shape)) > LITERAL:
            array = f"values({self.seed}, {shape}, {self.dtype!r}, {self.profile!r})"
        else:
            part = {"complex64": "float32", "complex128": "float64"}.get(self.dtype, self.dtype)
            drawn = np.array(self.given, part) if self.given is not None else self.drawn()
            array = f"np.array({[_number(x) for x in drawn.tolist()]}, {part!r})".replace("'+", "").replace("+'", "")
            array += f".view({self.dtype!r})" if complex_ else ""
            array += f".reshape({shape})" if shape != (drawn.size,) or complex_ else ""
        return f"{self.name} = {array}{LAYOUTS[self.layout][1]}"

    def drawn(self) -> np.ndarray:
        """The elements as real numbers."""
        made = values_module.values(self.seed, self.stored, self.dtype, self.profile).ravel()
        return made.view(made.real.dtype) if made.dtype.kind == "c" else made


def _number(value: Any) -> Any:
    """A number as text that Python reads, marked to lose its quotes."""
    if isinstance(value, float) and (value != value or value in (np.inf, -np.inf)):
        return f"+{'-' if value < 0 else ''}np.{'nan' if value != value else 'inf'}+"
    return value


def _doubled(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:-1], 2 * shape[-1]) if shape else shape


LAYOUTS: dict[str, tuple[Any, str]] = {
    "C": (lambda shape: shape, ""),
    "F": (lambda shape: shape[::-1], ".T"),
    "reversed": (lambda shape: shape, "[::-1]"),
    "steps": (_doubled, "[..., ::2]"),
    "odd": (_doubled, "[..., 1::2]"),
    "back": (_doubled, "[..., ::-2]"),
}


@dataclass(frozen=True)
class Statement:
    """A line of a program.

    Attributes
    ----------
    kind : str
        The row of the table of operations that it comes from.
    guard : str
        An expression over `np` and the variables that tells whether NumPy defines what the statement gives.
    rounds : str
        Where it rounds otherwise than NumPy may: '' nowhere, 'complex' in complex elements, 'result' in each element,
        'operands' in sums over many, 'complex operands' in complex differences of products.
    """

    text: str
    kind: str = ""
    guard: str = ""
    rounds: str = ""

    @property
    def names(self) -> Names:
        return names_of(self.text)

    @property
    def changes(self) -> frozenset[str]:
        """The variables whose elements it may write, by whatever call."""
        return changed_by(self.text)

    @property
    def code(self) -> CodeType:
        return compiled(self.text, "exec")


@dataclass(frozen=True)
class Program:
    """A program: its arrays and its statements.

    Attributes
    ----------
    order : str
        When results are evaluated: 'lazy', 'evaluated' or 'mixed'.
    repeats : int
        How often `earlier` runs on clarray first, so that what clarray keeps of a call is used.
    """

    data: tuple[Datum, ...]
    statements: tuple[Statement, ...]
    order: str = "evaluated"
    note: str = ""
    repeats: int = 0

    def earlier(self) -> Program:
        """The same statements with other values."""
        data = tuple(replace(datum, seed=datum.seed + 1, given=None) for datum in self.data)
        return replace(self, data=data, repeats=0)

    def without(self, start: int, stop: int) -> Program:
        return replace(self, statements=self.statements[:start] + self.statements[stop:]).pruned()

    def pruned(self) -> Program:
        """Without the statements that read what nothing makes any more."""
        known = {datum.name for datum in self.data}
        kept = []
        for statement in self.statements:
            names = statement.names
            if names.reads <= known:
                kept.append(statement)
                known |= names.makes
        return replace(self, statements=tuple(kept))

    def used(self) -> Program:
        """Without data that no statement reads."""
        read = frozenset().union(*(s.names.reads | s.names.writes for s in self.statements))
        return replace(self, data=tuple(d for d in self.data if d.name in read))

    @cached_property
    def size(self) -> tuple[int, int, int]:
        """What shrinking makes smaller."""
        return (
            len(self.statements),
            sum(len(s.text) for s in self.statements),
            sum(int(np.prod(d.shape)) for d in self.data),
        )


@lru_cache(50_000)
def compiled(text: str, mode: str) -> CodeType:
    return compile(text, "<statement>", mode)


@lru_cache(50_000)
def names_of(text: str) -> Names:
    makes, reads, writes = set(), set(), set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and is_variable(node.id):
            (makes if isinstance(node.ctx, ast.Store) else reads).add(node.id)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            writes.add(node.target.id)
        for target in _targets(node):
            writes |= {n.id for n in ast.walk(_root(target)) if isinstance(n, ast.Name) and is_variable(n.id)}
        if isinstance(node, ast.keyword) and node.arg == "out":
            writes |= {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name) and is_variable(n.id)}
    reads |= writes
    reads -= makes - writes  # a name that a line makes and uses again
    return Names(frozenset(makes - writes), frozenset(reads), frozenset(writes))


@lru_cache(50_000)
def changed_by(text: str) -> frozenset[str]:
    """What a line writes to: what it names as a target, the array of a method, the first argument of a function."""
    found = set(names_of(text).writes)
    for line in ast.parse(text).body:
        call = line.value if isinstance(line, ast.Expr) else None
        if isinstance(call, ast.Call):
            root = _root(call.func)
            named = [root, *call.args[:1]] if isinstance(root, ast.Name) else [root]
            found |= {n.id for one in named for n in ast.walk(one) if isinstance(n, ast.Name) and is_variable(n.id)}
    return frozenset(found)


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    """What is written to through a key or an attribute."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    yield from (t for t in targets if isinstance(t, ast.Subscript | ast.Attribute))


def _root(target: ast.expr) -> ast.expr:
    while isinstance(target, ast.Subscript | ast.Attribute):
        target = target.value
    return target


def is_variable(name: str) -> bool:
    """Whether a name is one of a program's: `h3` on the host, `v12` on either side."""
    return name[0] in "hv" and name[1:].isdigit()


def source_of_values() -> str:
    return inspect.getsource(values_module.values)
