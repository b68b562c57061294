"""Distributions computed by a formula from uniform, normal or exponential numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray
from clarray._core.own_frames import with_boundaries
from clarray._core.writes import with_device_lock
from clarray._numpy.indexing.selecting import lazy_where
from clarray.random.draws import Source, apply
from clarray.random.single_numbers import with_prefetched_scalars

__all__ = ["Continuous"]


@with_boundaries
class Continuous(Source):
    """Draw numbers that a formula computes from one or two simple random numbers per element.

    Parameters broadcast. `size` is the shape of the result; None takes the broadcast shape of the parameters. `dtype`
    is float64 or float32. A parameter that NumPy refuses raises NumPy's ValueError.
    """

    @with_prefetched_scalars
    @with_device_lock("out")
    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> DeviceArray:
        """Draw normal numbers with mean 0 and standard deviation 1.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the result. None draws a single number.
        dtype : dtype, optional
            float64 or float32.
        out : DeviceArray, optional
            Array of that dtype that receives the numbers. Its shape is the shape of the result.

        Returns
        -------
        float or DeviceArray
            A float if neither `size` nor `out` is given.

        Raises
        ------
        ValueError
            `size` is not the shape of `out`.
        TypeError
            `dtype` is another dtype, or not the dtype of `out`, or the device lacks float64.

        Notes
        -----
        Each number is the inverse normal distribution function of a uniform number. NumPy uses the ziggurat method
        instead, so its numbers differ.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.standard_normal(10000)
        >>> bool(abs(x.mean()) < 0.1), bool(abs(x.std() - 1) < 0.1)
        (True, True)
        """
        draw = self._draw("standard_normal", (), size, dtype, out)
        return draw.result(draw.normal())

    @with_prefetched_scalars
    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw normal numbers with a given mean and standard deviation.

        Parameters
        ----------
        loc : float or array_like
            Mean.
        scale : float or array_like
            Standard deviation, at least 0.
        size : int or tuple of int, optional
            Shape of the result. None takes the broadcast shape of the parameters.
        dtype : dtype, optional
            float64 or float32.

        Returns
        -------
        float or DeviceArray
            A float if `size` is None and the parameters are scalars.

        Raises
        ------
        ValueError
            NumPy refuses a parameter, or a parameter does not broadcast to `size`.
        TypeError
            `dtype` is another dtype, or the device lacks float64.

        Notes
        -----
        Parameters that are device arrays are checked first, which waits for the device.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.normal(10.0, [1.0, 2.0], size=(1000, 2), dtype=clarray.float32)
        >>> x.shape, x.dtype
        ((1000, 2), dtype('float32'))
        >>> bool(abs(x.mean() - 10) < 0.2)
        True
        """
        draw = self._draw("normal", (loc, scale), size, dtype)
        loc, scale = draw.parameters
        return draw.result(draw.normal() * scale + loc)

    @with_prefetched_scalars
    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw positive numbers whose logarithm is normal.

        The parameters `size` and `dtype`, the result and the errors are as in `normal`.

        Parameters
        ----------
        mean : float or array_like
            Mean of the logarithm.
        sigma : float or array_like
            Standard deviation of the logarithm, at least 0.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.lognormal(2.0, 0.5, size=10000)
        >>> bool(abs(clarray.log(x).mean() - 2) < 0.1)
        True
        """
        draw = self._draw("lognormal", (mean, sigma), size, dtype)
        mean, sigma = draw.parameters
        return draw.result(apply("exp", draw.normal() * sigma + mean, draw.dtype))

    @with_prefetched_scalars
    @with_device_lock("out")
    def standard_exponential(
        self, size: Any = None, dtype: Any = np.float64, method: str = "zig", out: Any = None
    ) -> DeviceArray:
        """Draw exponential numbers with mean 1.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the result. None draws a single number.
        dtype : dtype, optional
            float64 or float32.
        method : {'zig', 'inv'}, optional
            Has no effect. Either way a number is minus the logarithm of a uniform number.
        out : DeviceArray, optional
            Array of that dtype that receives the numbers. Its shape is the shape of the result.

        Returns
        -------
        float or DeviceArray
            A float if neither `size` nor `out` is given.

        Raises
        ------
        ValueError
            `size` is not the shape of `out`.
        TypeError
            `dtype` is another dtype, or not the dtype of `out`, or the device lacks float64.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.standard_exponential(10000)
        >>> bool(x.min() >= 0), bool(abs(x.mean() - 1) < 0.1)
        (True, True)
        """
        draw = self._draw("standard_exponential", (), size, dtype, out)
        return draw.result(draw.exponential())

    @with_prefetched_scalars
    def exponential(self, scale: Any = 1.0, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw exponential numbers with a given mean.

        The parameters `size` and `dtype`, the result and the errors are as in `normal`.

        Parameters
        ----------
        scale : float or array_like
            Mean, at least 0.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.exponential(2.0, size=10000)
        >>> bool(abs(x.mean() - 2) < 0.1)
        True
        """
        draw = self._draw("exponential", (scale,), size, dtype)
        (scale,) = draw.parameters
        return draw.result(draw.exponential() * scale)

    @with_prefetched_scalars
    def standard_cauchy(self, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw numbers from the Cauchy distribution: the quotient of two normal numbers.

        The parameters `size` and `dtype`, the result and the errors are as in `normal`.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.standard_cauchy(10000)
        >>> bool(abs((abs(x) < 1).mean() - 0.5) < 0.1)
        True
        """
        draw = self._draw("standard_cauchy", (), size, dtype)
        return draw.result(draw.normal() / draw.normal())

    @with_prefetched_scalars
    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw numbers from the Laplace distribution: exponential on both sides of its centre.

        The parameters `size` and `dtype`, the result and the errors are as in `normal`.

        Parameters
        ----------
        loc : float or array_like
            Centre of the distribution, which is its mean.
        scale : float or array_like
            Mean distance from the centre, at least 0.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.laplace(1.0, 2.0, size=10000)
        >>> bool(abs(x.mean() - 1) < 0.2), bool(abs(abs(x - 1).mean() - 2) < 0.2)
        (True, True)
        """
        draw = self._draw("laplace", (loc, scale), size, dtype)
        loc, scale = draw.parameters
        u = draw.open_unit()
        below = u < 0.5
        log = apply("log", 2 * lazy_where(below, u, 1 - u), draw.dtype)
        return draw.result(lazy_where(below, log, -log) * scale + loc)

    @with_prefetched_scalars
    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw numbers from the Gumbel distribution, which describes the largest of many exponential numbers.

        The parameters `size` and `dtype`, the result and the errors are as in `normal`.

        Parameters
        ----------
        loc : float or array_like
            Position of the greatest density.
        scale : float or array_like
            Width of the distribution, at least 0.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.gumbel(0.0, 1.0, size=10000)
        >>> bool(abs(x.mean() - 0.577) < 0.1)
        True
        """
        draw = self._draw("gumbel", (loc, scale), size, dtype)
        loc, scale = draw.parameters
        return draw.result(loc - apply("log", draw.exponential(), draw.dtype) * scale)

    @with_prefetched_scalars
    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw numbers from the logistic distribution.

        The parameters `size` and `dtype`, the result and the errors are as in `normal`.

        Parameters
        ----------
        loc : float or array_like
            Mean.
        scale : float or array_like
            Width of the distribution, at least 0.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.logistic(3.0, 1.0, size=10000)
        >>> bool(abs(x.mean() - 3) < 0.1)
        True
        """
        draw = self._draw("logistic", (loc, scale), size, dtype)
        loc, scale = draw.parameters
        u = draw.open_unit()
        return draw.result(apply("log", u / (1 - u), draw.dtype) * scale + loc)

    @with_prefetched_scalars
    def rayleigh(self, scale: Any = 1.0, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw the lengths of plane vectors whose two components are normal.

        The parameters `size` and `dtype`, the result and the errors are as in `normal`.

        Parameters
        ----------
        scale : float or array_like
            Standard deviation of each component, at least 0.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.rayleigh(2.0, size=10000)
        >>> bool(x.min() >= 0), bool(abs(x.mean() - 2.507) < 0.1)
        (True, True)
        """
        draw = self._draw("rayleigh", (scale,), size, dtype)
        (scale,) = draw.parameters
        return draw.result(np.sqrt(2 * draw.exponential()) * scale)

    @with_prefetched_scalars
    def weibull(self, a: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw numbers from the Weibull distribution: exponential numbers to the power ``1 / a``.

        The parameters `size` and `dtype`, the result and the errors are as in `normal`.

        Parameters
        ----------
        a : float or array_like
            Shape of the distribution, at least 0. If it is 0, all numbers are 0.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.weibull(2.0, size=10000)
        >>> bool(abs((x**2).mean() - 1) < 0.1)
        True
        """
        draw = self._draw("weibull", (a,), size, dtype)
        (a,) = draw.parameters
        if not isinstance(a, DeviceArray):
            if a == 0:
                return draw.result(draw.unit() * 0)
            return draw.result(apply("exp", apply("log", draw.exponential(), draw.dtype) / a, draw.dtype))
        powers = apply("exp", apply("log", draw.exponential(), draw.dtype) / lazy_where(a == 0, 1, a), draw.dtype)
        return draw.result(lazy_where(a == 0, 0, powers))

    @with_prefetched_scalars
    def pareto(self, a: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw numbers from the Lomax distribution: the Pareto distribution, shifted to start at 0.

        The parameters `size` and `dtype`, the result and the errors are as in `normal`.

        Parameters
        ----------
        a : float or array_like
            Shape of the distribution, above 0.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.pareto(3.0, size=10000)
        >>> bool(x.min() >= 0), bool(abs(x.mean() - 0.5) < 0.1)
        (True, True)
        """
        draw = self._draw("pareto", (a,), size, dtype)
        (a,) = draw.parameters
        return draw.result(apply("expone", draw.exponential() / a, draw.dtype))

    @with_prefetched_scalars
    def power(self, a: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw numbers in [0, 1] whose density is proportional to ``x**(a - 1)``.

        The parameters `size` and `dtype`, the result and the errors are as in `normal`.

        Parameters
        ----------
        a : float or array_like
            Shape of the distribution, above 0.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.power(2.0, size=10000)
        >>> bool(x.max() <= 1), bool(abs(x.mean() - 2 / 3) < 0.1)
        (True, True)
        """
        draw = self._draw("power", (a,), size, dtype)
        (a,) = draw.parameters
        return draw.result(apply("exp", draw.exponential() / a * -1, draw.dtype))

    @with_prefetched_scalars
    def triangular(self, left: Any, mode: Any, right: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw numbers from the triangular distribution.

        The parameters `size` and `dtype`, and the result, are as in `normal`.

        Parameters
        ----------
        left, mode, right : float or array_like
            Start, top and end of the triangle.

        Raises
        ------
        ValueError
            They are not in ascending order, `left` equals `right`, or one does not broadcast to `size`.
        TypeError
            `dtype` is another dtype, or the device lacks float64.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.triangular(0.0, 1.0, 4.0, size=10000)
        >>> bool(x.min() >= 0), bool(x.max() <= 4), bool(abs(x.mean() - 5 / 3) < 0.1)
        (True, True, True)
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
        return draw.result(lazy_where(u * base <= mode - left, rising, falling))

    @with_prefetched_scalars
    def wald(self, mean: Any, scale: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw numbers from the Wald distribution, also called inverse Gaussian.

        The parameters `size` and `dtype`, the result and the errors are as in `normal`.

        Parameters
        ----------
        mean : float or array_like
            Mean, above 0.
        scale : float or array_like
            Shape of the distribution, above 0. The variance is ``mean**3 / scale``.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.wald(1.0, 2.0, size=10000)
        >>> bool(x.min() > 0), bool(abs(x.mean() - 1) < 0.1)
        (True, True)
        """
        draw = self._draw("wald", (mean, scale), size, dtype)
        mean, scale = draw.parameters
        z = draw.normal()
        # Michael, Schucany & Haas 1976: one of the two roots of a quadratic, the smaller one without cancellation
        half = z * z * mean / (2 * scale)
        root = 1 / (1 + half + np.sqrt(half * (half + 2)))
        return draw.result(lazy_where(draw.unit() * (1 + root) <= 1, root, 1 / root) * mean)

    @with_prefetched_scalars
    def vonmises(self, mu: Any, kappa: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw angles in [-pi, pi] from the von Mises distribution, the normal distribution on a circle.

        The parameters `size` and `dtype`, the result and the errors are as in `normal`.

        Parameters
        ----------
        mu : float or array_like
            Angle at the centre, in radians.
        kappa : float or array_like
            Concentration, at least 0. A large value keeps the angles close to `mu`, and 0 gives uniform angles.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.vonmises(0.0, 4.0, size=10000)
        >>> bool(abs(x).max() <= clarray.pi), bool(abs(x.mean()) < 0.1)
        (True, True)
        """
        draw = self._draw("vonmises", (mu, kappa), size, dtype)
        mu, kappa = draw.parameters
        angle = draw.sample("vonmises", kappa) + mu
        turns = np.floor(angle * (0.5 / np.pi) + 0.5)
        return draw.result(angle - turns * (2 * np.pi))
