"""Distributions on the integers. They are computed in float64, which the device must have, and return int64."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray
from clarray._core.own_frames import with_boundaries
from clarray._numpy.indexing.selecting import lazy_where
from clarray.random.draws import FLOAT64, INT64, Source, apply, as_host_or_device, check_with_numpy
from clarray.random.single_numbers import with_prefetched_scalars

__all__ = ["Discrete"]

LARGEST = 9.2e18  # larger numbers do not fit int64


@with_boundaries
class Discrete(Source):
    """Draw whole numbers.

    Parameters broadcast. `size` is the shape of the result; None takes the broadcast shape of the parameters. A
    parameter that NumPy refuses raises NumPy's ValueError, a device without float64 TypeError.
    """

    @with_prefetched_scalars
    def poisson(self, lam: Any = 1.0, size: Any = None) -> DeviceArray:
        """Draw integers from the Poisson distribution.

        Parameters
        ----------
        lam : float or array_like
            Mean, at least 0.
        size : int or tuple of int, optional
            Shape of the result. None takes the broadcast shape of the parameters.

        Returns
        -------
        int or DeviceArray of int64
            An int if `size` is None and the parameters are scalars.

        Raises
        ------
        ValueError
            NumPy refuses a parameter, or a parameter does not broadcast to `size`.
        TypeError
            The device lacks float64.

        Notes
        -----
        Parameters that are device arrays are checked first, which waits for the device.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.poisson([1.0, 5.0, 25.0], size=(1000, 3))
        >>> x.shape, x.dtype
        ((1000, 3), dtype('int64'))
        >>> bool((abs(x.mean(axis=0) - [1.0, 5.0, 25.0]) < 1).all())
        True
        """
        draw = self._draw("poisson", (lam,), size)
        return draw.result(draw.sample_integers("poisson", *draw.parameters))

    @with_prefetched_scalars
    def binomial(self, n: Any, p: Any, size: Any = None) -> DeviceArray:
        """Draw the number of successes among `n` trials.

        The parameter `size`, the result and the errors are as in `poisson`.

        Parameters
        ----------
        n : int or array_like of int
            Number of trials, at least 0.
        p : float or array_like
            Probability that a trial succeeds.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.binomial(10, 0.5, size=10000)
        >>> bool(x.min() >= 0), bool(x.max() <= 10), bool(abs(x.mean() - 5) < 0.1)
        (True, True, True)
        """
        draw = self._draw("binomial", (n, p), size, kinds=(INT64, FLOAT64))
        return draw.result(draw.sample_integers("binomial", *draw.parameters))

    @with_prefetched_scalars
    def negative_binomial(self, n: Any, p: Any, size: Any = None) -> DeviceArray:
        """Draw the number of trials that fail before `n` trials have succeeded.

        The parameter `size`, the result and the errors are as in `poisson`.

        Parameters
        ----------
        n : float or array_like
            Number of successes, above 0.
        p : float or array_like
            Probability that a trial succeeds.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.negative_binomial(3, 0.5, size=10000)
        >>> bool(abs(x.mean() - 3) < 0.2)
        True
        """
        draw = self._draw("negative_binomial", (n, p), size)
        n, p = draw.parameters
        return draw.result(draw.sample_integers("poisson", draw.gamma(n) * ((1 - p) / p)))

    @with_prefetched_scalars
    def geometric(self, p: Any, size: Any = None) -> DeviceArray:
        """Draw the number of trials up to the first success, at least 1.

        The parameter `size`, the result and the errors are as in `poisson`.

        Parameters
        ----------
        p : float or array_like
            Probability that a trial succeeds, above 0.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.geometric(0.25, size=10000)
        >>> int(x.min()), bool(abs(x.mean() - 4) < 0.2)
        (1, True)
        """
        draw = self._draw("geometric", (p,), size)
        (p,) = draw.parameters
        rate = -apply("onelog", -p, FLOAT64)
        trials = np.maximum(np.ceil(draw.exponential() / rate), 1)
        fitting = lazy_where(trials < LARGEST, trials, 0).astype(INT64)
        return draw.result(lazy_where(trials < LARGEST, fitting, np.iinfo(np.int64).max))

    @with_prefetched_scalars
    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Any = None) -> DeviceArray:
        """Draw the number of good items in a sample without replacement from good and bad items.

        The parameter `size`, the result and the errors are as in `poisson`.

        Parameters
        ----------
        ngood, nbad : int or array_like of int
            Numbers of good and of bad items, at least 0.
        nsample : int or array_like of int
            Size of the sample, at most ``ngood + nbad``.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.hypergeometric(5, 3, 4, size=10000)
        >>> int(x.min()), int(x.max()), bool(abs(x.mean() - 2.5) < 0.1)
        (1, 4, True)
        """
        values = tuple(as_host_or_device(v) for v in (ngood, nbad, nsample))
        arrays = any(isinstance(v, DeviceArray | np.ndarray) for v in values)
        if arrays:
            # check each parameter alone: the extremes of two parameters may belong to different elements
            for position, parameter in enumerate(values):
                probe: list[Any] = [500_000_000, 500_000_000, 0]
                probe[position] = parameter
                check_with_numpy("hypergeometric", tuple(probe))
            good, bad, sample = values
            if bool((good + bad < sample).any()):
                raise ValueError("ngood + nbad < nsample")
        else:
            check_with_numpy("hypergeometric", values)
        draw = self._draw_unchecked("hypergeometric", values, size, FLOAT64, None, (INT64,) * 3)
        return draw.result(draw.sample_integers("hypergeometric", *draw.parameters))

    @with_prefetched_scalars
    def logseries(self, p: Any, size: Any = None) -> DeviceArray:
        """Draw integers from the logarithmic series distribution: the probability of k is proportional to ``p**k / k``.

        The parameter `size`, the result and the errors are as in `poisson`.

        Parameters
        ----------
        p : float or array_like
            Shape of the distribution, at least 0 and below 1.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.logseries(0.5, size=10000)
        >>> int(x.min()), bool(abs(x.mean() - 1.443) < 0.1)
        (1, True)
        """
        draw = self._draw("logseries", (p,), size)
        return draw.result(draw.sample_integers("logseries", *draw.parameters))

    @with_prefetched_scalars
    def zipf(self, a: Any, size: Any = None) -> DeviceArray:
        """Draw integers from the Zipf distribution: the probability of k is proportional to ``k**-a``.

        The parameter `size`, the result and the errors are as in `poisson`.

        Parameters
        ----------
        a : float or array_like
            Shape of the distribution, above 1.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.zipf(4.0, size=10000)
        >>> int(x.min()), bool(abs(x.mean() - 1.111) < 0.1)
        (1, True)
        """
        draw = self._draw("zipf", (a,), size)
        return draw.result(draw.sample_integers("zipf", *draw.parameters))
