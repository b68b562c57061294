"""Classified keys: their kind, and the shape of what they select, beside NumPy's results for random keys."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._core.keys import ARRAYS, BASIC, MASK, ROWS, classify

SHAPES = [(), (4,), (0,), (2, 3), (3, 1, 2), (2, 0, 3), (2, 3, 2, 2)]
SEEDS = range(60)


def random_slice(rng: random.Random) -> slice:
    start, stop = (rng.choice([None, *range(-4, 5)]) for _ in range(2))
    return slice(start, stop, rng.choice([None, None, 1, 2, -1, -2]))


def random_indices(rng: random.Random, extent: int) -> Any:
    """Make an array or a list of indices, of a shape that broadcasts with most others."""
    shape = rng.choice([(2,), (2,), (1,), (3, 2), (3, 1), (0,)])
    indices = np.array([rng.randrange(-extent, extent) if extent else 0 for _ in range(int(np.prod(shape)))], int)
    indices = indices.reshape(shape)
    return indices.tolist() if rng.random() < 0.3 else indices


def random_mask(rng: random.Random, shape: tuple[int, ...]) -> np.ndarray:
    return np.array([rng.random() < 0.5 for _ in range(int(np.prod(shape)))], bool).reshape(shape)


def random_key(rng: random.Random, shape: tuple[int, ...]) -> Any:
    """Make a key that NumPy may refuse: too long, out of bounds, or with arrays that do not broadcast."""
    if rng.random() < 0.15:
        return random_mask(rng, shape[: rng.randint(0, len(shape))])
    items: list[Any] = []
    axis, dots = 0, rng.random() < 0.3
    while axis < len(shape) and rng.random() < 0.85:
        extent = shape[axis]
        chance = rng.random()
        if dots and chance < 0.3:
            items.append(...)
            dots = False
        elif chance < 0.4:
            items.append(random_slice(rng))
        elif chance < 0.6:
            items.append(rng.choice([int, np.int8, np.array])(rng.randint(-extent, extent)))
        elif chance < 0.85:
            items.append(random_indices(rng, extent))
        else:
            width = rng.randint(0, min(2, len(shape) - axis))
            items.append(random_mask(rng, shape[axis : axis + width]))
            axis += width - 1
        axis += items[-1] is not ...
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        items.insert(rng.randint(0, len(items)), rng.choice([None, None, True, 0]))
    return tuple(items) if len(items) != 1 or rng.random() < 0.5 else items[0]


def outcome(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except IndexError as error:
        return str(error)


def numpys_shape(key: Any, shape: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
    """Return the shape of NumPy's result, and whether it is a scalar."""
    found = np.zeros(shape)[key]
    return found.shape, not isinstance(found, np.ndarray)


def classified_shape(key: Any, shape: tuple[int, ...]) -> tuple[Any, bool]:
    found = classify(key, shape)
    return found.result_shape, found.is_element


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_random_keys(shape: tuple[int, ...], seed: int) -> None:
    """Shapes are NumPy's, and so is the error of a key that is refused by its form alone."""
    rng = random.Random(f"{seed} {shape}")
    for _ in range(5):
        key = random_key(rng, shape)
        theirs = outcome(lambda key=key: numpys_shape(key, shape))
        try:
            ours = outcome(lambda key=key: classified_shape(key, shape))
        except ValueError:  # the index arrays do not broadcast
            assert "shape mismatch" in str(theirs) or "out of bounds" in str(theirs)
            continue
        out_of_bounds = isinstance(theirs, str) and "out of bounds" in theirs and not isinstance(ours, str)
        assert out_of_bounds or ours == theirs, key


INDICES, FLAGS = np.array([1, 0]), np.array([[True, False, True], [False, True, True]])
# Keys of an array of shape (2, 3): their kind, the key of a view, the axes that index arrays leave, where theirs stand.
CLASSIFIED: list[tuple[Any, Any]] = [
    (1, (BASIC, (1,), (), 0)),
    ((..., 1), (BASIC, (..., 1), (), 0)),
    (np.int8(1), (BASIC, (1,), (), 0)),
    (np.array(1), (BASIC, (1,), (), 0)),
    (clarray.asarray(1), (BASIC, (1,), (), 0)),
    (FLAGS, (MASK, (), (), 0)),
    ((FLAGS,), (MASK, (), (), 0)),
    (clarray.asarray(FLAGS), (MASK, (), (), 0)),
    (FLAGS[:, 0], (ROWS, (), (1,), 0)),
    ([True, False], (ROWS, (), (1,), 0)),
    (True, (ROWS, (), (0, 1), 0)),
    (INDICES, (ARRAYS, (), (1,), 0)),
    (clarray.asarray(INDICES), (ARRAYS, (), (1,), 0)),
    ([], (ARRAYS, (), (1,), 0)),
    ((slice(None), INDICES), (ARRAYS, (), (0,), 1)),
    ((..., INDICES), (ARRAYS, (..., slice(None)), (0,), 1)),
    ((1, INDICES), (ARRAYS, (1, slice(None)), (), 0)),
    ((None, INDICES, None), (ARRAYS, (None, slice(None), None), (0, 2, 3), 1)),
    ((0, None, INDICES), (ARRAYS, (0, None, slice(None)), (0,), 0)),
    ((FLAGS[:, 0], slice(1, 2)), (ARRAYS, (slice(None), slice(1, 2)), (1,), 0)),
]


@pytest.mark.parametrize(("key", "expected"), CLASSIFIED, ids=str)
def test_classes(key: Any, expected: tuple[Any, ...]) -> None:
    found = classify(key, (2, 3))
    basic, _, kept, place = found.layout
    assert (found.kind, basic, tuple(kept), place) == expected


def test_index_arrays_are_on_the_host_or_on_the_device() -> None:
    found = classify((clarray.asarray(INDICES), [0, 1]), (2, 3))
    assert [(part.on_host, part.axis, part.extent, part.is_mask) for part in found.layout.arrays] == [
        (False, 0, 2, False),
        (True, 1, 3, False),
    ]
    assert found.result_shape == (2,)


def test_a_mask_on_the_device_is_not_counted() -> None:
    found = classify((clarray.asarray(FLAGS[0]),), (3,))
    assert found.result_shape is None
    assert found.max_selected == 3
