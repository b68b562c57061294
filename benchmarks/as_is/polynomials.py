"""Old and new polynomials."""
import numpy as np
from numpy.polynomial import Chebyshev, Polynomial

p = np.poly1d([1, -3, 2])
print(p, p(3), p.roots, (p * p).coeffs)
print(np.polyval([1, 2, 3], [0, 1, 2]), np.roots([1, 0, -1]), np.polyder(p), np.polyint(p))
q = Polynomial([1, 2, 3])
print(q, q(2.0), q.deriv(), q.roots().round(6))
x = np.linspace(-1, 1, 20)
print(np.round(Polynomial.fit(x, x**3 - x, 3).convert().coef, 6) + 0.0)
print(Chebyshev.interpolate(np.exp, 4)(0.5).round(6))
