"""Functions of `numpy.random` itself, which share one generator."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray.array import DeviceArray
from clarray.random.bit_generator import Philox4x32
from clarray.random.generator import Generator

_shared = Generator(Philox4x32())

beta = _shared.beta
binomial = _shared.binomial
bytes = _shared.bytes
chisquare = _shared.chisquare
dirichlet = _shared.dirichlet
exponential = _shared.exponential
f = _shared.f
gamma = _shared.gamma
geometric = _shared.geometric
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
random = _shared.random
rayleigh = _shared.rayleigh
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

__all__ = [
    "beta", "binomial", "bytes", "chisquare", "choice", "dirichlet", "exponential", "f", "gamma", "geometric",
    "get_state", "gumbel", "hypergeometric", "laplace", "logistic", "lognormal", "logseries", "multinomial",
    "multivariate_normal", "negative_binomial", "noncentral_chisquare", "noncentral_f", "normal", "pareto",
    "permutation", "poisson", "power", "rand", "randint", "randn", "random", "random_sample", "ranf", "rayleigh",
    "sample", "seed", "set_state", "shuffle", "standard_cauchy", "standard_exponential", "standard_gamma",
    "standard_normal", "standard_t", "triangular", "uniform", "vonmises", "wald", "weibull", "zipf",
]  # fmt: skip


def seed(seed: Any = None) -> None:
    """Start the shared generator again, from a seed as `default_rng` takes it."""
    _shared.bit_generator.reseed(seed)


def get_state() -> dict[str, Any]:
    """Give the state of the shared generator, a dictionary."""
    return _shared.bit_generator.state


def set_state(state: dict[str, Any]) -> None:
    """Put the shared generator into a state that `get_state` gave."""
    _shared.bit_generator.state = state


def rand(*args: int) -> DeviceArray:
    """Draw floats of [0, 1) in a shape given as arguments."""
    return _shared.random(args)


def randn(*args: int) -> DeviceArray:
    """Draw standard normal numbers in a shape given as arguments."""
    return _shared.standard_normal(args)


def randint(low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> DeviceArray:
    """Draw integers of [low, high), or of [0, low)."""
    return _shared.integers(low, high, size, np.dtype(dtype))


def random_sample(size: Any = None) -> DeviceArray:
    """Draw floats of [0, 1)."""
    return _shared.random(size)


ranf = sample = random_sample


def choice(a: Any, size: Any = None, replace: bool = True, p: Any = None) -> DeviceArray:
    """Choose among the numbers below `a`, or among the entries of an array."""
    return _shared.choice(a, size, replace, p)
