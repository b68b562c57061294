"""Multiply quaternions, rotate vectors by the products, and convert the products to Euler angles.

Source: Diebel (2006), Representing Attitude, Stanford University, sections 6.1 to 6.4 and 8.2.
"""


def inputs(n, rng):
    """Return the components of two quaternions and of a vector."""
    return tuple(rng.normal(0, 1, n) for _ in range(11))


def compute(np, aw, ax, ay, az, bw, bx, by, bz, x, y, z):
    w = aw * bw - ax * bx - ay * by - az * bz
    i = aw * bx + ax * bw + ay * bz - az * by
    j = aw * by - ax * bz + ay * bw + az * bx
    k = aw * bz + ax * by - ay * bx + az * bw
    inverse = 1 / np.sqrt(w * w + i * i + j * j + k * k)
    w, i, j, k = w * inverse, i * inverse, j * inverse, k * inverse
    tx, ty, tz = 2 * (j * z - k * y), 2 * (k * x - i * z), 2 * (i * y - j * x)
    rx = x + w * tx + (j * tz - k * ty)
    ry = y + w * ty + (k * tx - i * tz)
    rz = z + w * tz + (i * ty - j * tx)
    roll = np.arctan2(2 * (w * i + j * k), 1 - 2 * (i * i + j * j))
    pitch = np.arcsin(np.clip(2 * (w * j - k * i), -1.0, 1.0))
    yaw = np.arctan2(2 * (w * k + i * j), 1 - 2 * (j * j + k * k))
    return w, i, j, k, rx, ry, rz, roll, pitch, yaw
