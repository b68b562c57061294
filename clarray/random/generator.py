"""`Generator` put together of its chapters, and how one is made."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray.random.bit_generator import Philox4x32
from clarray.random.continuous import Continuous
from clarray.random.discrete import Discrete
from clarray.random.gammas import Gammas
from clarray.random.multivariate import Multivariate
from clarray.random.orders import Orders

__all__ = ["Generator", "default_rng"]


class Generator(Orders, Continuous, Gammas, Discrete, Multivariate):
    """Random numbers on the device, with the methods of `numpy.random.Generator`.

    Parameters
    ----------
    bit_generator : Philox4x32

    Raises
    ------
    TypeError
        It is another bit generator.

    See Also
    --------
    default_rng

    Notes
    -----
    What the methods of formulas draw is pending: it becomes part of the kernel that uses it, and takes memory only when
    it is stored. A draw depends on the seed and on the draws before it, not on the device. Methods without `size` give
    a number.

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
        """Where the random bits come from."""
        return self._bit_generator

    def spawn(self, n_children: int) -> list[Generator]:
        """Make `n_children` generators that are independent of this one and of each other."""
        return [Generator(bits) for bits in self._bit_generator.spawn(n_children)]


def default_rng(seed: Any = None) -> Generator:
    """Make a generator.

    Parameters
    ----------
    seed : None, int, sequence of int, SeedSequence, Philox4x32 or Generator, optional
        None takes fresh entropy; a Generator is returned as it is.

    Returns
    -------
    Generator

    Raises
    ------
    TypeError
        It is a generator of NumPy's, whose bits are not made on a device.
    """
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, np.random.Generator | np.random.BitGenerator | np.random.RandomState):
        raise TypeError(f"{type(seed).__name__} draws on the host: give a seed, or a clarray.random.Philox4x32")
    return Generator(seed if isinstance(seed, Philox4x32) else Philox4x32(seed))
