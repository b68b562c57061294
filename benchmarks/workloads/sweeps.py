"""Sweeps along an axis, each row from the one before: tridiagonal systems, implicit steps, trees."""

from __future__ import annotations

import numpy as np

from workloads.row import program


def systems(r, rows, columns):
    shape = rows, columns
    return r.random(shape), 4 + r.random(shape), r.random(shape), r.random(shape)


@program(systems, tiny=(5, 4), small=(600, 100), medium=(1000, 6000), large=(4000, 20_000))
def tridiagonal(xp, a, b, c, d):
    """Thomas's algorithm for many systems side by side."""
    n = len(d)
    for i in range(1, n):
        w = a[i] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    x = xp.zeros_like(d)
    x[-1] = d[-1] / b[-1]
    for i in range(n - 2, -1, -1):
        x[i] = (d[i] - c[i] * x[i + 1]) / b[i]
    return x


@program(lambda r, n, steps: (r.random((n, n)), steps), tiny=(6, 1), small=(60, 5), medium=(200, 30), large=(1000, 40))
def adi(xp, u, steps):
    """Diffusion in half steps, implicit along one axis and then along the other."""
    n = u.shape[0]
    r = 0.4
    for _ in range(steps):
        for _ in range(2):
            right = u.copy()
            right[:, 1:-1] = u[:, 1:-1] + r * (u[:, 2:] - 2 * u[:, 1:-1] + u[:, :-2])
            p, q = xp.zeros(n), xp.zeros_like(u)
            for i in range(1, n - 1):
                p[i] = r / (1 + 2 * r - r * p[i - 1])
                q[i, 1:-1] = (right[i, 1:-1] + r * q[i - 1, 1:-1]) / (1 + 2 * r - r * p[i - 1])
            for i in range(n - 2, 0, -1):
                u[i, 1:-1] = p[i] * u[i + 1, 1:-1] + q[i, 1:-1]
            u = u.T
    return u


def columns_of_air(r, n, levels):
    shape = n, n, levels
    return r.random(shape), r.random(shape), levels


@program(columns_of_air, tiny=(3, 4), small=(32, 100), medium=(160, 100), large=(320, 120))
def column_diffusion(xp, temperature, mixing, levels):
    """An implicit step along the last axis of a grid, level by level."""
    c, d = xp.zeros_like(temperature), xp.zeros_like(temperature)
    for k in range(levels):
        up = mixing[:, :, k] if k < levels - 1 else 0.0
        if k == 0:
            c[:, :, 0] = up / (1 + up)
            d[:, :, 0] = temperature[:, :, 0] / (1 + up)
            continue
        down = mixing[:, :, k - 1]
        divisor = 1 + up + down - down * c[:, :, k - 1]
        c[:, :, k] = up / divisor
        d[:, :, k] = (temperature[:, :, k] + down * d[:, :, k - 1]) / divisor
    for k in range(levels - 2, -1, -1):
        d[:, :, k] += c[:, :, k] * d[:, :, k + 1]
    return d


@program(lambda r, steps: (90.0, 0.25, steps), tiny=(8,), small=(300,), medium=(8000,), large=(45_000,))
def american_option(xp, strike, volatility, steps):
    """A binomial tree from its leaves to the root, a value less in every step."""
    up = float(np.exp(volatility / steps**0.5))
    discount = float(np.exp(-0.03 / steps))
    rising = (1 / discount - 1 / up) / (up - 1 / up)
    prices = 100.0 * up ** xp.arange(-steps, steps + 1, 2)
    values = xp.maximum(strike - prices, 0)
    for _ in range(steps):
        values = discount * (rising * values[1:] + (1 - rising) * values[:-1])
        prices = prices[1:] / up
        values = xp.maximum(values, strike - prices)
    return values
