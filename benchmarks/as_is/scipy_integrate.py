"""An ODE and integrals with SciPy."""
import numpy as np
from scipy import integrate, interpolate


def f(t, y):
    return np.array([y[1], -y[0]])


sol = integrate.solve_ivp(f, (0, 10), [1.0, 0.0], t_eval=np.linspace(0, 10, 11), rtol=1e-8)
print(sol.y[0].round(4))
print(integrate.quad(lambda x: np.exp(-x * x), -np.inf, np.inf)[0].__round__(8))
x = np.linspace(0, np.pi, 11)
print(round(float(np.trapezoid(np.sin(x), x)), 8), round(float(integrate.simpson(np.sin(x), x=x)), 8))
print(interpolate.CubicSpline(x, np.sin(x))(1.0).round(6), np.interp(1.0, x, np.sin(x)).round(6))
