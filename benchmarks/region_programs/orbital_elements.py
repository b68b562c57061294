"""Compute the orbital elements of bodies from their positions and velocities.

Source: Vallado, Fundamentals of Astrodynamics and Applications, 4th edition (2013), algorithm 9.
"""


def inputs(n, rng):
    """Return three coordinates in km and three velocities in km/s of bound orbits around the Earth."""
    return (*(rng.uniform(4000, 9000, n) for _ in range(3)), *(rng.uniform(-2.5, 2.5, n) for _ in range(3)))


def compute(np, x, y, z, vx, vy, vz):
    mu, full = 398600.4418, 6.283185307179586
    r = np.sqrt(x * x + y * y + z * z)
    v2 = vx * vx + vy * vy + vz * vz
    radial = x * vx + y * vy + z * vz
    hx, hy, hz = y * vz - z * vy, z * vx - x * vz, x * vy - y * vx
    h = np.sqrt(hx * hx + hy * hy + hz * hz)
    node = np.hypot(hx, hy)
    factor = v2 - mu / r
    ex = (factor * x - radial * vx) / mu
    ey = (factor * y - radial * vy) / mu
    ez = (factor * z - radial * vz) / mu
    e = np.sqrt(ex * ex + ey * ey + ez * ez)
    axis = 1 / (2 / r - v2 / mu)
    inclination = np.arccos(np.clip(hz / h, -1.0, 1.0))
    ascending = np.arctan2(hx, -hy)
    ascending = np.where(ascending < 0, ascending + full, ascending)
    # The node's direction is (-hy, hx, 0).
    along = (-hy * ex + hx * ey) / node
    across = ez * h / node
    periapsis = np.arctan2(across, along)
    periapsis = np.where(periapsis < 0, periapsis + full, periapsis)
    cosine = (ex * x + ey * y + ez * z) / (e * r)
    true = np.arccos(np.clip(cosine, -1.0, 1.0))
    true = np.where(radial < 0, full - true, true)
    eccentric = 2 * np.arctan(np.sqrt((1 - e) / (1 + e)) * np.tan(0.5 * true))
    mean = eccentric - e * np.sin(eccentric)
    mean = np.where(mean < 0, mean + full, mean)
    period = full * np.sqrt(axis * axis * axis / mu)
    return axis, e, inclination, ascending, periapsis, true, mean, period
