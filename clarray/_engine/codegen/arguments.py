"""The arguments of a kernel: declared once as named fields, rendered into its signature, and filled by name.

    fields = Fields(("inputs", ["__global const float *x0p", "const long x0o"]), "__global float *yp", "const long n")
    fields.declared                                     the declarations, for the kernel's signature
    fields.kinds                                        how the runtime takes each: buffer, int64, buffer, int64
    fields.fill(inputs=[x, 0], yp=y, n=100)             the values in that order

A signature has each argument by itself, or its numbers in one structure, which is the last argument:

    kernel(buffer, number, buffer, number)         kernel(buffer, buffer, struct {number, number})

Where a runtime copies each argument of a launch by itself, a structure costs no more than a few of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from keyword import iskeyword
from typing import Any, NamedTuple

from clarray._engine.argument_struct import IN_STRUCT, struct_order

# Numbers from which on a structure is quicker. PoCL 3.0, microseconds of a statement: each number 0.03, a structure
# 0.2 to 0.25, since PoCL aligns its copy to the structure's size and the C library takes its slow path. With three
# numbers `x[1:-1] = y[2:]` took 1.92 for 1.75, with nine `x @ y` 3.9 for 4.0, with eighteen a 5-point stencil 7.0
# for 7.6. Intel's runtime, busy machine: stencil 8.3 for 8.6, `x @ y` 5.1 for 5.5. NVIDIA H200: stencil 10.7 for 11.3,
# `A @ x` of 40 x 40 6.0 for 6.8, `x @ y` 6.2 for 6.6; not used there before all tests have run so.
_MANY = 9

# How the runtime takes a number of a C type, by the name of a NumPy scalar type.
_NUMBERS = {
    "char": "int8",
    "uchar": "uint8",
    "short": "int16",
    "ushort": "uint16",
    "int": "int32",
    "uint": "uint32",
    "long": "int64",
    "ulong": "uint64",
    "float": "float32",
    "double": "float64",
}

Group = tuple[str, Iterable[str]]
_ALONE = -1  # the length of a field outside of groups


class Field(NamedTuple):
    """An argument of a kernel.

    Parameters
    ----------
    name : str
        In C.
    declared : str
        Its declaration, such as ``const long n``.
    kind : str
        ``'buffer'``, or the name of a NumPy scalar type.
    """

    name: str
    declared: str
    kind: str


class Fields:
    """The arguments of a kernel in order, each with its name and C type.

    Parameters
    ----------
    *parts : str or (str, iterable of str)
        C declarations. A group is a name and the declarations of a run of fields. A launch fills it by the group's name
        with a sequence of that length. The group of ``y_s0, y_s1`` is named ``y_s``.
    types : mapping of str to str, optional
        C types behind the names that a template defines, such as ``{"R": "float"}``. A buffer needs none.

    Attributes
    ----------
    names, declared, kinds : tuple of str
        The name, the declaration and the type of each field.
    keys : tuple of str
        The names of the groups, and of the fields outside of groups, in order.
    fill : callable
        Takes the values by name, those of a group as a sequence, and lists them in the order of the declarations. A
        missing or unknown name, or another length of a group, is a TypeError.

    Raises
    ------
    ValueError
        A name is declared twice, or a type is unknown.

    Examples
    --------
    >>> fields = Fields("__global float *yp", "const long n", ("k", numbers("int", ["k0", "k1"])))
    >>> fields.kinds
    ('buffer', 'int64', 'int32', 'int32')
    >>> fields.fill(n=6, k=[2, 3], yp="buffer")
    ['buffer', 6, 2, 3]
    """

    __slots__ = ("_starts", "declared", "fill", "keys", "kinds", "names")

    def __init__(self, *parts: str | Group, types: Mapping[str, str] | None = None) -> None:
        fields: list[Field] = []
        lengths: dict[str, int] = {}
        self._starts: dict[str, int] = {}
        keys: list[str] = []
        for part in parts:
            declarations = [part] if isinstance(part, str) else list(part[1])
            run = [_field(each, types or {}) for each in declarations]
            key, length = (run[0].name, _ALONE) if isinstance(part, str) else (part[0], len(run))
            keys.append(key)
            lengths[key] = length
            self._starts[key] = len(fields)
            fields += run
        self.names = tuple([field.name for field in fields])
        self.declared = tuple([field.declared for field in fields])
        self.kinds = tuple([field.kind for field in fields])
        for names in (self.names, keys):
            twice = [name for name, count in Counter(names).items() if count > 1]
            if twice:
                raise ValueError(f"declared twice: {', '.join(twice)}")
        self.keys = tuple(keys)
        self.fill = _filling(tuple(lengths.items()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fields):
            return NotImplemented
        return self.declared == other.declared and self.kinds == other.kinds and self._starts == other._starts

    def __hash__(self) -> int:
        return hash((self.declared, self.keys))

    def start(self, key: str) -> int:
        """Return the position of a field, or of a group's first field."""
        return self._starts[key]


