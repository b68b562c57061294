"""Compute the tendency of a tracer that a flow advects, with fluxes limited along both axes.

Source: Sweby (1984), SIAM Journal on Numerical Analysis 21; the limiter of van Leer (1974), Journal of Computational
Physics 14.
"""


def inputs(n, rng):
    """Return a square field and the Courant numbers along both axes."""
    side = round(n**0.5)
    return rng.random((side, side)), rng.uniform(-0.5, 0.5, (side, side)), rng.uniform(-0.5, 0.5, (side, side))


def flux(np, far_left, left, right, far_right, courant):
    """Return the limited flux through the faces between `left` and `right`."""
    jump = right - left
    behind = np.where(courant > 0, left - far_left, far_right - right)
    ratio = behind / np.where(np.abs(jump) < 1e-12, 1e-12, jump)
    size = np.abs(ratio)
    limiter = (ratio + size) / (1 + size)
    upwind = np.where(courant > 0, left, right)
    speed = np.abs(courant)
    return courant * upwind + 0.5 * speed * (1 - speed) * limiter * jump


def compute(np, c, u, v):
    fx = flux(np, c[2:-2, :-3], c[2:-2, 1:-2], c[2:-2, 2:-1], c[2:-2, 3:], u[2:-2, 2:-1])
    fy = flux(np, c[:-3, 2:-2], c[1:-2, 2:-2], c[2:-1, 2:-2], c[3:, 2:-2], v[2:-1, 2:-2])
    tendency = -(fx[:, 1:] - fx[:, :-1]) - (fy[1:] - fy[:-1])
    new = c[2:-2, 2:-2] + tendency
    return new, tendency, fx, fy
