"""Compute the density of seawater, its thermal expansion and its haline contraction.

Source: the international equation of state EOS-80, Millero and Poisson (1981), Deep-Sea Research 28A, and UNESCO
technical paper in marine science 44 (1983). The derivatives are those of the polynomials.
"""


def inputs(n, rng):
    """Return practical salinity, temperature in degrees Celsius and pressure in bar."""
    return rng.uniform(30, 40, n), rng.uniform(-2, 30, n), rng.uniform(0, 1000, n)


def compute(np, s, t, p):
    root = np.sqrt(s)
    s15 = s * root

    water = 999.842594 + t * (
        6.793952e-2 + t * (-9.095290e-3 + t * (1.001685e-4 + t * (-1.120083e-6 + t * 6.536332e-9)))
    )
    a = 8.24493e-1 + t * (-4.0899e-3 + t * (7.6438e-5 + t * (-8.2467e-7 + t * 5.3875e-9)))
    b = -5.72466e-3 + t * (1.0227e-4 - t * 1.6546e-6)
    surface = water + a * s + b * s15 + 4.8314e-4 * s * s

    water_t = 6.793952e-2 + t * (
        -2 * 9.095290e-3 + t * (3 * 1.001685e-4 + t * (-4 * 1.120083e-6 + t * (5 * 6.536332e-9)))
    )
    a_t = -4.0899e-3 + t * (2 * 7.6438e-5 + t * (-3 * 8.2467e-7 + t * (4 * 5.3875e-9)))
    b_t = 1.0227e-4 - t * (2 * 1.6546e-6)
    surface_t = water_t + a_t * s + b_t * s15
    surface_s = a + 1.5 * b * root + 2 * 4.8314e-4 * s

    k_water = 19652.21 + t * (148.4206 + t * (-2.327105 + t * (1.360477e-2 - t * 5.155288e-5)))
    k_s = 54.6746 + t * (-0.603459 + t * (1.09987e-2 - t * 6.1670e-5))
    k_s15 = 7.944e-2 + t * (1.6483e-2 - t * 5.3009e-4)
    c = 3.239908 + t * (1.43713e-3 + t * (1.16092e-4 - t * 5.77905e-7))
    c_s = 2.2838e-3 + t * (-1.0981e-5 - t * 1.6078e-6)
    d = 8.50935e-5 + t * (-6.12293e-6 + t * 5.2787e-8)
    d_s = -9.9348e-7 + t * (2.0816e-8 + t * 9.1697e-10)
    k = k_water + k_s * s + k_s15 * s15 + p * (c + c_s * s + 1.91075e-4 * s15) + p * p * (d + d_s * s)

    k_water_t = 148.4206 + t * (-2 * 2.327105 + t * (3 * 1.360477e-2 - t * (4 * 5.155288e-5)))
    k_s_t = -0.603459 + t * (2 * 1.09987e-2 - t * (3 * 6.1670e-5))
    k_s15_t = 1.6483e-2 - t * (2 * 5.3009e-4)
    c_t = 1.43713e-3 + t * (2 * 1.16092e-4 - t * (3 * 5.77905e-7))
    c_s_t = -1.0981e-5 - t * (2 * 1.6078e-6)
    d_t = -6.12293e-6 + t * (2 * 5.2787e-8)
    d_s_t = 2.0816e-8 + t * (2 * 9.1697e-10)
    k_dt = k_water_t + k_s_t * s + k_s15_t * s15 + p * (c_t + c_s_t * s) + p * p * (d_t + d_s_t * s)
    k_ds = k_s + 1.5 * k_s15 * root + p * (c_s + 1.5 * 1.91075e-4 * root) + p * p * d_s

    compression = 1 - p / k
    density = surface / compression
    squared = p / (k * k * compression)
    expansion = -(surface_t / compression - density * squared * k_dt) / density
    contraction = (surface_s / compression - density * squared * k_ds) / density
    return density, expansion, contraction