@lru_cache(maxsize=4096)
def _filling(lengths: tuple[tuple[str, int], ...]) -> Callable[..., list[Any]]:
    """Compile the function that lists its keyword arguments in this order, and checks the lengths of groups.

    It takes 0.16 us for the arguments of ``x + y``. A loop over the names would take 0.7 us of each launch.
    """
    names = {key: f"{key}_" if iskeyword(key) else key for key, _ in lengths}
    checks = [
        f"    if len({names[key]}) != {length}:\n"
        f"        raise TypeError(f'{key} has {length} fields, not {{len({names[key]})}}')\n"
        for key, length in lengths
        if length != _ALONE
    ]
    parameters = ", ".join(["*", *names.values()]) if names else ""
    ordered = ", ".join([names[key] if length == _ALONE else f"*{names[key]}" for key, length in lengths])
    scope: dict[str, Any] = {}
    exec(f"def fill({parameters}):\n{''.join(checks)}    return [{ordered}]", scope)
    fill: Callable[..., list[Any]] = scope["fill"]
    if all(key == name for key, name in names.items()):
        return fill
    return lambda **values: fill(**{names.get(key, key): value for key, value in values.items()})


def _field(declared: str, types: Mapping[str, str]) -> Field:
    """Parse a declaration: the last word is the name, and a pointer is a buffer."""
    before, _, name = declared.replace("*", "* ").rpartition(" ")
    if "*" in before:
        return Field(name, declared, "buffer")
    word = before.removeprefix("const ").strip()
    kind = _NUMBERS.get(types.get(word, word))
    if kind is None:
        raise ValueError(f"{declared!r}: a number of an unknown type")
    return Field(name, declared, kind)


def numbers(ctype: str, names: Iterable[str]) -> list[str]:
    """Declare numbers of one C type."""
    return [f"const {ctype} {name}" for name in names]


def axes(ctype: str, prefix: str, rank: int) -> Group:
    """Declare a group of one number for each axis: ``k0, k1, ...`` is the group ``k``."""
    return prefix, numbers(ctype, [f"{prefix}{axis}" for axis in range(rank)])


def by_axis(group: str, ctype: str, prefixes: Sequence[str], rank: int) -> Group:
    """Declare a group of one number of each prefix for each axis: ``k0, m0, k1, m1, ...``."""
    return group, numbers(ctype, [f"{prefix}{axis}" for axis in range(rank) for prefix in prefixes])


class Signature(NamedTuple):
    """The arguments of a kernel in its source.

    Parameters
    ----------
    definition : str
        The definition of the structure, before the kernel. Empty without a structure.
    declared : str
        The text between the kernel's parentheses.
    opening : str
        The first lines of the kernel. They define a variable for each number of the structure.
    types : tuple of str
        The types of the arguments in the order of the fields.
    """

    definition: str
    declared: str
    opening: str
    types: tuple[str, ...]


def signature(fields: Fields, in_structure: bool) -> Signature:
    """Return the signature of a kernel.

    Parameters
    ----------
    in_structure : bool
        Whether numbers are passed in a structure if they are many.
    """
    names = [name for name, kind in zip(fields.names, fields.kinds, strict=True) if kind != "buffer"]
    if not in_structure or len(names) < _MANY:
        return Signature("", ", ".join(fields.declared), "", fields.kinds)
    numbers = [kind for kind in fields.kinds if kind != "buffer"]
    buffers = [each for each, kind in zip(fields.declared, fields.kinds, strict=True) if kind == "buffer"]
    declared = [
        each.removeprefix("const ")
        for each, kind in zip(fields.declared, fields.kinds, strict=True)
        if kind != "buffer"
    ]
    members = " ".join(f"{declared[k]};" for k in struct_order(numbers))
    return Signature(
        f"typedef struct {{ {members} }} numbers_t;\n",
        ", ".join([*buffers, "const numbers_t numbers"]),
        " ".join(f"const {each} = numbers.{name};" for each, name in zip(declared, names, strict=True)),
        tuple(kind if kind == "buffer" else IN_STRUCT + kind for kind in fields.kinds),
    )
