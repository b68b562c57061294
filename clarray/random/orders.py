"""Random choices and permutations: a permutation is the sorted order of random keys."""

from __future__ import annotations

import math
import operator
from collections.abc import MutableSequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from clarray._core import creation
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, hold_for, mark_0d_array, wrap
from clarray._core.own_frames import with_boundaries
from clarray._core.sequences import holds_arrays
from clarray._core.writes import with_device_lock
from clarray._engine.ops.dtypes import is_device_dtype
from clarray._numpy.indexing.gathering import take, take_along_axis
from clarray._numpy.reduction.scans import cumsum
from clarray._numpy.sorting.sets import unique
from clarray._numpy.sorting.sorting import argsort, searchsorted, sort
from clarray.random import nodes
from clarray.random.draws import FLOAT64, Draw
from clarray.random.uniform import Uniform

__all__ = ["Orders"]

_LARGE_POPULATION = 1 << 16  # a small sample of a larger population is chosen without permuting the population


@with_boundaries
class Orders(Uniform):
    """Choose entries, and permute entries."""

    def _random_keys(self, shape: tuple[int, ...]) -> DeviceArray:
        """Draw random keys of 64 bits: two of n keys are equal with a probability below n**2 / 2**65."""
        return wrap(nodes.draw_words(self._bit_generator.take, shape, nodes.UINT64))

    def _random_order(self, count: int) -> DeviceArray:
        """Return the integers below `count` in random order."""
        return argsort(self._random_keys((count,)), kind="stable")

    def permutation(self, x: Any, axis: int = 0) -> DeviceArray:
        """Return the integers below `x`, or a copy of an array's entries, in random order.

        Parameters
        ----------
        x : int or array_like
            Number of integers, or the array.
        axis : int, optional
            Axis of the array whose entries change places.

        Returns
        -------
        DeviceArray
            int64 if `x` is an int, else of the shape and dtype of `x`. Of a dtype that no device holds, an ndarray.

        See Also
        --------
        shuffle : Reorder an array in place.
        permuted : Reorder each line of an array independently.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> sorted(rng.permutation(5).tolist())
        [0, 1, 2, 3, 4]
        """
        if isinstance(x, int | np.integer):
            return self._random_order(max(int(x), 0))
        array = entries(x)
        axis = normalize_axis_index(axis, array.ndim)
        return take_entries(array, self._random_order(array.shape[axis]), axis)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Put the entries of an array along an axis, or of a list, into random order, in place.

        Parameters
        ----------
        x : DeviceArray, ndarray or MutableSequence
            What is reordered. From the same state, all three get the same order.
        axis : int, optional
            Axis of an array whose entries change places.

        Raises
        ------
        TypeError
            `x` is a sequence that cannot be written to, or has no length.
        NotImplementedError
            `axis` is not 0 and `x` is not an array.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = clarray.arange(5)
        >>> rng.shuffle(x)
        >>> sorted(x.tolist())
        [0, 1, 2, 3, 4]
        """
        if isinstance(x, DeviceArray | np.ndarray):
            axis = normalize_axis_index(axis, x.ndim)
            order = self._random_order(x.shape[axis])
            with hold_for(x):
                x[...] = np.take(x, order.get() if isinstance(x, np.ndarray) else order, axis)
            return
        if axis != 0:
            raise NotImplementedError("Axis argument is only supported on ndarray objects")
        count = len(x)
        if not isinstance(x, MutableSequence):
            raise TypeError(f"'{type(x).__name__}' object does not support item assignment")
        x[:] = [x[k] for k in self._random_order(count).tolist()]

    @with_device_lock("out")
    def permuted(self, x: Any, *, axis: int | None = None, out: Any = None) -> DeviceArray:
        """Return a copy whose elements along an axis are in random order, independently in each line.

        Parameters
        ----------
        x : array_like
            Array to copy.
        axis : int, optional
            Axis along which elements change places. None reorders all elements together.
        out : DeviceArray, optional
            Array that receives the result. It may be `x` itself.

        Returns
        -------
        DeviceArray
            Of the shape and dtype of `x`, or `out`.

        Raises
        ------
        ValueError
            `out` has another shape than `x`.
        TypeError
            `out` is not an array.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.permuted([[1, 2, 3], [4, 5, 6]], axis=1)
        >>> clarray.sort(x, axis=1).tolist()
        [[1, 2, 3], [4, 5, 6]]
        """
        array = as_array(x)
        if out is not None and not isinstance(out, DeviceArray):
            raise TypeError(f"out must be a DeviceArray, not {type(out).__name__}")
        if out is not None and out.shape != array.shape:
            raise ValueError("out must have the same shape as x")
        if axis is None:
            order = self._random_order(array.size)
        else:
            axis = normalize_axis_index(axis, array.ndim)
            order = argsort(self._random_keys(array.shape), axis, kind="stable")
        with hold_for(out):
            if axis is None:
                permuted = take(array.reshape(-1), order).reshape(array.shape)
            else:
                permuted = take_along_axis(array, order, axis)
            if out is None:
                return permuted
            out[...] = permuted
            return out

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
    ) -> Any:
        """Choose integers below `a`, or entries of an array along an axis.

        Parameters
        ----------
        a : int or array_like
            Number of integers, or the array. Text and objects are chosen on the host.
        size : int or tuple of int, optional
            Shape of the choice. None chooses a single integer or entry.
        replace : bool, optional
            Whether an entry may be chosen more than once.
        p : (N,) array_like, optional
            Probability of each of the N entries, in float64 (or a device array of float32). None makes all equal.
        axis : int, optional
            Axis of the array whose entries are chosen.
        shuffle : bool, optional
            Has no effect: the choice is always in random order.

        Returns
        -------
        int, entry of `a` or array
            int64 numbers, or entries of `a`.

        Raises
        ------
        ValueError
            There are fewer entries than chosen, or `p` is not a list of probabilities of the entries.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> len(set(rng.choice(5, size=3, replace=False).tolist()))
        3
        >>> rng.choice([10, 20, 30], size=4, p=[0, 1, 0]).tolist()
        [20, 20, 20, 20]
        """
        shape = nodes.as_size(size)
        count = math.prod(shape)
        array, population = _population(a, axis, count, single=size is None)
        probabilities = None if p is None else _checked_probabilities(p, population)
        if replace and p is None and size is None:
            position = int(self.integers(0, max(population, 1)))
            return position if array is None else _single_entry(array, position, axis)
        if replace:
            positions = self._choose_with_replacement(population, probabilities, shape)
        else:
            if count > population:
                raise ValueError("Cannot take a larger sample than population when replace is False")
            positions = self._choose_without_replacement(population, probabilities, count).reshape(shape)
        if size is None:
            return positions.item() if array is None else _single_entry(array, positions.item(), axis)
        return positions if array is None else take_entries(array, positions, axis)

    def _choose_with_replacement(self, population: int, p: DeviceArray | None, shape: tuple[int, ...]) -> DeviceArray:
        if p is None:
            return self.integers(0, max(population, 1), shape)
        cumulated = cumsum(p)
        return searchsorted(cumulated / cumulated[-1], self.random(shape, p.dtype), side="right")

    def _choose_without_replacement(self, population: int, p: DeviceArray | None, count: int) -> DeviceArray:
        if p is None:
            few = population > max(_LARGE_POPULATION, 16 * count)
            return self._choose_few(population, count) if few else self._random_order(population)[:count]
        if int((p > 0).sum()) < count:
            raise ValueError("Fewer non-zero entries in p than size")
        # equivalent to one choice after the other: the smallest of exponential numbers with rates p
        clocks = Draw(self._bit_generator.take, p.shape, p.dtype).exponential()
        return argsort(clocks / p, kind="stable")[:count]

    def _choose_few(self, population: int, count: int) -> DeviceArray:
        """Draw with replacement and keep first occurrences. Draw more if too few draws are distinct."""
        tries = count + count // 8 + 16
        while True:
            draws = self.integers(0, population, tries)
            _, first_occurrences = unique(draws, return_index=True)
            if first_occurrences.size >= count:
                return take(draws, sort(first_occurrences)[:count])
            tries *= 2


def entries(x: Any, on_host: bool = False) -> Any:
    """Return the entries of a sequence as a device array, or as an ndarray if no device has their dtype.

    Parameters
    ----------
    on_host : bool
        Return an ndarray for host data, because only one entry is needed.
    """
    if isinstance(x, DeviceArray) or holds_arrays(x):
        return as_array(x)
    host = np.asarray(x)
    return host if on_host or not is_device_dtype(host.dtype) else as_array(host)


def take_entries(array: Any, order: DeviceArray, axis: int) -> Any:
    """Return entries of an array, on the device or on the host as the array."""
    return mark_0d_array(take(array, order, axis)) if isinstance(array, DeviceArray) else array.take(order.get(), axis)


def _single_entry(array: Any, number: int, axis: int) -> Any:
    """Return a single entry of an array: a NumPy scalar if the array has one axis."""
    return array[number] if array.ndim == 1 else entries(array.take(number, axis))


def _population(a: Any, axis: int, count: int, single: bool) -> tuple[Any, int]:
    """Return the array to choose from (None for integers below `a`) and the number of its entries."""
    if not isinstance(a, int | np.integer):
        array = entries(a, on_host=single)
        if array.ndim:
            population = array.shape[normalize_axis_index(axis, array.ndim)]
            if not population and count:
                raise ValueError("a cannot be empty unless no samples are taken")
            return array, population
        original, a = a, array.item()
        if not hasattr(a, "__index__"):
            raise ValueError(f"a must be a sequence or an integer, not {type(original)}")
    population = operator.index(a)
    if population <= 0 and count:
        raise ValueError("a must be a positive integer unless no samples are taken")
    return None, max(population, 0)


def _checked_probabilities(p: Any, population: int) -> DeviceArray:
    """Check the argument `p` as NumPy does, and upload it to the device."""
    argument: Any = p if isinstance(p, DeviceArray) else np.asarray(p)
    is_float32 = isinstance(p, DeviceArray) and p.dtype == np.float32
    probabilities = argument if is_float32 else argument.astype(FLOAT64)
    if probabilities.ndim != 1:
        raise ValueError("p must be 1-dimensional")
    if probabilities.size != population:
        raise ValueError("a and p must have same size")
    total = float(probabilities.sum())
    if math.isnan(total):
        raise ValueError("Probabilities contain NaN")
    if bool((probabilities < 0).any()):
        raise ValueError("Probabilities are not non-negative")
    epsilon = max(np.finfo(d).eps for d in (FLOAT64, argument.dtype) if d.kind == "f")
    if abs(total - 1) > math.sqrt(epsilon):
        raise ValueError("Probabilities do not sum to 1. See Notes section of docstring for more information.")
    return creation.array(probabilities)
