"""Choosing and putting into random order: permutations are the order of random keys."""

from __future__ import annotations

import math
import operator
from collections.abc import MutableSequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from clarray._core import creation
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, hold_for, no_number, wrap
from clarray._core.own_frames import with_boundaries
from clarray._core.sequences import holds_arrays
from clarray._core.writes import one_hold
from clarray._engine.ops.dtypes import is_device_dtype
from clarray._numpy.indexing.gathering import take, take_along_axis
from clarray._numpy.reduction.scans import cumsum
from clarray._numpy.sorting.sets import unique
from clarray._numpy.sorting.sorting import argsort, searchsorted, sort
from clarray.random import nodes
from clarray.random.draws import FLOAT64, Draw
from clarray.random.uniform import Uniform

__all__ = ["Orders"]

_MANY = 1 << 16  # of more than this few are chosen without putting all into order


@with_boundaries
class Orders(Uniform):
    """Choose entries, and put entries into random order."""

    def _keys(self, shape: tuple[int, ...]) -> DeviceArray:
        """Random numbers of 64 bits: among n of them two are equal with a probability below n**2 / 2**65."""
        return wrap(nodes.words(self._bit_generator.take, shape, nodes.UINT64))

    def _order(self, count: int) -> DeviceArray:
        """The numbers below `count` in random order."""
        return argsort(self._keys((count,)), kind="stable")

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
            return self._order(max(int(x), 0))
        array = entries(x)
        axis = normalize_axis_index(axis, array.ndim)
        return taken(array, self._order(array.shape[axis]), axis)

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
            order = self._order(x.shape[axis])
            with hold_for(x):
                x[...] = np.take(x, order.get() if isinstance(x, np.ndarray) else order, axis)
            return
        if axis != 0:
            raise NotImplementedError("Axis argument is only supported on ndarray objects")
        count = len(x)
        if not isinstance(x, MutableSequence):
            raise TypeError(f"'{type(x).__name__}' object does not support item assignment")
        x[:] = [x[k] for k in self._order(count).tolist()]

    @one_hold("out")
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
            order = self._order(array.size)
        else:
            axis = normalize_axis_index(axis, array.ndim)
            order = argsort(self._keys(array.shape), axis, kind="stable")
        with hold_for(out):
            if axis is None:
                made = take(array.reshape(-1), order).reshape(array.shape)
            else:
                made = take_along_axis(array, order, axis)
            if out is None:
                return made
            out[...] = made
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
        shape = nodes.shape_of(size)
        count = math.prod(shape)
        array, population = _population(a, axis, count, single=size is None)
        chances = None if p is None else _probabilities(p, population)
        if replace and p is None and size is None:
            number = int(self.integers(0, max(population, 1)))
            return number if array is None else _entry(array, number, axis)
        if replace:
            chosen = self._with_replacement(population, chances, shape)
        else:
            if count > population:
                raise ValueError("Cannot take a larger sample than population when replace is False")
            chosen = self._without(population, chances, count).reshape(shape)
        if size is None:
            return chosen.item() if array is None else _entry(array, chosen.item(), axis)
        return chosen if array is None else taken(array, chosen, axis)

    def _with_replacement(self, population: int, p: DeviceArray | None, shape: tuple[int, ...]) -> DeviceArray:
        if p is None:
            return self.integers(0, max(population, 1), shape)
        cumulated = cumsum(p)
        return searchsorted(cumulated / cumulated[-1], self.random(shape, p.dtype), side="right")

    def _without(self, population: int, p: DeviceArray | None, count: int) -> DeviceArray:
        if p is None:
            few = population > max(_MANY, 16 * count)
            return self._few(population, count) if few else self._order(population)[:count]
        if int((p > 0).sum()) < count:
            raise ValueError("Fewer non-zero entries in p than size")
        # the first of exponential clocks of rates p to ring: the same as one choice after the other
        clocks = Draw(self._bit_generator.take, p.shape, p.dtype).exponential()
        return argsort(clocks / p, kind="stable")[:count]

    def _few(self, population: int, count: int) -> DeviceArray:
        """Draw with replacement and keep what comes first; draw more where too many are equal."""
        tries = count + count // 8 + 16
        while True:
            drawn = self.integers(0, population, tries)
            _, first = unique(drawn, return_index=True)
            if first.size >= count:
                return take(drawn, sort(first)[:count])
            tries *= 2


def entries(x: Any, on_host: bool = False) -> Any:
    """Return an array of a sequence's entries: on the device, but for dtypes that no device has.

    Parameters
    ----------
    on_host : bool
        Leave what the host has there, of which only one entry is needed.
    """
    if isinstance(x, DeviceArray) or holds_arrays(x):
        return as_array(x)
    host = np.asarray(x)
    return host if on_host or not is_device_dtype(host.dtype) else as_array(host)


def taken(array: Any, order: DeviceArray, axis: int) -> Any:
    """Return entries of an array, where it is."""
    return no_number(take(array, order, axis)) if isinstance(array, DeviceArray) else array.take(order.get(), axis)


def _entry(array: Any, number: int, axis: int) -> Any:
    """Return a single entry: an element as NumPy's scalar."""
    return array[number] if array.ndim == 1 else entries(array.take(number, axis))


def _population(a: Any, axis: int, count: int, single: bool) -> tuple[Any, int]:
    """Return the array that is chosen from, if it is one, and the number of its entries."""
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


def _probabilities(p: Any, population: int) -> DeviceArray:
    """The argument `p` on the device, checked as NumPy checks it."""
    known: Any = p if isinstance(p, DeviceArray) else np.asarray(p)
    single = isinstance(p, DeviceArray) and p.dtype == np.float32
    chances = known if single else known.astype(FLOAT64)
    if chances.ndim != 1:
        raise ValueError("p must be 1-dimensional")
    if chances.size != population:
        raise ValueError("a and p must have same size")
    total = float(chances.sum())
    if math.isnan(total):
        raise ValueError("Probabilities contain NaN")
    if bool((chances < 0).any()):
        raise ValueError("Probabilities are not non-negative")
    spacing = max(np.finfo(d).eps for d in (FLOAT64, known.dtype) if d.kind == "f")
    if abs(total - 1) > math.sqrt(spacing):
        raise ValueError("Probabilities do not sum to 1. See Notes section of docstring for more information.")
    return creation.array(chances)
