"""`RandomState`, and the functions of `numpy.random` itself, which share one."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray
from clarray.random.bit_generator import Philox4x32
from clarray.random.generator import Generator
from clarray.random.nodes import shape_of


class RandomState(Generator):
    """A generator with the names that `numpy.random.RandomState` has besides: ``rand``, ``randint``, ``seed`` ...

    Parameters
    ----------
    seed : None, int, sequence of int, SeedSequence or Philox4x32, optional
        None takes fresh entropy.

    See Also
    --------
    default_rng

    Notes
    -----
    The numbers are those of a `Generator` of the same seed, not those of NumPy's MT19937.

    Examples
    --------
    >>> import clarray
    >>> clarray.random.RandomState(1).randint(0, 6, 3).shape
    (3,)
    """

    def __init__(self, seed: Any = None) -> None:
        super().__init__(seed if isinstance(seed, Philox4x32) else Philox4x32(seed))

    def seed(self, seed: Any = None) -> None:
        """Start again from a seed, as `default_rng` takes it."""
        self._bit_generator.reseed(seed)

    def get_state(self) -> dict[str, Any]:
        """Give the state, a dictionary."""
        return self._bit_generator.state

    def set_state(self, state: dict[str, Any]) -> None:
        """Go to a state that `get_state` gave."""
        self._bit_generator.state = state

    def rand(self, *args: int) -> DeviceArray:
        """Draw floats of [0, 1) in a shape given as arguments."""
        return self.random(args) if args else self.random()

    def randn(self, *args: int) -> DeviceArray:
        """Draw standard normal numbers in a shape given as arguments."""
        return self.standard_normal(args) if args else self.standard_normal()

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> DeviceArray:
        """Draw integers of [low, high), or of [0, low).

        Parameters
        ----------
        low, high : int or array_like of int
            With one of them, it is the end and 0 is the start.
        size : int or tuple of int, optional
            Shape; that of the bounds broadcast when None.
        dtype : dtype, optional
            Any integer dtype, or bool.

        Returns
        -------
        DeviceArray

        Raises
        ------
        ValueError
            A range is empty, or a bound does not fit the dtype.
        TypeError
            The dtype is no integer's.
        """
        return self.integers(low, high, size, dtype)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:  # type: ignore[override]
        """Choose among the numbers below `a`, or among the elements of an array of one axis.

        Parameters
        ----------
        a : int or sequence
        size : int or tuple of int, optional
            How many; a number, or an element of `a`, when None.
        replace : bool, optional
            Whether an element may be chosen more than once.
        p : array_like, optional
            Probability of each element; equal ones when None.

        Returns
        -------
        int, element of `a` or array

        Raises
        ------
        ValueError
            `a` has several axes or no elements, or the probabilities are none.
        """
        population = a if isinstance(a, DeviceArray) else np.asarray(a)
        count = prod(shape_of(size))
        if population.ndim > 1:
            raise ValueError("a must be 1-dimensional")
        if population.ndim:
            if not population.size and count:
                raise ValueError("'a' cannot be empty unless no samples are taken")
        elif not hasattr(population.item(), "__index__"):
            raise ValueError("a must be 1-dimensional or an integer")
        elif population.item() <= 0 and count:
            raise ValueError("a must be greater than 0 unless no samples are taken")
        return super().choice(a, size, replace, p)

    def tomaxint(self, size: Any = None) -> DeviceArray:
        """Draw integers of [0, 2**63)."""
        return self.integers(0, np.iinfo(np.int64).max, size, int, endpoint=True)

    def random_sample(self, size: Any = None) -> DeviceArray:
        """Draw floats of [0, 1)."""
        return self.random(size)


_shared = RandomState()

beta = _shared.beta
binomial = _shared.binomial
bytes = _shared.bytes
chisquare = _shared.chisquare
choice = _shared.choice
dirichlet = _shared.dirichlet
exponential = _shared.exponential
f = _shared.f
gamma = _shared.gamma
geometric = _shared.geometric
get_state = _shared.get_state
gumbel = _shared.gumbel
hypergeometric = _shared.hypergeometric
laplace = _shared.laplace
logistic = _shared.logistic
lognormal = _shared.lognormal
logseries = _shared.logseries
multinomial = _shared.multinomial
multivariate_normal = _shared.multivariate_normal
negative_binomial = _shared.negative_binomial
noncentral_chisquare = _shared.noncentral_chisquare
noncentral_f = _shared.noncentral_f
normal = _shared.normal
pareto = _shared.pareto
permutation = _shared.permutation
poisson = _shared.poisson
power = _shared.power
rand = _shared.rand
randint = _shared.randint
randn = _shared.randn
random = _shared.random
random_sample = _shared.random_sample
rayleigh = _shared.rayleigh
seed = _shared.seed
set_state = _shared.set_state
shuffle = _shared.shuffle
standard_cauchy = _shared.standard_cauchy
standard_exponential = _shared.standard_exponential
standard_gamma = _shared.standard_gamma
standard_normal = _shared.standard_normal
standard_t = _shared.standard_t
triangular = _shared.triangular
uniform = _shared.uniform
vonmises = _shared.vonmises
wald = _shared.wald
weibull = _shared.weibull
zipf = _shared.zipf
ranf = sample = random_sample

__all__ = [
    "RandomState",
    "beta",
    "binomial",
    "bytes",
    "chisquare",
    "choice",
    "dirichlet",
    "exponential",
    "f",
    "gamma",
    "geometric",
    "get_state",
    "gumbel",
    "hypergeometric",
    "laplace",
    "logistic",
    "lognormal",
    "logseries",
    "multinomial",
    "multivariate_normal",
    "negative_binomial",
    "noncentral_chisquare",
    "noncentral_f",
    "normal",
    "pareto",
    "permutation",
    "poisson",
    "power",
    "rand",
    "randint",
    "randn",
    "random",
    "random_sample",
    "ranf",
    "rayleigh",
    "sample",
    "seed",
    "set_state",
    "shuffle",
    "standard_cauchy",
    "standard_exponential",
    "standard_gamma",
    "standard_normal",
    "standard_t",
    "triangular",
    "uniform",
    "vonmises",
    "wald",
    "weibull",
    "zipf",
]
