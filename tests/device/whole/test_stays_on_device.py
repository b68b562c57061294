"""With the host forbidden, each public function keeps to the device or raises: nothing goes to the host unasked."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray

from ..closeness import on_device, outcome, skip_without_float64
from ..outcomes import settled
from .test_every_function import (
    FUNCTIONS,
    KEYWORDS,
    METHODS,
    NO_CALL,
    NO_METHOD,
    SHARED_METHODS,
    SORTED,
    N,
    V,
    X,
    Y,
    fresh,
    sample,
)

pytestmark = [
    pytest.mark.usefixtures("quick_builds"),
    pytest.mark.kernels_alone,  # NumPy computes where the arrays lie, which a check of reads takes for one
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]

SCALAR = 24  # bytes: a length, a truth, an end of a range; a GPU's compaction tells three numbers at once
TEXT = "the host's text, bytes or list is what is asked for"
EDGES = "a row of edges is looked at on the host, which NumPy's rules ask for"
TABLE = "a small table of the values' ranks is read"
ALLOWED = {
    "array2string": TEXT,
    "array_repr": TEXT,
    "array_str": TEXT,
    ".tobytes": TEXT,
    ".tolist": TEXT,
    "digitize": EDGES,
    "intersect1d": TABLE,
    "setdiff1d": TABLE,
    "setxor1d": TABLE,
    "union1d": TABLE,
    "nanmedian": "how many elements of each line are not NaN",
    "nanpercentile": "as nanmedian",
    "nanquantile": "as nanmedian",
    "random.multinomial": "a table of chances is looked at on the host",
    "random.dirichlet": "a table of shapes is looked at on the host",
    "random.bytes": TEXT,
    "random.get_state": TEXT,
    "convolve": "a few weights are looked at: one that is not finite has a pass of its own",
    "correlate": "as convolve",
    "polymul": "as convolve",
    "polydiv": "as convolve",
    "ndimage.convolve": "weights are looked at on the host",
    "ndimage.correlate": "as ndimage.convolve",
    "ndimage.convolve1d": "as ndimage.convolve",
    "ndimage.correlate1d": "as ndimage.convolve",
}
SQUARE = X[:, :3] + 9 * np.eye(3, dtype="float32")
SYMMETRIC = SQUARE + SQUARE.T
MODULES: dict[str, dict[str, tuple[Any, ...]]] = {
    "linalg": {
        "cross": (SQUARE, SQUARE),
        "lstsq": (X, Y),
        "matmul": (X, X.T),
        "matrix_power": (SQUARE, 3),
        "multi_dot": ([X, X.T, X],),
        "outer": (V, V),
        "solve": (SQUARE, SQUARE),
        "tensordot": (X, Y),
        "tensorinv": (np.eye(4, dtype="float32").reshape(2, 2, 2, 2),),
        "vecdot": (X, Y),
        "tensorsolve": (np.eye(4, dtype="float32").reshape(2, 2, 2, 2), np.ones((2, 2), "float32")),
    },
    "fft": {"fftfreq": (8,), "rfftfreq": (8,)},
    "ndimage": {
        "convolve": (X, Y),
        "convolve1d": (X, V),
        "correlate": (X, Y),
        "correlate1d": (X, V),
        "gaussian_filter": (X, 1),
        "gaussian_filter1d": (X, 1),
        "gaussian_gradient_magnitude": (X, 1),
        "gaussian_laplace": (X, 1),
        "generic_gradient_magnitude": (X, clarray.ndimage.sobel),
        "generic_laplace": (X, lambda x, axis, *rest, **more: x),
        "maximum_filter": (X, 3),
        "maximum_filter1d": (X, 3),
        "median_filter": (X, 3),
        "minimum_filter": (X, 3),
        "minimum_filter1d": (X, 3),
        "percentile_filter": (X, 30, 3),
        "rank_filter": (X, 1, 3),
        "uniform_filter": (X, 3),
        "uniform_filter1d": (X, 3),
    },
    "random": {
        "beta": (X, X),
        "binomial": (N, 0.3),
        "bytes": (40,),
        "chisquare": (X,),
        "choice": (X[0], 2),
        "dirichlet": (V,),
        "exponential": (X,),
        "f": (X, X),
        "gamma": (X, X),
        "geometric": (X / 10,),
        "gumbel": (X, X),
        "hypergeometric": (N, N + 3, 2),
        "laplace": (X, X),
        "logistic": (X, X),
        "lognormal": (X, X),
        "logseries": (X / 10,),
        "multinomial": (5, V / 9),
        "multivariate_normal": (V[:3], SYMMETRIC),
        "negative_binomial": (N + 1, 0.3),
        "noncentral_chisquare": (X, X),
        "noncentral_f": (X, X, X),
        "normal": (X, X),
        "pareto": (X,),
        "permutation": (X,),
        "poisson": (X,),
        "power": (X,),
        "rand": (20,),
        "randint": (0, 9, 20),
        "randn": (20,),
        "random": (20,),
        "random_sample": (20,),
        "ranf": (20,),
        "rayleigh": (X,),
        "sample": (20,),
        "shuffle": (X,),
        "standard_cauchy": (20,),
        "standard_exponential": (20,),
        "standard_gamma": (X,),
        "standard_normal": (20,),
        "standard_t": (X,),
        "triangular": (X, X + 1, X + 2),
        "uniform": (X, X + 1),
        "vonmises": (X, X),
        "wald": (X, X),
        "weibull": (X,),
        "zipf": (X + 1,),
    },
    "special": {"xlogy": (X, Y), "xlog1py": (X, Y), "kl_div": (X, Y), "rel_entr": (X, Y)},
}
DEFAULT: dict[str, tuple[Any, ...]] = {
    "linalg": (SYMMETRIC,),
    "fft": (X,),
    "ndimage": (X,),
    "random": (),
    "special": (X / 10,),
}
NOT_CALLED = {
    "random.set_state": "sets what get_state gave",
    "random.seed": "sets a number",
    "random.default_rng": "makes a generator",
}


@pytest.fixture(autouse=True, scope="module")
def tried_scans() -> None:
    """A device whose scans look back is tried once in a process: that reads a long result, and is no call's."""
    clarray.cumsum(clarray.ones(3, dtype=np.int64)).evaluate()


