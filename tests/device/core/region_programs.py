"""Random programs of many statements, whose names are used several times, kept and dropped."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

SHAPES = [
    [(37,)],
    [(1000,)],
    [(5, 7), (5, 1), (1, 7), (7,)],
    [(64, 33), (33,), (64, 1)],
    [(2, 3, 4), (4,), (3, 4)],
    [(70000,)],
    [(0,)],
    [()],
]
DTYPES = ["float64", "float64", "float32", "float16", "int32", "int64", "bool", "complex128"]
BINARY = [
    *("add", "subtract", "multiply", "divide", "maximum", "minimum", "greater", "less", "arctan2", "power", "hypot"),
    *("copysign", "logical_and"),
]
UNARY = ["exp", "sin", "negative", "sqrt", "abs", "square", "floor", "isnan", "log1p", "tanh"]
REDUCTIONS = ["sum", "mean", "max", "min", "any", "prod", "std"]
KEPT = ["keepdims", "keepdims", "expanded", "new axis"]  # how reductions keep their axes
VIEWS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[::-1] if a.ndim else a,
    "sliced": lambda a: a[1:] if a.ndim and a.shape[0] > 1 else a,
    "short": lambda a: a[:-1] if a.ndim and a.shape[0] > 1 else a,
    "stepped": lambda a: a[..., ::-2] if a.ndim and a.shape[-1] > 2 else a,
    "column": lambda a: a[..., 0] if a.ndim > 1 else a,
    "new axis": lambda a: a[:, None] if a.ndim == 1 and a.size < 1000 else a,
    "line": lambda a: a.reshape(-1),
    "swapped": lambda a: a.swapaxes(0, -1) if a.ndim else a,
}
PARTS: dict[str, Callable[[Any], Any]] = {  # keys of what is written
    "whole": lambda a: Ellipsis,
    "first": lambda a: slice(None, 1),
    "rest": lambda a: slice(1, None),
    "every other": lambda a: (Ellipsis, slice(None, None, 2)),
    "reversed": lambda a: slice(None, None, -1),
}
NUMBERS = [2.0, 0.5, -1.5, 3, 1]
KINDS = ["binary", "where", "unary", "number", "reduce", "view", "cast", "write", "drop", "look"]
FREQUENCIES = [50, 5, 15, 10, 6, 8, 3, 6, 2, 2]

Step = tuple[Any, ...]


class Program(NamedTuple):
    """Inputs, and steps that name what they use by its number: the inputs come first, then the results."""

    inputs: list[np.ndarray]
    steps: list[Step]


def random_program(seed: int, fewest: int, most: int, most_inputs: int = 5) -> Program:
    """Return a program of `fewest` to `most` steps. Most steps use recent results, as statements do."""
    choose = random.Random(seed)
    shapes = choose.choice(SHAPES)
    values = np.random.default_rng(seed)
    inputs = []
    for _ in range(choose.randint(2, most_inputs)):
        dtype = choose.choice(DTYPES) if choose.random() < 0.4 else "float64"
        inputs.append(values.normal(0, 2, choose.choice(shapes)).astype(dtype))
    steps: list[Step] = []
    for number in range(len(inputs), len(inputs) + choose.randint(fewest, most)):
        kind = choose.choices(KINDS, FREQUENCIES)[0]
        used = [choose.randint(max(0, number - 8) if choose.random() < 0.7 else 0, number - 1) for _ in range(3)]
        steps.append((kind, used, _choice(choose, kind)))
    return Program(inputs, steps)


def without_products(program: Program) -> Program:
    """Return a program with maxima for products, whose last bits depend on the strides of what they read.

    So do NumPy's. In a loop results come to be reversed views of memory, or are computed from such.
    """
    steps = [
        (kind, used, ("max", choice[1]) if kind == "reduce" and choice[0] == "prod" else choice)
        for kind, used, choice in program.steps
    ]
    return Program(program.inputs, steps)


def _choice(choose: random.Random, kind: str) -> Any:
    choices: dict[str, Any] = {"binary": BINARY, "unary": UNARY, "view": list(VIEWS), "cast": ["f4", "f8", "f2"]}
    if kind == "number":
        return choose.choice(["add", "multiply", "subtract"]), choose.choice(NUMBERS)
    if kind == "reduce":
        return choose.choice(REDUCTIONS), choose.choice([None, 0, -1]), choose.choice(KEPT)
    if kind == "write":
        return choose.choice(list(PARTS)), choose.choice(["set", "set", "add", "of both"])
    return choose.choice(choices[kind]) if kind in choices else None


def run(
    module: Any, program: Program, after: Callable[[Any], Any] = lambda result: None, *, turns: int = 1
) -> list[Any]:
    """Run a program and return what it looks at, what it raises, and all that is left at its end.

    Parameters
    ----------
    module : module
        NumPy or clarray.
    after : callable
        Is called with the result of each step.
    turns : int
        How often a loop runs the steps. Each turn begins with the last results of the one before that have the inputs'
        shapes and dtypes.
    """
    results = [module.array(each) for each in program.inputs]
    seen: list[Any] = []
    for turn in range(turns):
        if turn:
            results = _last_like(program.inputs, results)
        results = _run_steps(module, program, results, seen, after)
    return seen + [np.array(np.asarray(each)) for each in results if each is not None]


def _last_like(inputs: list[np.ndarray], results: list[Any]) -> list[Any]:
    """Return the last results with the shapes and dtypes of a program's inputs, or None where there are none."""
    remaining = [each for each in results if each is not None]
    last: list[Any] = []
    for each in reversed(inputs):
        alike = [k for k, result in enumerate(remaining) if (result.shape, result.dtype) == (each.shape, each.dtype)]
        last.insert(0, remaining.pop(alike[-1]) if alike else None)
    return last


