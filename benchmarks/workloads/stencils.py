"""Stencils over time, in one, two and three dimensions: in place, and alternating between two arrays."""

from __future__ import annotations

from workloads.row import program


@program(
    lambda r, n, steps: (r.random(n), steps),
    tiny=(20, 3),
    small=(1000, 500),
    medium=(20_000, 4000),
    large=(1_000_000, 600),
)
def heat_rod(xp, u, steps):
    for _ in range(steps):
        u[1:-1] += 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@program(
    lambda r, n, steps: (r.random(n), r.random(n), steps),
    tiny=(20, 2),
    small=(400, 400),
    medium=(10_000, 4000),
    large=(400_000, 1600),
)
def jacobi_1d(xp, a, b, steps):
    for _ in range(steps):
        b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3
        a[1:-1] = (b[:-2] + b[1:-1] + b[2:]) / 3
    return a


@program(
    lambda r, n, steps: (r.random((n, n)), r.random((n, n)), steps),
    tiny=(9, 2),
    small=(60, 100),
    medium=(300, 300),
    large=(1500, 60),
)
def jacobi_2d(xp, a, b, steps):
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
    return a


@program(
    lambda r, n, steps: (r.random((n, n, n)), steps), tiny=(6, 2), small=(20, 50), medium=(60, 30), large=(160, 25)
)
def heat_3d(xp, a, steps):
    b = a.copy()
    for _ in range(steps):
        b[1:-1, 1:-1, 1:-1] = (
            0.125 * (a[2:, 1:-1, 1:-1] - 2 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2])
            + a[1:-1, 1:-1, 1:-1]
        )
        a, b = b, a
    return a


@program(
    lambda r, n, steps: (r.random((n, n)), r.random((n, n)), steps),
    tiny=(10, 2),
    small=(64, 50),
    medium=(300, 200),
    large=(2000, 40),
)
def red_black(xp, u, f, steps):
    """Gauss-Seidel in place: the red points of a chessboard, then the black ones."""
    for _ in range(steps):
        for i, j in ((1, 1), (2, 2), (1, 2), (2, 1)):
            u[i:-1:2, j:-1:2] = 0.25 * (
                u[i - 1 : -2 : 2, j:-1:2]
                + u[i + 1 :: 2, j:-1:2]
                + u[i:-1:2, j - 1 : -2 : 2]
                + u[i:-1:2, j + 1 :: 2]
                - f[i:-1:2, j:-1:2]
            )
    return u, xp.abs(u).max()


@program(
    lambda r, n, steps: (r.random((n, n)), steps), tiny=(9, 3), small=(60, 100), medium=(300, 300), large=(1500, 60)
)
def wave(xp, u, steps):
    before = u.copy()
    for _ in range(steps):
        after = xp.zeros_like(u)
        laplacian = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        after[1:-1, 1:-1] = 2 * u[1:-1, 1:-1] - before[1:-1, 1:-1] + 0.2 * laplacian
        before, u = u, after
    return u


@program(
    lambda r, n, steps: (r.random((n, n)), r.random((n, n)), r.random((n, n)), steps),
    tiny=(8, 2),
    small=(50, 80),
    medium=(250, 300),
    large=(1200, 140),
)
def maxwell(xp, ex, ey, hz, steps):
    """Yee's scheme in two dimensions: the electric and the magnetic field take turns."""
    for t in range(steps):
        ey[0, :] = t / steps
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


@program(
    lambda r, n, steps: (r.random((n, n), dtype="float32"), r.random((n, n), dtype="float32") / 4, steps),
    tiny=(8, 2),
    small=(64, 20),
    medium=(400, 120),
    large=(1200, 150),
)
def gray_scott(xp, u, v, steps):
    """Two substances that react and diffuse, on a torus."""

    def laplacian(a):
        return xp.roll(a, 1, 0) + xp.roll(a, -1, 0) + xp.roll(a, 1, 1) + xp.roll(a, -1, 1) - 4 * a

    for _ in range(steps):
        uvv = u * v * v
        u, v = (
            u + 0.16 * laplacian(u) - uvv + 0.035 * (1 - u),
            v + 0.08 * laplacian(v) + uvv - (0.035 + 0.065) * v,
        )
    return u, v
