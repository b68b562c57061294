"""Compute the gradient of an image, its magnitude and direction, and the edges that are maxima along it.

Source: the operator of Sobel (1968) and the suppression of Canny (1986), IEEE PAMI 8.
"""


def inputs(n, rng):
    """Return a square image in float32."""
    side = round(n**0.5)
    return (rng.random((side, side)).astype("f4"),)


def compute(np, image):
    nw, north, ne = image[:-2, :-2], image[:-2, 1:-1], image[:-2, 2:]
    west, east = image[1:-1, :-2], image[1:-1, 2:]
    sw, south, se = image[2:, :-2], image[2:, 1:-1], image[2:, 2:]
    gx = (ne + 2 * east + se) - (nw + 2 * west + sw)
    gy = (sw + 2 * south + se) - (nw + 2 * north + ne)
    magnitude = np.sqrt(gx * gx + gy * gy)
    angle = np.arctan2(gy, gx)
    ax, ay = np.abs(gx), np.abs(gy)
    middle = magnitude[1:-1, 1:-1]
    horizontal = np.maximum(magnitude[1:-1, :-2], magnitude[1:-1, 2:])
    vertical = np.maximum(magnitude[:-2, 1:-1], magnitude[2:, 1:-1])
    falling = np.maximum(magnitude[:-2, :-2], magnitude[2:, 2:])
    rising = np.maximum(magnitude[:-2, 2:], magnitude[2:, :-2])
    ax, ay = ax[1:-1, 1:-1], ay[1:-1, 1:-1]
    same = gx[1:-1, 1:-1] * gy[1:-1, 1:-1] > 0
    along = np.where(
        ay < 0.41421357 * ax,
        horizontal,
        np.where(ax < 0.41421357 * ay, vertical, np.where(same, falling, rising)),
    )
    thin = np.where(middle >= along, middle, 0)
    return magnitude, angle, thin, (thin > 1.5).sum()
