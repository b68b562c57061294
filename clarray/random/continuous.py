"""Distributions that a formula makes of uniform, normal or exponential numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray
from clarray._core.writes import one_hold
from clarray._numpy.indexing.selecting import chosen
from clarray.random.draws import Source, apply
from clarray.random.single_numbers import gives_numbers

__all__ = ["Continuous"]


class Continuous(Source):
    """The methods that transform one or two numbers per element.

    Parameters broadcast; `size` is the shape of the result, that of the parameters broadcast when None; `dtype` is
    float64 or float32. A parameter that NumPy refuses raises NumPy's ValueError.
    """

    @gives_numbers
    @one_hold("out")
    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> DeviceArray:
        """Draw normal numbers of mean 0 and deviation 1, by the inverse of their distribution function.

        Parameters
        ----------
        size : int or tuple of int, optional
        dtype : dtype, optional
            float64 or float32.
        out : DeviceArray, optional
            Where the numbers shall be written.

        Returns
        -------
        DeviceArray
        """
        draw = self._draw("standard_normal", (), size, dtype, out)
        return draw.result(draw.normal())

    @gives_numbers
    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw normal numbers.

        Parameters
        ----------
        loc, scale : float or array_like
            Mean and standard deviation.
        size : int or tuple of int, optional
            Shape; that of the parameters broadcast when None.
        dtype : dtype, optional
            float64 or float32.

        Returns
        -------
        DeviceArray

        Raises
        ------
        ValueError
            A parameter is one that NumPy refuses, or does not fit the shape.
        TypeError
            The dtype is another one, or the device lacks it.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.normal(10.0, [1.0, 2.0], size=(1000, 2), dtype=clarray.float32)
        >>> x.shape, x.dtype
        ((1000, 2), dtype('float32'))
        """
        draw = self._draw("normal", (loc, scale), size, dtype)
        loc, scale = draw.parameters
        return draw.result(draw.normal() * scale + loc)

    @gives_numbers
    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw numbers whose logarithm is normal.

        Further parameters, and errors, as in `normal`.

        Parameters
        ----------
        mean, sigma : float or array_like
            Mean and standard deviation of the logarithm.
        """
        draw = self._draw("lognormal", (mean, sigma), size, dtype)
        mean, sigma = draw.parameters
        return draw.result(apply("exp", draw.normal() * sigma + mean, draw.dtype))

    @gives_numbers
    @one_hold("out")
    def standard_exponential(
        self, size: Any = None, dtype: Any = np.float64, method: str = "zig", out: Any = None
    ) -> DeviceArray:
        """Draw exponential numbers of mean 1.

        Parameters
        ----------
        size : int or tuple of int, optional
        dtype : dtype, optional
            float64 or float32.
        method : {'zig', 'inv'}, optional
            Accepted for NumPy's sake: both take the logarithm.
        out : DeviceArray, optional
            Where the numbers shall be written.

        Returns
        -------
        DeviceArray
        """
        draw = self._draw("standard_exponential", (), size, dtype, out)
        return draw.result(draw.exponential())

    @gives_numbers
    def exponential(self, scale: Any = 1.0, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw exponential numbers.

        Further parameters, and errors, as in `normal`.

        Parameters
        ----------
        scale : float or array_like
            The mean, not negative.
        """
        draw = self._draw("exponential", (scale,), size, dtype)
        (scale,) = draw.parameters
        return draw.result(draw.exponential() * scale)

    @gives_numbers
    def standard_cauchy(self, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw from Cauchy's distribution: the quotient of two normal numbers.

        Further parameters, and errors, as in `normal`.
        """
        draw = self._draw("standard_cauchy", (), size, dtype)
        return draw.result(draw.normal() / draw.normal())

    @gives_numbers
    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw from Laplace's distribution, exponential on both sides of its centre.

        Further parameters, and errors, as in `normal`.

        Parameters
        ----------
        loc : float or array_like
            The centre.
        scale : float or array_like
            The mean distance from it, not negative.
        """
        draw = self._draw("laplace", (loc, scale), size, dtype)
        loc, scale = draw.parameters
        u = draw.inside()
        below = u < 0.5
        log = apply("log", 2 * chosen(below, u, 1 - u), draw.dtype)
        return draw.result(chosen(below, log, -log) * scale + loc)

    @gives_numbers
    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw from Gumbel's distribution, that of the largest of many exponential numbers.

        Further parameters, and errors, as in `normal`.

        Parameters
        ----------
        loc : float or array_like
            Where the density is greatest.
        scale : float or array_like
            Not negative.
        """
        draw = self._draw("gumbel", (loc, scale), size, dtype)
        loc, scale = draw.parameters
        return draw.result(loc - apply("log", draw.exponential(), draw.dtype) * scale)

    @gives_numbers
    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw from the logistic distribution.

        Further parameters, and errors, as in `normal`.

        Parameters
        ----------
        loc : float or array_like
            The mean.
        scale : float or array_like
            Not negative.
        """
        draw = self._draw("logistic", (loc, scale), size, dtype)
        loc, scale = draw.parameters
        u = draw.inside()
        return draw.result(apply("log", u / (1 - u), draw.dtype) * scale + loc)

    @gives_numbers
    def rayleigh(self, scale: Any = 1.0, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw lengths of plane vectors whose parts are normal.

        Further parameters, and errors, as in `normal`.

        Parameters
        ----------
        scale : float or array_like
            Standard deviation of the parts, not negative.
        """
        draw = self._draw("rayleigh", (scale,), size, dtype)
        (scale,) = draw.parameters
        return draw.result(np.sqrt(2 * draw.exponential()) * scale)

    @gives_numbers
    def weibull(self, a: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw from Weibull's distribution: exponential numbers to the power ``1 / a``.

        Further parameters, and errors, as in `normal`.

        Parameters
        ----------
        a : float or array_like
            Not negative; where it is 0, so are the numbers.
        """
        draw = self._draw("weibull", (a,), size, dtype)
        (a,) = draw.parameters
        if not isinstance(a, DeviceArray):
            if a == 0:
                return draw.result(draw.unit() * 0)
            return draw.result(apply("exp", apply("log", draw.exponential(), draw.dtype) / a, draw.dtype))
        powers = apply("exp", apply("log", draw.exponential(), draw.dtype) / chosen(a == 0, 1, a), draw.dtype)
        return draw.result(chosen(a == 0, 0, powers))

    @gives_numbers
    def pareto(self, a: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw from Lomax's distribution, Pareto's moved to 0.

        Further parameters, and errors, as in `normal`.

        Parameters
        ----------
        a : float or array_like
            Its shape, positive.
        """
        draw = self._draw("pareto", (a,), size, dtype)
        (a,) = draw.parameters
        return draw.result(apply("expone", draw.exponential() / a, draw.dtype))

    @gives_numbers
    def power(self, a: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw numbers of [0, 1] whose density is as ``x**(a - 1)``.

        Further parameters, and errors, as in `normal`.

        Parameters
        ----------
        a : float or array_like
            Positive.
        """
        draw = self._draw("power", (a,), size, dtype)
        (a,) = draw.parameters
        return draw.result(apply("exp", draw.exponential() / a * -1, draw.dtype))

    @gives_numbers
    def triangular(self, left: Any, mode: Any, right: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw numbers whose density is a triangle.

        Further parameters as in `normal`.

        Parameters
        ----------
        left, mode, right : float or array_like
            Where the triangle begins, has its top, and ends.

        Raises
        ------
        ValueError
            They are not in this order, or `left` and `right` are equal.
        """
        draw = self._draw("triangular", (left, mode, right), size, dtype)
        left, mode, right = draw.parameters
        tests = {"left > mode": left > mode, "mode > right": mode > right, "left == right": left == right}
        for message, test in tests.items():
            if isinstance(test, DeviceArray) and bool(test.any()):
                raise ValueError(message)
        u = draw.unit()
        base = right - left
        rising = left + np.sqrt(u * ((mode - left) * base))
        falling = right - np.sqrt((1 - u) * ((right - mode) * base))
        return draw.result(chosen(u * base <= mode - left, rising, falling))

    @gives_numbers
    def wald(self, mean: Any, scale: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw from Wald's (inverse Gaussian) distribution.

        Further parameters, and errors, as in `normal`.

        Parameters
        ----------
        mean, scale : float or array_like
            Both positive.
        """
        draw = self._draw("wald", (mean, scale), size, dtype)
        mean, scale = draw.parameters
        z = draw.normal()
        # Michael, Schucany & Haas 1976: one of the two roots of a quadratic, the smaller one without cancellation
        half = z * z * mean / (2 * scale)
        root = 1 / (1 + half + np.sqrt(half * (half + 2)))
        return draw.result(chosen(draw.unit() * (1 + root) <= 1, root, 1 / root) * mean)

    @gives_numbers
    def vonmises(self, mu: Any, kappa: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw angles of [-pi, pi] from von Mises' distribution.

        Further parameters, and errors, as in `normal`.

        Parameters
        ----------
        mu : float or array_like
            The angle around which they lie, in radians.
        kappa : float or array_like
            The larger, the closer; not negative.
        """
        draw = self._draw("vonmises", (mu, kappa), size, dtype)
        mu, kappa = draw.parameters
        angle = draw.drawn("vonmises", kappa) + mu
        turns = np.floor(angle * (0.5 / np.pi) + 0.5)
        return draw.result(angle - turns * (2 * np.pi))
