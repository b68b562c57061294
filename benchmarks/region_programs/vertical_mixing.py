"""Compute viscosity, diffusivity and tendencies of an ocean's columns from the Richardson number.

Source: Pacanowski and Philander (1981), Journal of Physical Oceanography 11, equations 1 to 3.
"""

LEVELS = 16


def inputs(n, rng):
    """Return velocities, temperature and salinity on 16 levels, and the thickness of the levels."""
    shape = (LEVELS, n // LEVELS)
    depth = 10.0 * rng.uniform(1, 1.2, (LEVELS, 1))
    t = 20 - 0.5 * depth.cumsum(axis=0) / 10 + rng.normal(0, 0.2, shape)
    return rng.normal(0, 0.3, shape), rng.normal(0, 0.3, shape), t, rng.normal(35, 0.1, shape), depth


def compute(np, u, v, t, s, dz):
    gravity, reference = 9.81, 1025.0
    rho = reference * (1 - 2.0e-4 * (t - 10) + 7.6e-4 * (s - 35))
    spacing = 0.5 * (dz[1:] + dz[:-1])
    n2 = gravity / reference * (rho[1:] - rho[:-1]) / spacing
    u_z = (u[:-1] - u[1:]) / spacing
    v_z = (v[:-1] - v[1:]) / spacing
    shear = u_z * u_z + v_z * v_z
    ri = n2 / np.maximum(shear, 1e-10)
    stable = 1 + 5 * np.maximum(ri, 0.0)
    viscosity = np.where(ri > 0, 1e-2 / (stable * stable) + 1e-4, 1e-1)
    diffusivity = np.where(ri > 0, viscosity / stable + 1e-5, 1e-1)
    flux_u = viscosity * u_z
    flux_v = viscosity * v_z
    flux_t = diffusivity * (t[:-1] - t[1:]) / spacing
    flux_s = diffusivity * (s[:-1] - s[1:]) / spacing
    inner = dz[1:-1]
    u_t = (flux_u[:-1] - flux_u[1:]) / inner
    v_t = (flux_v[:-1] - flux_v[1:]) / inner
    t_t = (flux_t[:-1] - flux_t[1:]) / inner
    s_t = (flux_s[:-1] - flux_s[1:]) / inner
    production = viscosity * shear - diffusivity * n2
    return viscosity, diffusivity, -u_t, -v_t, -t_t, -s_t, production