def _run_steps(
    module: Any, program: Program, results: list[Any], seen: list[Any], after: Callable[[Any], Any]
) -> list[Any]:
    """Append the results of a program's steps to those that it begins with, and what it looks at to `seen`."""
    for kind, used, choice in program.steps:
        operands = [results[number] for number in used]
        result = None
        if not any(operand is None for operand in operands):
            try:
                result = _step(module, kind, operands, choice, seen)
            except Exception as error:
                seen.append(type(error))
        if kind == "drop":
            results[used[0]] = None
        after(result)
        results.append(result)
        del operands, result
    return results


def _step(module: Any, kind: str, operands: list[Any], choice: Any, seen: list[Any]) -> Any:
    a, b, c = operands
    if choice == "copysign":  # not by the sign of NaN, which is nobody's promise
        b = module.where(module.isnan(b), 1.0, b)
    if kind in ("binary", "unary"):
        return getattr(module, choice)(*((a, b) if kind == "binary" else (a,)))
    if kind == "where":
        return module.where(c != 0, a, b)
    if kind == "number":
        return getattr(module, choice[0])(a, choice[1])
    if kind == "reduce":
        return _reduce(module, a, *choice)
    if kind == "view":
        return VIEWS[choice](a)
    if kind == "cast":
        return a.astype(choice)
    if kind == "write" and a.ndim:
        return _write(a, b, c, *choice)
    if kind == "look":
        seen.append(np.array(np.asarray(a)))
    return None


def _reduce(module: Any, a: Any, name: str, axis: int | None, kept: str) -> Any:
    """Reduce an array with axes of length 1 in place of the reduced ones, which a view may put back."""
    axes = axis if a.ndim else None
    if kept == "keepdims" or axes is None:
        return getattr(module, name)(a, axis=axes, keepdims=True)
    reduced = getattr(module, name)(a, axis=axes)
    return module.expand_dims(reduced, axes) if kept == "expanded" else reduced[None if axes == 0 else (..., None)]


def _write(a: Any, b: Any, c: Any, part: str, how: str) -> Any:
    """Write to a part of an array what is computed from the same part of others."""
    key = PARTS[part](a)
    value = b[PARTS[part](b)] if b.ndim else b
    if how == "of both":
        value = value * 0.5 + (c[PARTS[part](c)] if c.ndim else c)
    if how == "add":
        a[key] += value
    else:
        a[key] = value
    return a


def have_same_bits(one: Any, other: Any) -> bool:
    """Return whether two items of `run` are equal to the bit. All NaN are equal."""
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return one is other
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.kind not in "fc":
        return one.tobytes() == other.tobytes()
    parts = [np.atleast_1d(np.ascontiguousarray(each)).view(each.real.dtype) for each in (one, other)]
    both_nan = np.isnan(parts[0]) & np.isnan(parts[1])
    first, second = (np.where(both_nan, each.dtype.type(0), each).tobytes() for each in parts)
    return first == second
