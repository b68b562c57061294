"""Compute the spectral radiance of grey bodies behind an absorbing atmosphere.

Source: Planck's law with the constants of CODATA 2018; Kirchhoff's law for the atmosphere's own emission.
"""

NUMEXPR = (
    "1.191042972397188e8 / micron**5 * (e * exp(-tau) / expm1(14387.768775039337 / (micron * t))"
    " + (1 - exp(-tau)) / expm1(14387.768775039337 / (micron * air)))"
)


def inputs(n, rng):
    """Return wavelength in micrometres, surface temperature, emissivity, optical depth and air temperature."""
    return (
        rng.uniform(5, 15, n),
        rng.uniform(250, 320, n),
        rng.uniform(0.8, 1, n),
        rng.uniform(0, 2, n),
        rng.uniform(220, 290, n),
    )


def compute(np, micron, t, e, tau, air):
    first, second = 1.191042972397188e8, 14387.768775039337
    through = np.exp(-tau)
    surface = e * through / np.expm1(second / (micron * t))
    atmosphere = (1 - through) / np.expm1(second / (micron * air))
    return (first / micron**5 * (surface + atmosphere),)
