"""Compute the tendencies of the rotating shallow-water equations on a C grid.

Source: Sadourny (1975), Journal of the Atmospheric Sciences 32, the scheme that conserves potential enstrophy.
"""


def inputs(n, rng):
    """Return depth and both velocities on a square grid."""
    side = round(n**0.5)
    shape = (side, side)
    return 100 + rng.normal(0, 1, shape), rng.normal(0, 1, shape), rng.normal(0, 1, shape)


def compute(np, h, u, v):
    dx = dy = 1.0e4
    coriolis, gravity, friction = 1e-4, 9.81, 1e3
    # Mass fluxes at the faces, potential vorticity at the corners and the Bernoulli function at the centres.
    mass_u = 0.5 * (h[:, 1:] + h[:, :-1]) * u[:, :-1]
    mass_v = 0.5 * (h[1:] + h[:-1]) * v[:-1]
    vorticity = (v[:-1, 1:] - v[:-1, :-1]) / dx - (u[1:, :-1] - u[:-1, :-1]) / dy
    depth = 0.25 * (h[1:, 1:] + h[1:, :-1] + h[:-1, 1:] + h[:-1, :-1])
    potential = (coriolis + vorticity) / depth
    kinetic = 0.25 * (u[1:, 1:] ** 2 + u[1:, :-1] ** 2 + v[1:, 1:] ** 2 + v[:-1, 1:] ** 2)
    bernoulli = gravity * h[1:, 1:] + kinetic
    mean_v = 0.25 * (mass_v[1:, 1:-1] + mass_v[1:, 2:] + mass_v[:-1, 1:-1] + mass_v[:-1, 2:])
    mean_u = 0.25 * (mass_u[1:-1, 1:] + mass_u[2:, 1:] + mass_u[1:-1, :-1] + mass_u[2:, :-1])
    u_t = 0.5 * (potential[1:, 1:] + potential[:-1, 1:]) * mean_v - (bernoulli[:-1, 1:] - bernoulli[:-1, :-1]) / dx
    v_t = -0.5 * (potential[1:, 1:] + potential[1:, :-1]) * mean_u - (bernoulli[1:, :-1] - bernoulli[:-1, :-1]) / dy
    h_t = -(mass_u[1:-1, 1:] - mass_u[1:-1, :-1]) / dx - (mass_v[1:, 1:-1] - mass_v[:-1, 1:-1]) / dy
    lap_u = (u[1:-1, 2:] + u[1:-1, :-2] + u[2:, 1:-1] + u[:-2, 1:-1] - 4 * u[1:-1, 1:-1]) / (dx * dx)
    lap_v = (v[1:-1, 2:] + v[1:-1, :-2] + v[2:, 1:-1] + v[:-2, 1:-1] - 4 * v[1:-1, 1:-1]) / (dx * dx)
    enstrophy = 0.5 * (potential * potential * depth).sum()
    energy = 0.5 * (gravity * h * h).sum() + (h[1:, 1:] * kinetic).sum()
    return u_t + friction * lap_u, v_t + friction * lap_v, h_t, enstrophy, energy
