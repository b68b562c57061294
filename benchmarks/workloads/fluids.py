"""Fluid flow on grids, where rows and columns at the boundary are set by themselves."""

from __future__ import annotations

import numpy as np

from workloads.row import program


@program(lambda r, n, steps: (n, steps), tiny=(8, 1), small=(41, 6), medium=(81, 80), large=(401, 80))
def cavity_flow(xp, n, steps):
    """A lid is drawn over a box of fluid; the pressure is iterated in every step."""
    dx, rho, nu = 2 / (n - 1), 1.0, 0.1
    dt = 0.1 * dx**2 / nu
    u, v, p = xp.zeros((n, n)), xp.zeros((n, n)), xp.zeros((n, n))
    b = xp.zeros((n, n))
    for _ in range(steps):
        ux = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)
        vy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dx)
        uy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dx)
        vx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
        b[1:-1, 1:-1] = rho * ((ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2)
        for _ in range(20):
            pn = p.copy()
            around = pn[1:-1, 2:] + pn[1:-1, :-2] + pn[2:, 1:-1] + pn[:-2, 1:-1]
            p[1:-1, 1:-1] = (around - dx**2 * b[1:-1, 1:-1]) / 4
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0
        un, vn = u.copy(), v.copy()
        for new, old, gradient in (
            (u, un, p[1:-1, 2:] - p[1:-1, :-2]),
            (v, vn, p[2:, 1:-1] - p[:-2, 1:-1]),
        ):
            c = old[1:-1, 1:-1]
            new[1:-1, 1:-1] = (
                c
                - un[1:-1, 1:-1] * dt / dx * (c - old[1:-1, :-2])
                - vn[1:-1, 1:-1] * dt / dx * (c - old[:-2, 1:-1])
                - dt / (2 * rho * dx) * gradient
                + nu * dt / dx**2 * (old[1:-1, 2:] + old[1:-1, :-2] + old[2:, 1:-1] + old[:-2, 1:-1] - 4 * c)
            )
        u[0, :] = u[:, 0] = u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = v[-1, :] = v[:, 0] = v[:, -1] = 0
    return u, v, p


@program(
    lambda r, n, steps: (1 + 0.1 * r.random((n, n)), steps),
    tiny=(8, 2),
    small=(50, 50),
    medium=(250, 200),
    large=(1200, 80),
)
def shallow_water(xp, h, steps):
    """Waves in a basin with walls that reflect them."""
    u, v = xp.zeros_like(h), xp.zeros_like(h)
    for _ in range(steps):
        u[1:-1, 1:-1] -= 0.1 * (h[1:-1, 2:] - h[1:-1, :-2])
        v[1:-1, 1:-1] -= 0.1 * (h[2:, 1:-1] - h[:-2, 1:-1])
        u[:, 0], u[:, -1] = -u[:, 1], -u[:, -2]
        v[0, :], v[-1, :] = -v[1, :], -v[-2, :]
        flow, rise = h * u, h * v
        h[1:-1, 1:-1] -= 0.05 * (flow[1:-1, 2:] - flow[1:-1, :-2] + rise[2:, 1:-1] - rise[:-2, 1:-1])
        h[0, :], h[-1, :] = h[1, :], h[-2, :]
        h[:, 0], h[:, -1] = h[:, 1], h[:, -2]
    return h, u, v


@program(
    lambda r, n, steps: (1 + 0.01 * r.random((9, n, 2 * n)), steps),
    tiny=(6, 2),
    small=(20, 12),
    medium=(100, 40),
    large=(300, 120),
)
def lattice_boltzmann(xp, f, steps):
    """Nine populations a cell stream to their neighbours, bounce off a cylinder and relax."""
    cx, cy = [0, 0, 1, 1, 1, 0, -1, -1, -1], [0, 1, 1, 0, -1, -1, -1, 0, 1]
    weights = [4 / 9, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36]
    opposite = [0, 5, 6, 7, 8, 1, 2, 3, 4]
    rows, columns = f.shape[1:]
    y, x = xp.arange(rows)[:, None], xp.arange(columns)
    cylinder = (x - columns / 4) ** 2 + (y - rows / 2) ** 2 < (rows / 4) ** 2
    for _ in range(steps):
        for i in range(9):
            f[i] = xp.roll(f[i], (cy[i], cx[i]), axis=(0, 1))
        bounced = f[:, cylinder][opposite]
        density = f.sum(axis=0)
        ux = sum(f[i] * cx[i] for i in range(9)) / density
        uy = sum(f[i] * cy[i] for i in range(9)) / density
        for i in range(9):
            along = cx[i] * ux + cy[i] * uy
            still = density * weights[i] * (1 + 3 * along + 4.5 * along**2 - 1.5 * (ux**2 + uy**2))
            f[i] += (still - f[i]) / 0.6
        f[:, cylinder] = bounced
    return f


@program(
    lambda r, n, steps: (1 + np.sin(np.linspace(0, 6 * np.pi, n)), steps),
    tiny=(20, 3),
    small=(500, 300),
    medium=(20_000, 2000),
    large=(500_000, 900),
)
def burgers(xp, u, steps):
    """Upwind differences, on a ring."""
    flux = xp.empty(len(u) + 1)
    for _ in range(steps):
        flux[1:] = 0.5 * u**2
        flux[0] = flux[-1]
        u -= 0.2 * (flux[1:] - flux[:-1])
        u[1:-1] += 0.01 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u
