"""Fills the slots of a template from the variables that there are, so that most statements fit and some do not."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

SLOT = re.compile(r"\{(\w+)\}")
KINDS = {"f": "f", "x": "fc", "r": "biuf", "i": "iu", "z": "c", "bi": "biu", "nobool": "iufc", "a": "biufc"}
ALL_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
SUBJECTS = {*KINDS, "t", "tmat", "v", "w", "mat", "mat2d"}
INDEX_SIZE = 8


class NoFit(Exception):
    """No variable fits a slot."""


class Scope:
    """The variables of a program while it grows, and what it draws from.

    Attributes
    ----------
    values : dict
        NumPy's values of the variables.
    sizes : tuple of int
        Extents that shapes are made of.
    dtypes : tuple of str
        Those that most of the program is in.
    """

    def __init__(self, rng: Random, values: dict[str, Any], sizes: tuple[int, ...], dtypes: tuple[str, ...]) -> None:
        self.rng, self.values, self.sizes, self.dtypes = rng, values, sizes, dtypes
        self.bound: dict[str, str] = {}

    def fill(self, template: str, guard: str, new: str) -> tuple[str, str]:
        """Give a row's text and guard with every slot filled; the same slot twice is the same text."""
        self.bound = {"new": new}
        subject = next((name for name in SLOT.findall(template) if name.rstrip("0123456789") in SUBJECTS), None)
        if subject is not None:
            self.slot(subject)  # before what depends on it, wherever it stands
        text = SLOT.sub(lambda found: self.slot(found[1]), template)
        return text, SLOT.sub(lambda found: self.bound[found[1]], guard)

    def slot(self, name: str) -> str:
        if name not in self.bound:
            base = name.rstrip("0123456789") or name
            self.bound[name] = FILLERS.get(name, FILLERS.get(base, _array))(self, base)
        return self.bound[name]

    # What slots are filled from -------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def pick(self, fits: Callable[[Any], bool], scalars: bool = False) -> str:
        """One of the variables, rather a late one."""
        kinds = (np.ndarray, np.generic) if scalars else (np.ndarray,)
        names = [n for n, v in self.values.items() if n[0] == "v" and isinstance(v, kinds) and fits(v)]
        if not names:
            raise NoFit
        return names[max(self.rng.randrange(len(names)), self.rng.randrange(len(names)))]

    @property
    def subject(self) -> Any:
        """NumPy's value of the row's first array."""
        for text in self.bound.values():
            if isinstance(self.values.get(text), np.ndarray | np.generic):
                return self.values[text]
        raise NoFit

    @property
    def subject_text(self) -> str:
        for text in self.bound.values():
            if isinstance(self.values.get(text), np.ndarray | np.generic):
                return text
        raise NoFit


