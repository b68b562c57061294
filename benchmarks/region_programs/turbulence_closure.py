"""Advance turbulent kinetic energy by one step with the stability functions of the level 2.5 closure.

Source: Mellor and Yamada (1982), Reviews of Geophysics 20; the quasi-equilibrium form of Galperin et al. (1988),
Journal of the Atmospheric Sciences 45; limits of the length scale as in Deardorff (1980).
"""


def inputs(n, rng):
    """Return twice the energy, a length scale, the squared buoyancy frequency and two shears."""
    return (
        rng.uniform(1e-4, 1e-1, n),
        rng.uniform(0.5, 20, n),
        rng.normal(1e-5, 5e-5, n),
        rng.normal(0, 0.02, n),
        rng.normal(0, 0.02, n),
    )


def compute(np, q2, length, n2, u_z, v_z):
    a1, a2, b1, b2, c1 = 0.92, 0.74, 16.6, 10.1, 0.08
    step = 60.0
    q = np.sqrt(q2)
    limited = np.where(n2 > 0, np.minimum(length, 0.53 * q / np.sqrt(np.maximum(n2, 1e-12))), length)
    gh = np.clip(-n2 * limited * limited / q2, -0.28, 0.0233)
    sh = a2 * (1 - 6 * a1 / b1) / (1 - 3 * a2 * gh * (6 * a1 + b2))
    sm = (a1 * (1 - 3 * c1 - 6 * a1 / b1) + sh * (18 * a1 * a1 + 9 * a1 * a2) * gh) / (1 - 9 * a1 * a2 * gh)
    ql = q * limited
    km = np.maximum(ql * sm, 1e-6)
    kh = np.maximum(ql * sh, 1e-7)
    kq = 0.41 * ql * sm
    shear = u_z * u_z + v_z * v_z
    production = km * shear
    buoyancy = -kh * n2
    dissipation_rate = q / (b1 * limited)
    source = np.maximum(production + buoyancy, 0.0)
    sink = np.minimum(production + buoyancy, 0.0) / q2 - dissipation_rate
    new = (q2 + 2 * step * source) / (1 - 2 * step * sink)
    new = np.maximum(new, 1e-8)
    dissipation = dissipation_rate * new
    flux_richardson = -buoyancy / np.maximum(production, 1e-12)
    prandtl = km / kh
    return new, km, kh, kq, dissipation, flux_richardson, prandtl
