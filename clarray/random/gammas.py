"""The gamma distribution, and those that are made of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray
from clarray._core.writes import one_hold
from clarray.random.draws import Draw, Number, Source, apply
from clarray.random.single_numbers import gives_numbers

__all__ = ["Gammas"]


class Gammas(Source):
    """The methods that draw gamma variates; parameters as in `Continuous`."""

    @gives_numbers
    @one_hold("out")
    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = np.float64, out: Any = None) -> DeviceArray:
        """Draw from the gamma distribution of scale 1.

        Parameters
        ----------
        shape : float or array_like
        size : int or tuple of int, optional
        dtype : dtype, optional
            float64 or float32.
        out : DeviceArray, optional
            Where the numbers shall be written.

        Returns
        -------
        DeviceArray
        """
        draw = self._draw("standard_gamma", (shape,), size, dtype, out)
        return draw.result(draw.gamma(*draw.parameters))

    @gives_numbers
    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw from the gamma distribution.

        Further parameters, and errors, as in `clarray.random.normal`.

        Parameters
        ----------
        shape, scale : float or array_like
            Not negative.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> rng.gamma(2.0, [1.0, 3.0]).shape
        (2,)
        """
        draw = self._draw("gamma", (shape, scale), size, dtype)
        shape, scale = draw.parameters
        return draw.result(draw.gamma(shape) * scale)

    @gives_numbers
    def beta(self, a: Any, b: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw from the beta distribution: the share of one of two gamma variates, from their logarithms.

        Further parameters, and errors, as in `clarray.random.normal`.

        Parameters
        ----------
        a, b : float or array_like
            Shapes of the two, positive.
        """
        draw = self._draw("beta", (a, b), size, dtype)
        a, b = draw.parameters
        difference = draw.drawn("loggamma", b) - draw.drawn("loggamma", a)
        return draw.result(1 / (1 + apply("exp", difference, draw.dtype)))

    @gives_numbers
    def chisquare(self, df: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw sums of squares of standard normal numbers.

        Further parameters, and errors, as in `clarray.random.normal`.

        Parameters
        ----------
        df : float or array_like
            How many squares, positive.
        """
        draw = self._draw("chisquare", (df,), size, dtype)
        return draw.result(_chisquare(draw, draw.parameters[0]))

    @gives_numbers
    def noncentral_chisquare(self, df: Any, nonc: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw sums of squares of normal numbers of deviation 1.

        Further parameters, and errors, as in `clarray.random.normal`.

        Parameters
        ----------
        df : float or array_like
            How many squares, positive.
        nonc : float or array_like
            The sum of the squares of their means, not negative.
        """
        draw = self._draw("noncentral_chisquare", (df, nonc), size, dtype)
        return draw.result(_noncentral(draw, *draw.parameters))

    @gives_numbers
    def f(self, dfnum: Any, dfden: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw from Fisher's F distribution: the quotient of two mean squares.

        Further parameters, and errors, as in `clarray.random.normal`.

        Parameters
        ----------
        dfnum, dfden : float or array_like
            How many squares are above and below, positive.
        """
        draw = self._draw("f", (dfnum, dfden), size, dtype)
        dfnum, dfden = draw.parameters
        return draw.result(_chisquare(draw, dfnum) * dfden / (_chisquare(draw, dfden) * dfnum))

    @gives_numbers
    def noncentral_f(
        self, dfnum: Any, dfden: Any, nonc: Any, size: Any = None, *, dtype: Any = np.float64
    ) -> DeviceArray:
        """Draw from the F distribution whose upper mean square is not central.

        Further parameters, and errors, as in `clarray.random.normal`.

        Parameters
        ----------
        dfnum, dfden : float or array_like
            How many squares are above and below, positive.
        nonc : float or array_like
            The sum of the squares of the means above, not negative.
        """
        draw = self._draw("noncentral_f", (dfnum, dfden, nonc), size, dtype)
        dfnum, dfden, nonc = draw.parameters
        return draw.result(_noncentral(draw, dfnum, nonc) * dfden / (_chisquare(draw, dfden) * dfnum))

    @gives_numbers
    def standard_t(self, df: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw from Student's t distribution.

        Further parameters, and errors, as in `clarray.random.normal`.

        Parameters
        ----------
        df : float or array_like
            Degrees of freedom, positive.
        """
        draw = self._draw("standard_t", (df,), size, dtype)
        (df,) = draw.parameters
        return draw.result(draw.normal() * np.sqrt(df / _chisquare(draw, df)))


def _chisquare(draw: Draw, df: Number) -> DeviceArray:
    return draw.gamma(df / 2) * 2


def _noncentral(draw: Draw, df: Number, nonc: Number) -> DeviceArray:
    """A central one whose degrees of freedom grow by twice a Poisson variate."""
    more = draw.drawn("poisson", nonc / 2, out=np.dtype(np.int64))
    return _chisquare(draw, df + 2 * more.astype(draw.dtype))
