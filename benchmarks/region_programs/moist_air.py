"""Compute humidity, condensation level, equivalent potential and wet-bulb temperature of air.

Source: Bolton (1980), Monthly Weather Review 108, equations 10, 22, 24 and 39; wet bulb by Stull (2011), Journal of
Applied Meteorology and Climatology 50, equation 1.
"""


def inputs(n, rng):
    """Return temperature in degrees Celsius, relative humidity in per cent and pressure in hPa."""
    return rng.uniform(-10, 38, n), rng.uniform(10, 99, n), rng.uniform(600, 1030, n)


def compute(np, t, rh, p):
    kelvin = t + 273.15
    es = 6.112 * np.exp(17.67 * t / (t + 243.5))
    e = es * rh / 100
    log_e = np.log(e / 6.112)
    dew = 243.5 * log_e / (17.67 - log_e)
    r = 0.622 * e / (p - e)
    rs = 0.622 * es / (p - es)
    q = r / (1 + r)
    virtual = kelvin * (1 + r / 0.622) / (1 + r)
    density = 100 * p / (287.04 * virtual)
    theta = kelvin * (1000 / p) ** 0.2854
    theta_v = theta * (1 + 0.61 * r)
    lcl = 1 / (1 / (kelvin - 55) - np.log(rh / 100) / 2840) + 55
    lcl_pressure = p * (lcl / kelvin) ** (1 / 0.2854)
    theta_moist = kelvin * (1000 / p) ** (0.2854 * (1 - 0.28 * r))
    theta_e = theta_moist * np.exp((3.376 / lcl - 0.00254) * 1e3 * r * (1 + 0.81 * r))
    wet = (
        t * np.arctan(0.151977 * np.sqrt(rh + 8.313659))
        + np.arctan(t + rh)
        - np.arctan(rh - 1.676331)
        + 0.00391838 * rh * np.sqrt(rh) * np.arctan(0.023101 * rh)
        - 4.686035
    )
    latent = 2.501e6 - 2370 * t
    enthalpy = 1004 * t + latent * r
    saturation_deficit = rs - r
    return dew, q, virtual, density, theta, theta_v, lcl, lcl_pressure, theta_e, wet, enthalpy, saturation_deficit
