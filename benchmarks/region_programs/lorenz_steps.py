"""Advance many trajectories of the Lorenz equations by three Runge-Kutta steps.

Source: Lorenz (1963), Journal of the Atmospheric Sciences 20; the classical method of fourth order.
"""


def inputs(n, rng):
    """Return the three coordinates of the trajectories."""
    return rng.normal(0, 10, n), rng.normal(0, 10, n), rng.normal(25, 5, n)


def slope(x, y, z):
    """Return the time derivatives."""
    return 10.0 * (y - x), x * (28.0 - z) - y, x * y - 2.6666666666666665 * z


def compute(np, x, y, z):
    h = 0.01
    for _ in range(3):
        ax, ay, az = slope(x, y, z)
        bx, by, bz = slope(x + 0.5 * h * ax, y + 0.5 * h * ay, z + 0.5 * h * az)
        cx, cy, cz = slope(x + 0.5 * h * bx, y + 0.5 * h * by, z + 0.5 * h * bz)
        dx, dy, dz = slope(x + h * cx, y + h * cy, z + h * cz)
        x = x + h / 6 * (ax + 2 * bx + 2 * cx + dx)
        y = y + h / 6 * (ay + 2 * by + 2 * cy + dy)
        z = z + h / 6 * (az + 2 * bz + 2 * cz + dz)
    return x, y, z