def is_target(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.flags.writeable


def _array(scope: Scope, base: str) -> str:
    kinds = KINDS.get(base, "biufc")
    return scope.pick(lambda v: v.dtype.kind in kinds and v.dtype.isnative, scalars=scope.chance(0.08))


def _of_dimensions(least: int, most: int = 64) -> Callable[[Scope, str], str]:
    return lambda scope, base: scope.pick(lambda v: least <= v.ndim <= most)


def _vector(scope: Scope, base: str) -> str:
    try:
        return scope.pick(lambda v: v.ndim == 1)
    except NoFit:
        return f"{scope.pick(lambda v: v.ndim > 1)}.ravel()"


def _target(scope: Scope, base: str) -> str:
    if scope.chance(0.02):
        return scope.pick(lambda v: True)
    return scope.pick(lambda v: is_target(v) and v.ndim > 0)


def _matrix_target(scope: Scope, base: str) -> str:
    return scope.pick(lambda v: is_target(v) and v.ndim == 2)


def _operand(scope: Scope, base: str) -> str:
    """Something that goes with the subject: a number, an array that broadcasts, or one that does not."""
    chosen = scope.rng.random()
    if chosen < 0.25:
        return _scalar(scope, base)
    if chosen < 0.3:
        return f"np.{scope.rng.choice(scope.dtypes).replace('bool', 'bool_')}({scope.rng.choice((0, 1, 3))})"
    if chosen < 0.33:
        return scope.pick(lambda v: True)
    if chosen < 0.36:
        return f"[{', '.join(str(scope.rng.randrange(9)) for _ in range(int((scope.subject.shape or (1,))[-1])))}]"
    if chosen < 0.42 and scope.subject.ndim:
        return f"{scope.subject_text}[::-1]"
    return _fitting(scope, lambda v: True)


def _fitting(scope: Scope, also: Callable[[Any], bool]) -> str:
    shape = scope.subject.shape

    def fits(value: Any) -> bool:
        try:
            return also(value) and np.prod(np.broadcast_shapes(value.shape, shape)) <= 100_000
        except ValueError:
            return False

    return scope.pick(fits, scalars=True)


def _filling(scope: Scope, shape: Any) -> str:
    """What broadcasts to a shape, and does not make it larger."""

    def fits(value: Any) -> bool:
        try:
            return np.broadcast_shapes(value.shape, shape) == shape
        except ValueError:
            return False

    return scope.pick(fits, scalars=True)


def _into_target(scope: Scope, base: str) -> str:
    """What broadcasts to the subject's own shape, mostly."""
    shape = scope.subject.shape
    if scope.chance(0.3):
        return _scalar(scope, base)
    if scope.chance(0.1):
        return _operand(scope, base)
    return _filling(scope, shape)


def _second_integer(scope: Scope, base: str) -> str:
    return _fitting(scope, lambda v: v.dtype.kind in "biu")


def _same_shape(scope: Scope, base: str) -> str:
    shape, rank = scope.subject.shape, scope.subject.ndim
    if scope.chance(0.3) and rank:
        return f"{scope.subject_text}[::-1]"
    if scope.chance(0.05):
        return scope.pick(lambda v: True)
    return scope.pick(lambda v: v.shape == shape)


def _factor(scope: Scope, base: str) -> str:
    """A right operand of a matrix product."""
    inner = scope.subject.shape[-1] if scope.subject.ndim else 1
    if scope.chance(0.3) and scope.subject.ndim > 1:
        return f"{scope.subject_text}{'.T' if scope.subject.ndim == 2 else '.mT'}"
    return scope.pick(lambda v: v.ndim > 0 and v.shape[-2 if v.ndim > 1 else -1] == inner)


def _out(scope: Scope, base: str) -> str:
    """An array that the result fits."""
    shapes = []
    for name in ("a", "b"):
        value = scope.values.get(scope.bound.get(name, ""))
        if isinstance(value, np.ndarray):
            shapes.append(value.shape)
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise NoFit from None
    if scope.chance(0.25) and shapes and shapes[0] == shape:
        return f"xp.zeros({scope.bound['a']}.shape, {_dtype(scope, base)})"
    return scope.pick(lambda v: is_target(v) and v.shape == shape)


def _mask(scope: Scope, base: str) -> str:
    subject, text = scope.subject, scope.subject_text
    if scope.chance(0.4):
        try:
            shape = subject.shape
            return scope.pick(lambda v: v.dtype == bool and v.shape == shape)
        except NoFit:
            pass
    if subject.dtype.kind == "c" or scope.chance(0.2):
        return f"({text} != {scope.rng.randrange(2)})"
    if subject.dtype.kind == "b":
        return scope.rng.choice((text, f"~{text}"))
    return f"({text} {scope.rng.choice(('>', '<=', '=='))} {scope.rng.randrange(4)})"


def _bools(scope: Scope, base: str) -> str:
    extent = scope.subject.shape[0] if scope.subject.ndim else 1
    if extent > INDEX_SIZE:
        return f"(np.arange({scope.subject_text}.shape[0]) % {scope.rng.randrange(2, 5)} == 0)"
    return str([scope.chance(0.5) for _ in range(extent)])


# Numbers ----------------------------------------------------------------------------------------------


def _scalar(scope: Scope, base: str) -> str:
    try:
        kind = scope.subject.dtype.kind
    except NoFit:
        kind = "i"
    if scope.chance(0.15):
        kind = scope.rng.choice("bifc")
    if scope.chance(0.04):
        return scope.rng.choice(("300", "(-1)", "2**40", "(-2**31)", "np.nan", "np.inf", "1e30", "(-0.0)", "2**64"))
    number = scope.rng.randrange(-3, 6)
    if kind == "u":
        number = abs(number)
    text = {"b": str(number > 0), "i": str(number), "u": str(number), "f": str(number / 2), "c": f"{number}+1j"}[kind]
    return f"({text})" if text[0] == "-" or kind == "c" else text


def _number(low: int, high: int) -> Callable[[Scope, str], str]:
    return lambda scope, base: str(scope.rng.randrange(low, high))


def _choice(*texts: str) -> Callable[[Scope, str], str]:
    return lambda scope, base: scope.rng.choice(texts)


def _dtype(scope: Scope, base: str) -> str:
    return repr(scope.rng.choice(scope.dtypes if scope.chance(0.8) else ALL_DTYPES))


def _shape(scope: Scope, base: str) -> str:
    return str(tuple(scope.rng.choice(scope.sizes) for _ in range(scope.rng.randrange(1, 4))))


def _nested(scope: Scope, base: str) -> str:
    rows = [[_scalar(scope, base) for _ in range(2)] for _ in range(scope.rng.randrange(1, 3))]
    return "[" + ", ".join("[" + ", ".join(row) + "]" for row in rows) + "]"


# Axes and shapes ----------------------------------------------------------------------------------------


def _axis(scope: Scope, base: str) -> str:
    rank = scope.subject.ndim
    if not rank or scope.chance(0.03):
        return str(scope.rng.choice((0, -1, rank, -rank - 1)))
    return str(scope.rng.randrange(-rank, rank))


def _axis_or_none(scope: Scope, base: str) -> str:
    return "None" if scope.chance(0.3) else _axis(scope, base)


def _axes(scope: Scope, base: str) -> str:
    rank = scope.subject.ndim
    if rank > 1 and scope.chance(0.25):
        return str(tuple(scope.rng.sample(range(rank), scope.rng.randrange(rank + 1))))
    return _axis_or_none(scope, base)


def _permutation(scope: Scope, base: str) -> str:
    rank = scope.subject.ndim
    return ", ".join(map(str, scope.rng.sample(range(rank), rank))) + ("," if rank == 1 else "") if rank else "()"


def _reshaped(scope: Scope, base: str) -> str:
    text, rank = scope.subject_text, scope.subject.ndim
    choices = ["-1", f"{text}.shape[::-1]", f"{text}.shape + (1,)", "1, -1", "-1, 1", "2, -1"]
    if rank > 1:
        choices += [f"-1, {text}.shape[-1]", f"{text}.shape[0], -1", f"{text}.shape[1:] + {text}.shape[:1]"]
    chosen = scope.rng.choice(choices)
    return f"({chosen})" if base == "rs" and "," in chosen and scope.bound.get("rs1") is not None else chosen


def _reshaped_tuple(scope: Scope, base: str) -> str:
    return f"({_reshaped(scope, base)})"


# Keys -----------------------------------------------------------------------------------------------------


def _slice(scope: Scope) -> str:
    rng = scope.rng
    start, stop = (rng.choice(("", "", "1", "-2", "0", "2")) for _ in range(2))
    step = rng.choice(("", "", "", ":-1", ":2", ":-2", ":3"))
    return (
        f"{start}:{stop}{step}" if not step.startswith(":-") else f":{step}" if scope.chance(0.7) else f"{stop}:{step}"
    )


def _integer_for(scope: Scope, extent: int) -> str:
    if not extent or scope.chance(0.02):
        return str(scope.rng.choice((0, extent, -extent - 1)))
    return str(scope.rng.randrange(-extent, extent) if scope.chance(0.7) else 0)


def _key(scope: Scope, base: str) -> str:
    """A key of integers, slices, `...` and `None`."""
    shape, rng = scope.subject.shape, scope.rng
    parts = []
    for extent in shape[: rng.randrange(len(shape) + 1)]:
        parts.append(_integer_for(scope, extent) if scope.chance(0.2) else _slice(scope))
    if scope.chance(0.15) or not parts:
        parts.insert(rng.randrange(len(parts) + 1), "...")
    if scope.chance(0.15):
        parts.insert(rng.randrange(len(parts) + 1), "None")
    return ", ".join(parts)


def _flat_key(scope: Scope, base: str) -> str:
    return _slice(scope) if scope.chance(0.6) else _integer_for(scope, int(scope.subject.size))


def _host_key(scope: Scope, base: str) -> str:
    return scope.rng.choice(("0", "-1", "...", "::2", "1:", "::-1"))


def _listed(scope: Scope, extent: int, count: int) -> str:
    """A list of indices, as itself or as an array of either side."""
    listed = str([int(_integer_for(scope, extent)) for _ in range(count)])
    return scope.rng.choice(
        (listed, f"np.array({listed}, int)", f"xp.array({listed}, int)", f"np.array({listed}, 'i4')")
    )


def _indices(scope: Scope, base: str) -> str:
    extent = scope.subject.shape[0] if scope.subject.ndim else 1
    if scope.chance(0.2):
        try:
            return f"{scope.pick(lambda v: v.dtype.kind in 'iu' and 0 < v.ndim < 3)} % {max(extent, 1)}"
        except NoFit:
            pass
    return _listed(scope, extent, scope.rng.randrange(4))


def _flat_indices(scope: Scope, base: str) -> str:
    return _listed(scope, int(scope.subject.size), scope.rng.randrange(4))


def _advanced_key(scope: Scope, base: str) -> str:
    shape, rng = scope.subject.shape, scope.rng
    rank = len(shape)
    forms = ["mask", "rows", "boolean"]
    forms += ["pairs", "outer", "mixed", "bools", "after"] if rank > 1 else []
    forms += ["split"] if rank > 2 else []
    form = rng.choice(forms)
    if form == "mask":
        return _mask(scope, base)
    if form == "boolean":
        return rng.choice(("True", "False", "None, True", "..., True"))
    if not rank:
        return "()"
    count = rng.randrange(1, 4)
    if form == "rows":
        return _indices(scope, base)
    if form == "pairs":
        return f"{_listed(scope, shape[0], count)}, {_listed(scope, shape[1], count)}"
    if form == "outer":
        column = str([[int(_integer_for(scope, shape[0]))] for _ in range(count)])
        return f"{column}, {_listed(scope, shape[1], count)}"
    if form == "mixed":
        return f"{_listed(scope, shape[0], count)}, {_slice(scope)}"
    if form == "bools":
        return _bools(scope, base)
    if form == "split":
        return f"{_listed(scope, shape[0], count)}, {_slice(scope)}, {_listed(scope, shape[2], count)}"
    return f"{rng.choice((_slice(scope), '...', 'None'))}, {_listed(scope, shape[-1 if rank == 2 else 1], count)}"


def _value(scope: Scope, base: str) -> str:
    """What is written through the row's key."""
    key = scope.bound.get("key", scope.bound.get("akey", "..."))
    text = scope.subject_text
    if scope.chance(0.4):
        return _scalar(scope, base)
    try:
        shape = eval(f"t[{key}]", {"t": scope.subject, "np": np, "xp": np, **scope.values}).shape
    except Exception:
        return _scalar(scope, base)
    if scope.chance(0.3):
        return f"{text}[{key}]{scope.rng.choice((' * 2', '[::-1]' if shape else ' + 1', ' ** 2', ''))}"
    return _filling(scope, shape)


def _host(scope: Scope, base: str) -> str:
    names = [n for n, v in scope.values.items() if n[0] == "h" and isinstance(v, np.ndarray) and v.ndim]
    if not names:
        raise NoFit
    return scope.rng.choice(names)


def _tuple(scope: Scope, base: str) -> str:
    names = [n for n, v in scope.values.items() if isinstance(v, tuple | list) and n[0] == "v" and len(v)]
    if not names:
        raise NoFit
    return scope.rng.choice(names)


FILLERS: dict[str, Callable[[Scope, str], str]] = {
    "t": _target,
    "tmat": _matrix_target,
    "o": _out,
    "v": _vector,
    "w": _vector,
    "mat": _of_dimensions(2),
    "mat2d": _of_dimensions(2, 2),
    "mm": _factor,
    "same": _same_shape,
    "b": _operand,
    "c": _operand,
    "b0": _operand,
    "bt": _into_target,
    "bi2": _second_integer,
    "mask": _mask,
    "bools": _bools,
    "s": _scalar,
    "n": _number(-2, 4),
    "p": _number(1, 5),
    "k": _number(-2, 3),
    "bit": _number(0, 2),
    "stop": _number(2, 9),
    "q": _choice("0.5", "[0.25, 0.75]", "0.1", "1"),
    "dt": _dtype,
    "shape": _shape,
    "nested": _nested,
    "axis": _axis,
    "axisn": _axis_or_none,
    "axes": _axes,
    "perm": _permutation,
    "rs": _reshaped,
    "rs1": _reshaped_tuple,
    "key": _key,
    "key1": _flat_key,
    "hkey": _host_key,
    "akey": _advanced_key,
    "idx": _indices,
    "fidx": _flat_indices,
    "val": _value,
    "h": _host,
    "tup": _tuple,
    "bool": _choice("True", "False"),
    "order": _choice("'C'", "'F'", "'A'", "'K'"),
    "order2": _choice("'C'", "'F'"),
    "side": _choice("'left'", "'right'"),
    "mode": _choice("'raise'", "'wrap'", "'clip'"),
    "cmode": _choice("'full'", "'same'", "'valid'"),
    "casting": _choice("'unsafe'", "'same_kind'", "'safe'", "'no'", "'equiv'"),
    "bits": _choice("'big'", "'little'"),
    "kcast": _choice("'same_kind'", "'safe'", "'no'", "'equiv'"),
    "padmode": _choice("'edge'", "'reflect'", "'symmetric'", "'wrap'", "'maximum'"),
    "op": _choice("+", "-", "*", "+", "-", "*", "//", "%", "&", "|", "^", "**", "<<", ">>"),
    "op2": _choice("+", "-", "*"),
    "cmp": _choice("==", "!=", "<", "<=", ">", ">="),
    "bitop": _choice("&", "|", "^"),
}
