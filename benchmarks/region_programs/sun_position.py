"""Compute the sun's azimuth and elevation, air mass and the irradiance of a tilted plane under a clear sky.

Source: the low-precision formulae of Michalsky (1988), Solar Energy 40; air mass of Kasten and Young (1989), Applied
Optics 28; clear sky of Haurwitz (1945) with the diffuse fraction of Erbs et al. (1982).
"""


def inputs(n, rng):
    """Return days since noon of 1 January 2000, latitude and longitude in degrees, and a plane's tilt in radians."""
    return rng.uniform(0, 10000, n), rng.uniform(-60, 60, n), rng.uniform(-180, 180, n), rng.uniform(0, 1, n)


def compute(np, days, latitude, longitude, tilt):
    degree = 0.017453292519943295
    mean_longitude = (280.460 + 0.9856474 * days) % 360
    anomaly = (357.528 + 0.9856003 * days) % 360 * degree
    ecliptic = (mean_longitude + 1.915 * np.sin(anomaly) + 0.020 * np.sin(2 * anomaly)) * degree
    obliquity = (23.439 - 0.0000004 * days) * degree
    sin_ecliptic = np.sin(ecliptic)
    ascension = np.arctan2(np.cos(obliquity) * sin_ecliptic, np.cos(ecliptic))
    declination = np.arcsin(np.sin(obliquity) * sin_ecliptic)
    hours = (12 + 24 * (days - np.floor(days))) % 24
    sidereal = (6.697375 + 0.0657098242 * days + hours + longitude / 15) % 24
    hour_angle = sidereal * 15 * degree - ascension
    phi = latitude * degree
    sin_phi, cos_phi = np.sin(phi), np.cos(phi)
    sin_dec, cos_dec, cos_hour = np.sin(declination), np.cos(declination), np.cos(hour_angle)
    sine = sin_dec * sin_phi + cos_dec * cos_phi * cos_hour
    elevation = np.arcsin(np.clip(sine, -1.0, 1.0))
    azimuth = np.arctan2(-np.sin(hour_angle) * cos_dec, sin_dec * cos_phi - cos_dec * sin_phi * cos_hour)
    up = sine > 0.01
    altitude = np.maximum(elevation / degree, 0.5)
    air_mass = 1 / (np.maximum(sine, 0.01) + 0.50572 * (altitude + 6.07995) ** -1.6364)
    distance = 1.00014 - 0.01671 * np.cos(anomaly) - 0.00014 * np.cos(2 * anomaly)
    outside = 1361 / (distance * distance) * np.maximum(sine, 0.0)
    total = np.where(up, 1098 * np.maximum(sine, 0.01) * np.exp(-0.057 / np.maximum(sine, 0.01)), 0.0)
    clearness = np.clip(total / np.maximum(outside, 1.0), 0.0, 1.0)
    k2 = clearness * clearness
    fraction = np.where(
        clearness < 0.22,
        1 - 0.09 * clearness,
        np.where(
            clearness < 0.8,
            0.9511 - 0.1604 * clearness + 4.388 * k2 - 16.638 * k2 * clearness + 12.336 * k2 * k2,
            0.165,
        ),
    )
    diffuse = total * fraction
    beam = (total - diffuse) / np.maximum(sine, 0.01)
    incidence = np.maximum(sine * np.cos(tilt) - np.cos(elevation) * np.sin(tilt) * np.cos(azimuth), 0.0)
    plane = beam * incidence + diffuse * 0.5 * (1 + np.cos(tilt)) + 0.1 * total * (1 - np.cos(tilt))
    return elevation, azimuth, air_mass, total, diffuse, plane
