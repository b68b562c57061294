"""Polynomials as objects: `poly1d`."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core import creation
from clarray._core.device_array import DeviceArray
from clarray._core.host_fallback import ClassWithHostFallback
from clarray._numpy.manipulation import joining
from clarray.lib.polynomial_roots import poly, roots
from clarray.lib.polynomials import (
    coefficient_vector,
    polyadd,
    polyder,
    polydiv,
    polyint,
    polymul,
    polysub,
    polyval,
    trimmed,
)

__all__ = ["poly1d"]


class poly1d(metaclass=ClassWithHostFallback):  # noqa: N801 - NumPy's name
    """Represent a polynomial of one variable, with its coefficients on the device.

    Operators add, subtract, multiply and divide polynomials. A call of a polynomial returns its values.
    See `numpy.poly1d`.

    Parameters
    ----------
    c_or_r : (N,) array_like
        The coefficients, the highest power first, of which leading zeros are dropped. Or the roots.
    r : bool
        Whether `c_or_r` are the roots.
    variable : str, optional
        Name of the variable in text, 'x' by default.

    Raises
    ------
    ValueError
        `c_or_r` has more than one axis.

    Examples
    --------
    >>> import clarray
    >>> p = clarray.poly1d([1, -3, 2])
    >>> p(3), (p * p).order
    (np.int64(2), 4)
    """

    numpys = np.poly1d
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None  # operators of arrays leave the operation to the polynomial's

    def __init__(self, c_or_r: Any, r: bool = False, variable: str | None = None) -> None:
        coefficients = poly(c_or_r) if r else c_or_r
        self.variable: Any = variable or getattr(c_or_r, "variable", "x")
        self.coeffs: DeviceArray = trimmed(coefficient_vector(coefficients))

    @property
    def c(self) -> DeviceArray:
        """The coefficients, the highest power first."""
        return self.coeffs

    coef = coefficients = c

    @property
    def order(self) -> int:
        """The degree: the highest power."""
        return self.coeffs.size - 1

    o = order

    @property
    def roots(self) -> DeviceArray:
        """The roots: the values of the variable for which the polynomial is zero."""
        return roots(self.coeffs)

    r = roots

    def __call__(self, val: Any) -> Any:
        return polyval(self.coeffs, val)

    def __len__(self) -> int:
        return self.order

    def __iter__(self) -> Any:
        return iter(self.coeffs)

    def __getitem__(self, power: int) -> Any:
        """Return the coefficient of a power, or zero for a power above the degree or below zero."""
        inside = 0 <= power <= self.order
        return self.coeffs[self.order - power] if inside else creation.zeros((), self.coeffs.dtype)

    def __setitem__(self, power: int, value: Any) -> None:
        if power < 0:
            raise ValueError("Does not support negative powers.")
        if power > self.order:
            leading_zeros = creation.zeros(power - self.order, self.coeffs.dtype, device=self.coeffs.device)
            self.coeffs = joining.concatenate((leading_zeros, self.coeffs))
        self.coeffs[self.order - power] = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.coeffs.__array__(dtype, copy)

    def _on_host(self) -> np.poly1d:
        return np.poly1d(self.coeffs.get(), variable=self.variable)

    def __repr__(self) -> str:
        return repr(self._on_host())

    def __str__(self) -> str:
        return str(self._on_host())

    def __neg__(self) -> poly1d:
        return poly1d(-self.coeffs)

    def __pos__(self) -> poly1d:
        return self

    def __add__(self, other: Any) -> poly1d:
        return poly1d(polyadd(self, other))

    def __sub__(self, other: Any) -> poly1d:
        return poly1d(polysub(self, other))

    def __rsub__(self, other: Any) -> poly1d:
        return poly1d(polysub(other, self))

    def __mul__(self, other: Any) -> poly1d:
        return poly1d(polymul(self, other))

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return poly1d(self.coeffs / other) if not np.ndim(other) else polydiv(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return poly1d(other / self.coeffs) if not np.ndim(other) else polydiv(poly1d(other), self)

    def __pow__(self, power: int) -> poly1d:
        if not isinstance(power, int | float | np.integer | np.floating) or int(power) != power or power < 0:
            raise ValueError("Power to non-negative integers only.")
        product = poly1d([1])
        for _ in range(int(power)):
            product = product * self
        return product

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, poly1d):
            return NotImplemented
        return self.order == other.order and bool((self.coeffs == other.coeffs).all())

    def deriv(self, m: int = 1) -> poly1d:
        """Return the `m`-th derivative.

        Parameters
        ----------
        m : int

        Returns
        -------
        poly1d

        Raises
        ------
        ValueError
            `m` is negative.

        Examples
        --------
        >>> import clarray
        >>> clarray.poly1d([1, -3, 2]).deriv().coeffs.tolist()
        [2, -3]
        """
        return poly1d(polyder(self, m))

    def integ(self, m: int = 1, k: Any = 0) -> poly1d:
        """Return the `m`-th integral.

        Parameters
        ----------
        m : int
        k : scalar or (m,) array_like, optional
            Constants of integration. The first constant belongs to the first integral.

        Returns
        -------
        poly1d

        Raises
        ------
        ValueError
            `m` is negative, or there are fewer than `m` constants.

        Examples
        --------
        >>> import clarray
        >>> clarray.poly1d([2, -3]).integ(k=2).coeffs.tolist()
        [1.0, -3.0, 2.0]
        """
        return poly1d(polyint(self, m, k))
