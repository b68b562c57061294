"""`RandomState`, and the functions of `numpy.random` itself, which share one `RandomState`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray
from clarray._core.own_frames import with_boundaries
from clarray.random.bit_generator import Philox4x32
from clarray.random.generator import Generator
from clarray.random.nodes import as_size


@with_boundaries
class RandomState(Generator):
    """Draw random numbers with the methods of `numpy.random.RandomState`: ``rand``, ``randint``, ``seed`` and others.

    Parameters
    ----------
    seed : None, int, sequence of int, SeedSequence or Philox4x32, optional
        None takes fresh entropy from the system.

    See Also
    --------
    default_rng : Make a generator with the names of `numpy.random.Generator`.

    Notes
    -----
    The numbers are the same as those of a `Generator` with the same seed. They differ from those of NumPy's MT19937.

    Examples
    --------
    >>> import clarray
    >>> clarray.random.RandomState(1).randint(0, 6, 3).shape
    (3,)
    """

    def __init__(self, seed: Any = None) -> None:
        super().__init__(seed if isinstance(seed, Philox4x32) else Philox4x32(seed))

    def seed(self, seed: Any = None) -> None:
        """Set the state of the generator from a seed.

        Parameters
        ----------
        seed : None, int, sequence of int or SeedSequence, optional
            None takes fresh entropy from the system.

        Examples
        --------
        >>> import clarray
        >>> clarray.random.seed(1)
        >>> x = clarray.random.rand(3)
        >>> clarray.random.seed(1)
        >>> clarray.array_equal(clarray.random.rand(3), x)
        True
        """
        self._bit_generator.reseed(seed)

    def get_state(self) -> dict[str, Any]:
        """Return the state of the generator.

        Returns
        -------
        dict
            A dictionary for `set_state`.

        Examples
        --------
        >>> import clarray
        >>> clarray.random.get_state()["bit_generator"]
        'Philox4x32'
        """
        return self._bit_generator.state

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state that `get_state` returned.

        Parameters
        ----------
        state : dict
            The state.

        Raises
        ------
        TypeError
            `state` is not a dictionary.
        ValueError
            It is a state of another generator.

        Examples
        --------
        >>> import clarray
        >>> state = clarray.random.get_state()
        >>> x = clarray.random.rand(3)
        >>> clarray.random.set_state(state)
        >>> clarray.array_equal(clarray.random.rand(3), x)
        True
        """
        self._bit_generator.state = state

    def rand(self, *args: int) -> DeviceArray:
        """Draw floats from the uniform distribution over [0, 1), in a shape given as arguments.

        Parameters
        ----------
        *args : int
            Extents of the result. Without any, a single number is drawn.

        Returns
        -------
        float or DeviceArray of float64

        Examples
        --------
        >>> import clarray
        >>> clarray.random.rand(2, 3).shape
        (2, 3)
        """
        return self.random(args) if args else self.random()

    def randn(self, *args: int) -> DeviceArray:
        """Draw normal numbers with mean 0 and standard deviation 1, in a shape given as arguments.

        Parameters
        ----------
        *args : int
            Extents of the result. Without any, a single number is drawn.

        Returns
        -------
        float or DeviceArray of float64

        Examples
        --------
        >>> import clarray
        >>> clarray.random.randn(2, 3).shape
        (2, 3)
        """
        return self.standard_normal(args) if args else self.standard_normal()

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> DeviceArray:
        """Draw integers from [low, high), or from [0, low) if only one bound is given.

        Parameters
        ----------
        low, high : int or array_like of int
            Bounds. If only one is given, it is the end, and 0 is the start.
        size : int or tuple of int, optional
            Shape of the result. None takes the broadcast shape of the bounds.
        dtype : dtype, optional
            Any integer dtype, or bool.

        Returns
        -------
        int or DeviceArray
            A single number if `size` is None and the bounds are scalars.

        Raises
        ------
        ValueError
            A range is empty, a bound does not fit the dtype, or a bound does not broadcast to `size`.
        TypeError
            `dtype` is neither an integer dtype nor bool.

        Examples
        --------
        >>> import clarray
        >>> dice = clarray.random.randint(1, 7, size=10)
        >>> set(dice.tolist()) <= {1, 2, 3, 4, 5, 6}
        True
        """
        return self.integers(low, high, size, dtype)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:  # type: ignore[override]
        """Choose integers below `a`, or elements of an array of one axis.

        Parameters
        ----------
        a : int or (N,) array_like
            Number of integers, or the array. Text and objects are chosen on the host.
        size : int or tuple of int, optional
            Shape of the choice. None chooses a single integer or element.
        replace : bool, optional
            Whether an element may be chosen more than once.
        p : (N,) array_like, optional
            Probability of each element. None makes all equal.

        Returns
        -------
        int, element of `a` or array

        Raises
        ------
        ValueError
            `a` has several axes or no elements, there are fewer elements than chosen, or `p` is not a list of
            probabilities.

        Examples
        --------
        >>> import clarray
        >>> len(set(clarray.random.choice(5, size=3, replace=False).tolist()))
        3
        """
        population = a if isinstance(a, DeviceArray) else np.asarray(a)
        count = prod(as_size(size))
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
        """Draw integers from [0, 2**63).

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the result. None draws a single number.

        Returns
        -------
        int or DeviceArray of int64

        Examples
        --------
        >>> import clarray
        >>> x = clarray.random.RandomState(1).tomaxint(3)
        >>> x.shape, bool(x.min() >= 0)
        ((3,), True)
        """
        return self.integers(0, np.iinfo(np.int64).max, size, int, endpoint=True)

    def random_sample(self, size: Any = None) -> DeviceArray:
        """Draw floats from the uniform distribution over [0, 1).

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the result. None draws a single number.

        Returns
        -------
        float or DeviceArray of float64

        Examples
        --------
        >>> import clarray
        >>> x = clarray.random.random_sample((2, 3))
        >>> x.shape, bool(x.max() < 1)
        ((2, 3), True)
        """
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
