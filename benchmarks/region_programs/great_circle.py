"""Compute distances on the sphere by the haversine formula.

Source: Sinnott (1984), Sky and Telescope 68.
"""

NUMEXPR = "12742.0176 * arcsin(sqrt(sin(0.5 * (lat2 - lat1))**2 + cos(lat1) * cos(lat2) * sin(0.5 * (lon2 - lon1))**2))"


def inputs(n, rng):
    """Return latitudes and longitudes of two points, in radians."""
    return rng.uniform(-1.5, 1.5, n), rng.uniform(-1.5, 1.5, n), rng.uniform(-1.5, 1.5, n), rng.uniform(-1.5, 1.5, n)


def compute(np, lat1, lon1, lat2, lon2):
    half_lat = np.sin(0.5 * (lat2 - lat1))
    half_lon = np.sin(0.5 * (lon2 - lon1))
    square = half_lat**2 + np.cos(lat1) * np.cos(lat2) * half_lon**2
    return (12742.0176 * np.arcsin(np.sqrt(square)),)
