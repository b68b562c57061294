"""The gamma distribution, and distributions computed from gamma variates."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray
from clarray._core.own_frames import with_boundaries
from clarray._core.writes import with_device_lock
from clarray.random.draws import Draw, Number, Source, apply
from clarray.random.single_numbers import with_prefetched_scalars

__all__ = ["Gammas"]


@with_boundaries
class Gammas(Source):
    """Draw gamma variates, and numbers computed from them; parameters as in `Continuous`."""

    @with_prefetched_scalars
    @with_device_lock("out")
    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = np.float64, out: Any = None) -> DeviceArray:
        """Draw numbers from the gamma distribution with scale 1.

        Parameters
        ----------
        shape : float or array_like
            Shape of the distribution, at least 0. It is the mean, too.
        size : int or tuple of int, optional
            Shape of the result. None takes the shape of `out`, or of the parameter `shape` if that is an array.
        dtype : dtype, optional
            float64 or float32.
        out : DeviceArray, optional
            Array of that dtype that receives the numbers. Its shape is the shape of the result.

        Returns
        -------
        float or DeviceArray
            A float if neither `size` nor `out` is given and `shape` is a scalar.

        Raises
        ------
        ValueError
            `shape` is negative, or a shape does not fit.
        TypeError
            `dtype` is another dtype, or not the dtype of `out`, or the device lacks float64.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.standard_gamma(2.0, size=10000)
        >>> bool(x.min() >= 0), bool(abs(x.mean() - 2) < 0.1)
        (True, True)
        """
        draw = self._draw("standard_gamma", (shape,), size, dtype, out)
        return draw.result(draw.gamma(*draw.parameters))

    @with_prefetched_scalars
    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw numbers from the gamma distribution. Their mean is ``shape * scale``.

        The parameters `size` and `dtype`, the result and the errors are as in `clarray.random.normal`.

        Parameters
        ----------
        shape : float or array_like
            Shape of the distribution, at least 0.
        scale : float or array_like
            Factor of all numbers, at least 0.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.gamma(2.0, [1.0, 3.0], size=(10000, 2))
        >>> bool((abs(x.mean(axis=0) - [2.0, 6.0]) < 0.3).all())
        True
        """
        draw = self._draw("gamma", (shape, scale), size, dtype)
        shape, scale = draw.parameters
        return draw.result(draw.gamma(shape) * scale)

    @with_prefetched_scalars
    def beta(self, a: Any, b: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw numbers in [0, 1] from the beta distribution. Their mean is ``a / (a + b)``.

        The parameters `size` and `dtype`, the result and the errors are as in `clarray.random.normal`.

        Parameters
        ----------
        a, b : float or array_like
            Shapes of the distribution, above 0.

        Notes
        -----
        Each number is one gamma variate divided by the sum of two. It is computed from their logarithms.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.beta(2.0, 3.0, size=10000)
        >>> bool(x.min() >= 0), bool(x.max() <= 1), bool(abs(x.mean() - 0.4) < 0.1)
        (True, True, True)
        """
        draw = self._draw("beta", (a, b), size, dtype)
        a, b = draw.parameters
        difference = draw.sample("loggamma", b) - draw.sample("loggamma", a)
        return draw.result(1 / (1 + apply("exp", difference, draw.dtype)))

    @with_prefetched_scalars
    def chisquare(self, df: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw numbers from the chi-square distribution: sums of `df` squares of standard normal numbers.

        The parameters `size` and `dtype`, the result and the errors are as in `clarray.random.normal`.

        Parameters
        ----------
        df : float or array_like
            Number of squares (degrees of freedom), above 0. It is the mean, too.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.chisquare(3, size=10000)
        >>> bool(x.min() >= 0), bool(abs(x.mean() - 3) < 0.2)
        (True, True)
        """
        draw = self._draw("chisquare", (df,), size, dtype)
        return draw.result(_chisquare(draw, draw.parameters[0]))

    @with_prefetched_scalars
    def noncentral_chisquare(self, df: Any, nonc: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw sums of squares of normal numbers that have standard deviation 1 and any means.

        The parameters `size` and `dtype`, the result and the errors are as in `clarray.random.normal`.

        Parameters
        ----------
        df : float or array_like
            Number of squares (degrees of freedom), above 0.
        nonc : float or array_like
            Sum of the squares of the means, at least 0.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.noncentral_chisquare(3, 1.0, size=10000)
        >>> bool(abs(x.mean() - 4) < 0.2)
        True
        """
        draw = self._draw("noncentral_chisquare", (df, nonc), size, dtype)
        return draw.result(_noncentral_chisquare(draw, *draw.parameters))

    @with_prefetched_scalars
    def f(self, dfnum: Any, dfden: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw numbers from the F distribution: the quotient of two means of squares of standard normal numbers.

        The parameters `size` and `dtype`, the result and the errors are as in `clarray.random.normal`.

        Parameters
        ----------
        dfnum, dfden : float or array_like
            Numbers of squares in the numerator and in the denominator, above 0.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.f(5, 10, size=10000)
        >>> bool(abs(x.mean() - 1.25) < 0.1)
        True
        """
        draw = self._draw("f", (dfnum, dfden), size, dtype)
        dfnum, dfden = draw.parameters
        return draw.result(_chisquare(draw, dfnum) * dfden / (_chisquare(draw, dfden) * dfnum))

    @with_prefetched_scalars
    def noncentral_f(
        self, dfnum: Any, dfden: Any, nonc: Any, size: Any = None, *, dtype: Any = np.float64
    ) -> DeviceArray:
        """Draw numbers from the noncentral F distribution: the normal numbers of the numerator may have any means.

        The parameters `size` and `dtype`, the result and the errors are as in `clarray.random.normal`.

        Parameters
        ----------
        dfnum, dfden : float or array_like
            Numbers of squares in the numerator and in the denominator, above 0.
        nonc : float or array_like
            Sum of the squares of the means in the numerator, at least 0.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.noncentral_f(5, 10, 2.0, size=10000)
        >>> bool(abs(x.mean() - 1.75) < 0.2)
        True
        """
        draw = self._draw("noncentral_f", (dfnum, dfden, nonc), size, dtype)
        dfnum, dfden, nonc = draw.parameters
        return draw.result(_noncentral_chisquare(draw, dfnum, nonc) * dfden / (_chisquare(draw, dfden) * dfnum))

    @with_prefetched_scalars
    def standard_t(self, df: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw numbers from Student's t distribution.

        The parameters `size` and `dtype`, the result and the errors are as in `clarray.random.normal`.

        Parameters
        ----------
        df : float or array_like
            Degrees of freedom, above 0.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.standard_t(10, size=10000)
        >>> bool(abs(x.mean()) < 0.1), bool(abs(x.var() - 1.25) < 0.2)
        (True, True)
        """
        draw = self._draw("standard_t", (df,), size, dtype)
        (df,) = draw.parameters
        return draw.result(draw.normal() * np.sqrt(df / _chisquare(draw, df)))


def _chisquare(draw: Draw, df: Number) -> DeviceArray:
    return draw.gamma(df / 2) * 2


def _noncentral_chisquare(draw: Draw, df: Number, nonc: Number) -> DeviceArray:
    """Draw noncentral chi-square numbers: central ones, with twice a Poisson variate more degrees of freedom."""
    poisson = draw.sample("poisson", nonc / 2, out=np.dtype(np.int64))
    return _chisquare(draw, df + 2 * poisson.astype(draw.dtype))
