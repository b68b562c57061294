"""Compute wind stress and the fluxes of heat and water over the sea by bulk formulae with stability.

Source: Large and Yeager (2004), NCAR technical note 460, equations 6 to 10; stability functions of Paulson (1970).
"""


def inputs(n, rng):
    """Return two winds at 10 m, air temperature at 2 m, specific humidity and the temperature of the surface."""
    sea = rng.uniform(273, 303, n)
    return (
        rng.normal(0, 7, n),
        rng.normal(0, 7, n),
        sea + rng.normal(-1, 2, n),
        rng.uniform(2e-3, 1.5e-2, n),
        sea,
    )


def compute(np, u, v, t, q, sea):
    rho, cp, latent, gravity, karman = 1.22, 1000.5, 2.5e6, 9.80, 0.4
    wind = np.maximum(np.sqrt(u * u + v * v), 0.5)
    q_sea = 0.98 / rho * 640380.0 * np.exp(-5107.4 / sea)
    virtual = t * (1 + 0.608 * q)
    neutral = 2.7e-3 / wind + 1.42e-4 + 7.64e-5 * wind
    stable = t > sea
    cd = neutral
    ch = np.sqrt(neutral) * np.where(stable, 18.0e-3, 32.7e-3)
    ce = 34.6e-3 * np.sqrt(neutral)
    dt, dq = t - sea, q - q_sea
    for _ in range(2):
        root = np.sqrt(cd)
        friction = root * wind
        t_star = ch / root * dt
        q_star = ce / root * dq
        z = karman * gravity * 10 / (friction * friction) * (t_star / virtual + q_star / (q + 1 / 0.608))
        z = np.clip(z, -10.0, 10.0)
        x = np.sqrt(np.sqrt(np.abs(1 - 16 * np.minimum(z, 0.0))))
        x2 = x * x
        psi_m = np.where(
            z > 0, -5 * z, 2 * np.log((1 + x) / 2) + np.log((1 + x2) / 2) - 2 * np.arctan(x) + 1.5707963267948966
        )
        psi_h = np.where(z > 0, -5 * z, 2 * np.log((1 + x2) / 2))
        wind_n = np.maximum(wind / (1 - np.sqrt(neutral) / karman * psi_m), 0.5)
        neutral = 2.7e-3 / wind_n + 1.42e-4 + 7.64e-5 * wind_n
        root_n = np.sqrt(neutral)
        ch_n = root_n * np.where(z > 0, 18.0e-3, 32.7e-3)
        ce_n = 34.6e-3 * root_n
        shape = 1 - root_n / karman * psi_m
        cd = neutral / (shape * shape)
        ratio = np.sqrt(cd / neutral)
        ch = ch_n * ratio / (1 - ch_n / (karman * root_n) * psi_h)
        ce = ce_n * ratio / (1 - ce_n / (karman * root_n) * psi_h)
    stress = rho * cd * wind
    sensible = rho * cp * ch * wind * dt
    evaporation = rho * ce * wind * dq
    return stress * u, stress * v, sensible, latent * evaporation, evaporation, cd