def assert_stays(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    given = on_device(fresh(args))
    with clarray.config(host_library="raise", host_fallback="raise"), clarray.profile() as p:
        _, error = outcome(lambda: settled(function(*given, **kwargs)), (), {})
    read = [r.nbytes for r in p.records if r.kind == "transfer" and r.name == "to host"]
    skip_without_float64(error)
    if error is not None and "clarray.config.host_" not in str(error):
        raise error
    assert p.host_calls == 0
    assert name in ALLOWED or max(read, default=0) <= SCALAR, f"{name} read {read} bytes on the host"


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in NO_CALL])
def test_function(name: str) -> None:
    assert_stays(name, getattr(clarray, name), sample(name), KEYWORDS.get(name, {}))


@pytest.mark.parametrize("name", [name for name in SHARED_METHODS if name not in NO_METHOD])
def test_method(name: str) -> None:
    array = SORTED if name == "searchsorted" else N % 2 if name == "choose" else X
    assert_stays("." + name, getattr(clarray.DeviceArray, name), (array, *METHODS.get(name, ())), {})


def functions_of(module: str) -> list[str]:
    found = importlib.import_module(f"clarray.{module}")
    return [name for name in found.__all__ if not inspect.isclass(getattr(found, name))]


@pytest.mark.parametrize(
    ("module", "name"), [(m, n) for m in MODULES for n in functions_of(m) if f"{m}.{n}" not in NOT_CALLED]
)
def test_function_of_a_module(module: str, name: str) -> None:
    args = MODULES[module].get(name, DEFAULT[module])
    assert_stays(f"{module}.{name}", getattr(importlib.import_module(f"clarray.{module}"), name), args, {})


def test_the_host_is_asked_before_anything_is_read() -> None:
    cov = clarray.array(SYMMETRIC)
    policy = clarray.config(host_library="raise")
    with policy, clarray.profile() as p, pytest.raises(TypeError, match=r"numpy\.linalg\.svd"):
        clarray.random.default_rng(0).multivariate_normal(cov[0], cov, dtype="float32")
    assert p.transfers == 0
    with clarray.profile() as p:
        clarray.random.default_rng(0).multivariate_normal(cov[0], cov, dtype="float32").evaluate()
    assert p.host_calls == 1
