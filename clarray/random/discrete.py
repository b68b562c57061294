"""Distributions on the integers. They are computed in float64, which the device must have, and give int64."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray
from clarray._numpy.indexing.selecting import chosen
from clarray.random.draws import FLOAT64, INT64, Source, apply, check, given
from clarray.random.single_numbers import gives_numbers

__all__ = ["Discrete"]

LARGEST = 9.2e18  # whole numbers beyond do not fit int64


class Discrete(Source):
    """The methods that count.

    Parameters broadcast; `size` is the shape of the result, that of the parameters broadcast when None. A parameter
    that NumPy refuses raises NumPy's ValueError, a device without float64 TypeError.
    """

    @gives_numbers
    def poisson(self, lam: Any = 1.0, size: Any = None) -> DeviceArray:
        """Draw from Poisson's distribution.

        Parameters
        ----------
        lam : float or array_like
            The mean, not negative.
        size : int or tuple of int, optional
            Shape; that of the parameters broadcast when None.

        Returns
        -------
        DeviceArray of int64

        Raises
        ------
        ValueError
            A parameter is one that NumPy refuses, or does not fit the shape.
        TypeError
            The device lacks float64.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.poisson([1.0, 5.0, 25.0])
        >>> x.shape, x.dtype
        ((3,), dtype('int64'))
        """
        draw = self._draw("poisson", (lam,), size)
        return draw.result(draw.counted("poisson", *draw.parameters))

    @gives_numbers
    def binomial(self, n: Any, p: Any, size: Any = None) -> DeviceArray:
        """Draw how many of some trials succeed.

        Further parameters, and errors, as in `poisson`.

        Parameters
        ----------
        n : int or array_like of int
            How many trials, not negative.
        p : float or array_like
            Probability that one succeeds.
        """
        draw = self._draw("binomial", (n, p), size, kinds=(INT64, FLOAT64))
        return draw.result(draw.counted("binomial", *draw.parameters))

    @gives_numbers
    def negative_binomial(self, n: Any, p: Any, size: Any = None) -> DeviceArray:
        """Draw how many trials fail before a number of them succeed.

        Further parameters, and errors, as in `poisson`.

        Parameters
        ----------
        n : float or array_like
            How many succeed, positive.
        p : float or array_like
            Probability that one succeeds.
        """
        draw = self._draw("negative_binomial", (n, p), size)
        n, p = draw.parameters
        return draw.result(draw.counted("poisson", draw.gamma(n) * ((1 - p) / p)))

    @gives_numbers
    def geometric(self, p: Any, size: Any = None) -> DeviceArray:
        """Draw how many trials there are until one succeeds.

        Further parameters, and errors, as in `poisson`.

        Parameters
        ----------
        p : float or array_like
            Probability that one succeeds, above 0.
        """
        draw = self._draw("geometric", (p,), size)
        (p,) = draw.parameters
        rate = -apply("onelog", -p, FLOAT64)
        trials = np.maximum(np.ceil(draw.exponential() / rate), 1)
        fitting = chosen(trials < LARGEST, trials, 0).astype(INT64)
        return draw.result(chosen(trials < LARGEST, fitting, np.iinfo(np.int64).max))

    @gives_numbers
    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Any = None) -> DeviceArray:
        """Draw how many good ones are among those taken without replacement.

        Further parameters, and errors, as in `poisson`.

        Parameters
        ----------
        ngood, nbad : int or array_like of int
            How many good and bad ones there are.
        nsample : int or array_like of int
            How many are taken.
        """
        values = tuple(given(v) for v in (ngood, nbad, nsample))
        arrays = any(isinstance(v, DeviceArray | np.ndarray) for v in values)
        if arrays:
            # the extremes of different parameters need not belong together: each is judged alone
            for place, value in enumerate(values):
                alone: list[Any] = [500_000_000, 500_000_000, 0]
                alone[place] = value
                check("hypergeometric", tuple(alone))
            good, bad, sample = values
            if bool((good + bad < sample).any()):
                raise ValueError("ngood + nbad < nsample")
        draw = self._draw("hypergeometric", values, size, kinds=(INT64,) * 3, checked=arrays)
        return draw.result(draw.counted("hypergeometric", *draw.parameters))

    @gives_numbers
    def logseries(self, p: Any, size: Any = None) -> DeviceArray:
        """Draw from the logarithmic series distribution: k has a probability as ``p**k / k``.

        Further parameters, and errors, as in `poisson`.

        Parameters
        ----------
        p : float or array_like
            Of [0, 1).
        """
        draw = self._draw("logseries", (p,), size)
        return draw.result(draw.counted("logseries", *draw.parameters))

    @gives_numbers
    def zipf(self, a: Any, size: Any = None) -> DeviceArray:
        """Draw from Zipf's distribution: k has a probability as ``k**-a``.

        Further parameters, and errors, as in `poisson`.

        Parameters
        ----------
        a : float or array_like
            Above 1.
        """
        draw = self._draw("zipf", (a,), size)
        return draw.result(draw.counted("zipf", *draw.parameters))
