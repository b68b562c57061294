"""Advance vapour, cloud water, rain and temperature by one step of warm-rain microphysics.

Source: Kessler (1969), Meteorological Monographs 10, in the form of Klemp and Wilhelmson (1978), Journal of the
Atmospheric Sciences 35, equations 2.13 to 2.17; saturation after Tetens (1930).
"""


def inputs(n, rng):
    """Return potential temperature, pressure in Pa, and the mixing ratios of vapour, cloud water and rain."""
    return (
        rng.uniform(285, 310, n),
        rng.uniform(5e4, 1e5, n),
        rng.uniform(1e-3, 2e-2, n),
        without_negatives(rng.normal(5e-4, 1e-3, n)),
        without_negatives(rng.normal(5e-4, 1e-3, n)),
    )


def without_negatives(x):
    """Replace the negative values by zero."""
    return x * (x > 0)


def compute(np, theta, p, qv, qc, qr):
    step, cp, rd, latent = 10.0, 1004.0, 287.0, 2.5e6
    exner = (p / 1e5) ** (rd / cp)
    t = theta * exner
    rho = p / (rd * t * (1 + 0.61 * qv))
    es = 610.78 * np.exp(17.269 * (t - 273.16) / (t - 35.86))
    qs = 0.622 * es / (p - 0.378 * es)

    autoconversion = 1e-3 * np.maximum(qc - 1e-3, 0.0)
    accretion = 2.2 * qc * qr**0.875
    to_rain = np.minimum(step * (autoconversion + accretion), qc)
    qc = qc - to_rain
    qr = qr + to_rain

    content = np.maximum(rho * qr * 1e-3, 0.0)
    ventilation = 1.6 + 124.9 * content**0.2046
    deficit = np.maximum(1 - qv / qs, 0.0)
    rate = deficit * ventilation * content**0.525 / (rho * 1e-3 * (5.4e5 + 2.55e6 / (p * qs * 1e-2)))
    evaporation = np.minimum(step * np.maximum(rate, 0.0), qr)
    qr = qr - evaporation
    qv = qv + evaporation
    t = t - latent / cp * evaporation

    es = 610.78 * np.exp(17.269 * (t - 273.16) / (t - 35.86))
    qs = 0.622 * es / (p - 0.378 * es)
    slope = 17.269 * (273.16 - 35.86) * latent / cp * qs / (t - 35.86) ** 2
    condensation = np.maximum((qv - qs) / (1 + slope), -qc)
    qv = qv - condensation
    qc = qc + condensation
    t = t + latent / cp * condensation
    fall_speed = 36.34 * content**0.1364 * np.sqrt(1.2 / rho)
    return t / exner, qv, qc, qr, fall_speed, rho * qr * fall_speed
