"""Compute reflectance, transmittance and direct beam of cloudy layers in the two-stream approximation.

Source: Meador and Weaver (1980), Journal of the Atmospheric Sciences 37, equations 14, 15 and 25; the Eddington
coefficients of table 1 and the delta scaling of Joseph, Wiscombe and Weinman (1976).
"""


def inputs(n, rng):
    """Return optical depth, single-scattering albedo, asymmetry factor and cosine of the zenith angle."""
    return rng.uniform(0.01, 20, n), rng.uniform(0.3, 0.99, n), rng.uniform(0.5, 0.9, n), rng.uniform(0.15, 1, n)


def compute(np, depth, albedo, asymmetry, mu):
    f = asymmetry * asymmetry
    tau = (1 - albedo * f) * depth
    w = (1 - f) * albedo / (1 - albedo * f)
    g = (asymmetry - f) / (1 - f)

    gamma1 = (7 - w * (4 + 3 * g)) / 4
    gamma2 = -(1 - w * (4 - 3 * g)) / 4
    gamma3 = (2 - 3 * g * mu) / 4
    gamma4 = 1 - gamma3
    alpha1 = gamma1 * gamma4 + gamma2 * gamma3
    alpha2 = gamma1 * gamma3 + gamma2 * gamma4
    k = np.sqrt(np.maximum(gamma1 * gamma1 - gamma2 * gamma2, 1e-12))
    k_mu = k * mu
    near = np.abs(1 - k_mu * k_mu) < 1e-6
    resonance = np.where(near, 1e-6, 1 - k_mu * k_mu)

    falling = np.exp(-k * tau)
    rising = 1 / falling
    beam = np.exp(-tau / mu)
    denominator = resonance * ((k + gamma1) * rising + (k - gamma1) * falling)
    up = (1 - k_mu) * (alpha2 + k * gamma3) * rising
    down = (1 + k_mu) * (alpha2 - k * gamma3) * falling
    direct = 2 * (k * gamma3 - alpha2 * k_mu) * beam
    reflectance = w * (up - down - direct) / denominator
    up = (1 + k_mu) * (alpha1 + k * gamma4) * rising
    down = (1 - k_mu) * (alpha1 - k * gamma4) * falling
    direct = 2 * (k * gamma4 + alpha1 * k_mu)
    transmittance = beam - w * (beam * up - beam * down - direct) / denominator
    diffuse_denominator = (k + gamma1) * rising + (k - gamma1) * falling
    diffuse_reflectance = gamma2 * (rising - falling) / diffuse_denominator
    diffuse_transmittance = 2 * k / diffuse_denominator
    absorbed = np.maximum(1 - reflectance - transmittance, 0.0)
    return reflectance, transmittance, beam, diffuse_reflectance, diffuse_transmittance, absorbed
