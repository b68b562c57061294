"""Calls with a number left open (`{}`): every public function, methods, submodules and random generators."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from .test_every_function import KEYWORDS, sample
from .test_integer_arguments import INTEGERS
from .test_odd_arguments import NAMES, source


def functions() -> list[str]:
    """Return a call of each function for each parameter that is a number in its sample or by default."""
    made = []
    for name in NAMES:
        values = sample(name)
        args = [source(each) for each in values]
        given = {key: repr(value) for key, value in KEYWORDS.get(name, {}).items()}
        for number, parameter in enumerate(inspect.signature(getattr(np, name)).parameters.values()):
            value = values[number] if number < len(values) else parameter.default
            if not _is_number(value) and parameter.name not in INTEGERS:
                continue
            if number < len(args):
                positional, named = [*args[:number], "{}", *args[number + 1 :]], given
            else:
                positional, named = args, {**given, parameter.name: "{}"}
            made.append(f"xp.{name}({', '.join([*positional, *(f'{key}={each}' for key, each in named.items())])})")
    return made


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _filled(text: str, **parts: str) -> list[str]:
    """Return the lines of a table with capital letters replaced."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for letter, part in parts.items():
        lines = [line.replace(letter, part) for line in lines]
    return lines


MATRIX = "xp.array([[1.25, 3.0, 2.0], [5.0, 0.0, 2.5], [1.0, 2.0, 3.0]])"
SUBMODULES = _filled(
    """
    xp.fft.fft(X, n={})
    xp.fft.ifft(X, n={})
    xp.fft.rfft(X, n={})
    xp.fft.irfft(X, n={})
    xp.fft.hfft(X, n={})
    xp.fft.ihfft(X, n={})
    xp.fft.fft(X, axis={})
    xp.fft.irfft(X, axis={})
    xp.fft.fft2(X, s=({}, 2))
    xp.fft.irfftn(X, s=(2, {}))
    xp.fft.fft2(X, axes=({}, 0))
    xp.fft.rfftn(X, axes=(0, {}))
    xp.fft.fft(X, norm={})
    xp.fft.fftfreq({})
    xp.fft.rfftfreq({})
    xp.fft.fftfreq(4, {})
    xp.fft.fftshift(X, {})
    xp.fft.ifftshift(X, {})
    xp.linalg.matrix_power(X, {})
    xp.linalg.norm(X, {})
    xp.linalg.norm(X[0], {})
    xp.linalg.norm(X, axis={})
    xp.linalg.norm(X, axis=({}, 0))
    xp.linalg.cond(X, {})
    xp.linalg.vector_norm(X, axis={})
    xp.linalg.vector_norm(X, ord={})
    xp.linalg.matrix_norm(X, ord={})
    xp.linalg.matrix_rank(X, {})
    xp.linalg.pinv(X, {})
    xp.linalg.lstsq(X, X, {})[0]
    xp.linalg.tensorinv(xp.eye(4).reshape(2, 2, 4), {})
    xp.linalg.cross(X, X, axis={})
    xp.linalg.vecdot(X, X, axis={})
    xp.linalg.trace(X, offset={})
    xp.linalg.diagonal(X, offset={})
    xp.linalg.tensordot(X, X, axes={})
    xp.lib.stride_tricks.sliding_window_view(xp.arange(6), {})
    xp.lib.stride_tricks.as_strided(xp.arange(6), ({},), (0,)).shape
    """,
    X=MATRIX,
)
METHODS = _filled(
    """
    X.sum(axis={})
    X.max({})
    X.argmax({})
    X.cumsum({})
    X.sort({})
    X.round({})
    X.repeat({})
    X.trace({})
    X.squeeze({})
    X.take({})
    X.reshape({})
    X.reshape({}, -1)
    X.transpose({}, 0)
    X.swapaxes({}, 0)
    X.item({})
    X.diagonal({})
    X.var(ddof={})
    X.argpartition({})
    X.partition({})
    X.clip({})
    X.compress([1], {})
    X.all({})
    X.mean({})
    X.fill({})
    X.searchsorted({})
    X[{}]
    X[{}:]
    X[::{}]
    X[1, {}]
    X.__setitem__({}, 1)
    X ** {}
    X * {}
    X // {}
    X < {}
    I ** {}
    I * {}
    I + {}
    I // {}
    I % {}
    I < {}
    I << {}
    I >> {}
    I & {}
    I.clip({})
    I.fill({})
    B + {}
    B < {}
    B.clip({})
    B.fill({})
    """,
    X=MATRIX,
    I="xp.arange(1, 4)",
    B="xp.arange(1, 4, dtype='u1')",
)
CREATION = [
    *(f"xp.array({{}}, {dtype!r})" for dtype in ("f4", "i4", "i8", "u8", "c8", "?")),
    *(f"xp.full(2, {{}}, {dtype!r})" for dtype in ("f4", "i4", "i8", "u8", "c8", "?")),
    *_filled(
        """
        xp.array({})
        xp.array([1, {}])
        xp.array([1, {}, 0.5])
        xp.array([1], ndmin={})
        xp.array([1], ndmax={})
        xp.zeros({}).shape
        xp.zeros(({}, 0)).shape
        xp.zeros(({}, {}, 0)).shape
        xp.ones(({}, 2), '?')
        xp.empty({}, '?').shape
        xp.full({}, 1, 'u1')
        xp.arange({})
        xp.arange(0, {}, {})
        xp.arange({}, 0)
        xp.arange(0, 3, {})
        xp.arange({} - 1, {})
        xp.linspace(0, {}, 3)
        xp.linspace({}, 0, 3)
        xp.logspace(0, 1, {})
        xp.eye(2, {})
        xp.tri(2, {})
        xp.indices(({}, 0)).shape
        xp.indices(({},))
        xp.vander([1, 2], {})
        xp.fromiter([1, 2], 'i4', {})
        xp.frombuffer(b'1234', 'u1', {})
        xp.frombuffer(b'1234', 'u1', 1, {})
        xp.fromstring('1 2', count={}, sep=' ')
        xp.kaiser(3, {})
        """
    ),
]
ARGUMENTS = _filled(
    """
    xp.take(X, {}, mode='wrap')
    xp.take(X, {}, mode='clip')
    xp.take(X, [{}])
    xp.take(X, [{}], mode='wrap')
    xp.choose([{}], [[1, 2], [3, 4]])
    xp.choose([{}], [[1, 2], [3, 4]], mode='wrap')
    xp.choose([{}], [[1, 2], [3, 4]], mode='clip')
    xp.put(xp.arange(3), {}, 1)
    xp.put(xp.arange(3), {}, 1, 'wrap')
    xp.take_along_axis(xp.arange(3), xp.array([{}]), 0)
    xp.split(xp.arange(6), {})
    xp.split(xp.arange(6), [{}])
    xp.array_split(xp.arange(6), {})
    xp.unpackbits(xp.array([7], 'u1'), count={})
    xp.histogram(xp.arange(6.), {})
    xp.histogram(xp.arange(6.), 3, ({}, 9))
    xp.histogram(xp.arange(6.), 3, (0, {}))
    xp.histogram2d(xp.arange(6.), xp.arange(6.), {})
    xp.bincount([0, 2], minlength={})
    xp.bincount([{}])
    xp.pad(xp.arange(3), {})
    xp.pad(xp.arange(3), ({}, 0))
    xp.pad(xp.arange(3), 1, constant_values={})
    xp.pad(xp.arange(3), {}, 'reflect')
    xp.pad(xp.arange(3), {}, 'wrap')
    xp.pad(xp.arange(3), 1, 'mean', stat_length={})
    xp.roll(X, {})
    xp.roll(X, ({}, 1), (0, 1))
    xp.tile(X, ({}, 0)).shape
    xp.repeat(X, [{}, 1, 1], 0)
    xp.resize(X, ({}, 0)).shape
    xp.broadcast_to(X, ({}, 3, 3)).shape
    xp.insert(X, {}, 1)
    xp.insert(X, [{}], 1)
    xp.delete(X, {})
    xp.delete(X, [{}])
    xp.unravel_index({}, (3, 4))
    xp.unravel_index(1, ({}, 4))
    xp.ravel_multi_index(({}, 1), (3, 4))
    xp.ravel_multi_index(({}, 1), (3, 4), mode='wrap')
    xp.ravel_multi_index((1, 1), ({}, 4))
    xp.quantile(X, {})
    xp.percentile(X, {})
    xp.unwrap([1., 2.], period={})
    xp.nan_to_num([1., xp.nan], nan={})
    xp.clip([1, 2], {}, 5)
    xp.clip([1., 2.], 0, {})
    xp.convolve([1, 2], [{}, 1])
    xp.searchsorted([1, 2], {})
    xp.digitize({}, [1, 2])
    xp.isclose([1, 2], {})
    xp.power([2, 3], {})
    xp.ldexp([1., 2.], {})
    xp.apply_over_axes(xp.sum, xp.ones((2, 3)), {})
    xp.gradient([1., 2., 4.], {})
    xp.gradient([1., 2., 4.], edge_order={})
    xp.trapezoid([1., 2.], dx={})
    xp.add.reduce([1, 2], {})
    xp.add.reduceat([1, 2], [{}])
    xp.add.at(xp.arange(3), {}, 1)
    xp.einsum('ii', xp.ones((2, 2)), optimize={})
    xp.polyval([1, 2], {})
    xp.moveaxis(xp.ones((2, 3)), {}, 0)
    xp.tensordot(xp.ones((2, 3)), xp.ones((3, 2)), {})
    xp.reshape(xp.ones((2, 3)), ({}, 2))
    xp.round(xp.array([15, 25]), {})
    xp.round(xp.array([1.5], 'f4'), {})
    xp.round(xp.array([1.5j]), {})
    xp.stack([[1], [2]], {})
    xp.squeeze([[1]], {})
    """,
    X=MATRIX,
)
DISTRIBUTIONS = _filled(
    """
    normal(0, 1, {})
    normal({})
    normal(0, {})
    standard_normal({})
    uniform(0, {})
    uniform(size={})
    binomial({}, 0.5)
    binomial(5, {})
    poisson({})
    gamma({})
    exponential({})
    geometric({})
    beta({}, 1)
    chisquare({})
    hypergeometric({}, 5, 3)
    hypergeometric(5, 5, {})
    negative_binomial({}, 0.5)
    zipf({})
    logseries({})
    multinomial({}, [0.5, 0.5])
    triangular(0, 1, {})
    vonmises(0, {})
    wald(1, {})
    weibull({})
    pareto({})
    power({})
    rayleigh({})
    standard_gamma({})
    standard_t({})
    f({}, 1)
    laplace(0, {})
    logistic(0, {})
    lognormal(0, {})
    gumbel(0, {})
    noncentral_chisquare({}, 1)
    noncentral_f({}, 1, 1)
    standard_cauchy({})
    multivariate_normal([0., 0.], [[1., 0.], [0., 1.]], {})
    choice({})
    choice(5, {})
    permutation({})
    bytes({})
    """
)
OF_GENERATORS = _filled(
    """
    random({})
    integers({})
    integers(0, {})
    integers({}, 2**63)
    integers(5, size={})
    integers(5, size=({}, 0))
    permuted([1, 2], axis={})
    shuffle([1, 2], {})
    dirichlet([1., 2.], {})
    """
)
OF_LEGACY = _filled(
    """
    random_sample({})
    randint({})
    randint(0, {})
    randint({}, 2**63)
    randint(5, size={})
    rand({})
    randn({})
    """
)
RANDOM = [
    *(f"xp.random.default_rng(1).{call}" for call in (*DISTRIBUTIONS, *OF_GENERATORS)),
    *(f"xp.random.RandomState(1).{call}" for call in (*DISTRIBUTIONS, *OF_LEGACY)),
    *("xp.random.default_rng({})", "xp.random.RandomState({})", "xp.random.SeedSequence({})"),
    "xp.random.default_rng([{}])",
]
