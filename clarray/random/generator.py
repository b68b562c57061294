"""The class `Generator`, assembled from its chapters, and `default_rng`."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.own_frames import with_boundaries
from clarray.random.bit_generator import Philox4x32
from clarray.random.continuous import Continuous
from clarray.random.discrete import Discrete
from clarray.random.gammas import Gammas
from clarray.random.multivariate import Multivariate
from clarray.random.orders import Orders

__all__ = ["Generator", "default_rng"]


@with_boundaries
class Generator(Orders, Continuous, Gammas, Discrete, Multivariate):
    """Draw random numbers on the device, with the methods of `numpy.random.Generator`.

    Parameters
    ----------
    bit_generator : Philox4x32
        Source of the random bits.

    Raises
    ------
    TypeError
        It is another bit generator.

    See Also
    --------
    default_rng : Make a generator from a seed.

    Notes
    -----
    Numbers that follow from a formula are an expression: it becomes part of the kernel that uses it, and needs memory
    only when it is stored. The numbers depend on the seed and on earlier draws, not on the device. Methods called
    without `size` return a single number.

    Examples
    --------
    >>> import clarray
    >>> rng = clarray.random.default_rng(1)
    >>> x = rng.standard_normal(1000)
    >>> abs(float(x.mean())) < 0.1
    True
    """

    def __init__(self, bit_generator: Any) -> None:
        if not isinstance(bit_generator, Philox4x32):
            raise TypeError(f"a Generator needs a clarray.random.Philox4x32, not {type(bit_generator).__name__}")
        super().__init__(bit_generator)

    def __repr__(self) -> str:
        return f"{self} at {id(self):#X}"

    def __str__(self) -> str:
        return f"{type(self).__name__}({type(self._bit_generator).__name__})"

    def __reduce__(self) -> Any:
        return type(self), (self._bit_generator,)

    @property
    def bit_generator(self) -> Philox4x32:
        """Return the source of the random bits.

        Examples
        --------
        >>> import clarray
        >>> clarray.random.Generator(clarray.random.Philox4x32(key=1)).bit_generator
        <Philox4x32 key=0x0000000000000001 counter=0x0>
        """
        return self._bit_generator

    def spawn(self, n_children: int) -> list[Generator]:
        """Make generators that are independent of this one and of each other.

        Parameters
        ----------
        n_children : int
            Number of generators.

        Returns
        -------
        list of Generator

        Raises
        ------
        TypeError
            The bit generator was made from a key instead of a seed.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> [child.random(2).shape for child in rng.spawn(3)]
        [(2,), (2,), (2,)]
        """
        return [Generator(bits) for bits in self._bit_generator.spawn(n_children)]


def default_rng(seed: Any = None) -> Generator:
    """Make a generator of random numbers.

    Parameters
    ----------
    seed : None, int, sequence of int, SeedSequence, Philox4x32 or Generator, optional
        Start of the sequence of numbers: the same seed gives the same numbers. None takes fresh entropy from the
        system. A Generator is returned as it is.

    Returns
    -------
    Generator

    Raises
    ------
    TypeError
        `seed` is a generator of NumPy's. It draws on the host.

    Examples
    --------
    >>> import clarray
    >>> one, two = clarray.random.default_rng(7), clarray.random.default_rng(7)
    >>> clarray.array_equal(one.random(5), two.random(5))
    True
    """
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, np.random.Generator | np.random.BitGenerator | np.random.RandomState):
        raise TypeError(f"{type(seed).__name__} draws on the host: give a seed, or a clarray.random.Philox4x32")
    return Generator(seed if isinstance(seed, Philox4x32) else Philox4x32(seed))
