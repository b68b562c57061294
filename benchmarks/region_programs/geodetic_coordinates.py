"""Convert geodetic to Earth-centred coordinates, shift the datum, and convert back.

Source: Bowring (1976), Survey Review 23, with one more iteration; the ellipsoid WGS 84 (NIMA TR8350.2).
"""


def inputs(n, rng):
    """Return latitude and longitude in radians and height in metres."""
    return rng.uniform(-1.5, 1.5, n), rng.uniform(-3.1, 3.1, n), rng.uniform(-100, 9000, n)


def compute(np, latitude, longitude, height):
    a, f = 6378137.0, 1 / 298.257223563
    b = a * (1 - f)
    e2 = f * (2 - f)
    second = e2 / (1 - e2)
    sin, cos = np.sin(latitude), np.cos(latitude)
    normal = a / np.sqrt(1 - e2 * sin * sin)
    x = (normal + height) * cos * np.cos(longitude)
    y = (normal + height) * cos * np.sin(longitude)
    z = (normal * (1 - e2) + height) * sin

    scale, rx, ry, rz = 1 + 1.2e-6, 1.0e-6, -0.7e-6, 1.9e-6
    shifted_x = 84.9 + scale * (x + rz * y - ry * z)
    shifted_y = 187.2 + scale * (-rz * x + y + rx * z)
    shifted_z = 121.3 + scale * (ry * x - rx * y + z)

    p = np.hypot(shifted_x, shifted_y)
    tangent = shifted_z / p * (a / b)
    for _ in range(2):
        c = 1 / np.sqrt(1 + tangent * tangent)
        s = tangent * c
        slope = (shifted_z + second * b * s * s * s) / (p - e2 * a * c * c * c)
        tangent = (1 - f) * slope
    new_latitude = np.arctan(slope)
    new_longitude = np.arctan2(shifted_y, shifted_x)
    cos = 1 / np.sqrt(1 + slope * slope)
    sin = slope * cos
    new_height = p * cos + shifted_z * sin - a * np.sqrt(1 - e2 * sin * sin)
    return x, y, z, new_latitude, new_longitude, new_height
