"""Convert colours from RGB to HSV, raise their saturation, and convert them back.

Source: Smith (1978), Color Gamut Transform Pairs, SIGGRAPH; the hexagonal cone written with arrays.
"""


def inputs(n, rng):
    """Return the red, green and blue planes of a square image, in float32."""
    side = round(n**0.5)
    return tuple(rng.random((side, side)).astype("f4") for _ in range(3))


def compute(np, r, g, b):
    value = np.maximum(np.maximum(r, g), b)
    least = np.minimum(np.minimum(r, g), b)
    chroma = value - least
    safe = np.where(chroma > 0, chroma, 1)
    hue = np.where(
        value == r,
        (g - b) / safe,
        np.where(value == g, 2 + (b - r) / safe, 4 + (r - g) / safe),
    )
    hue = np.where(hue < 0, hue + 6, hue) * (chroma > 0)
    saturation = chroma / np.where(value > 0, value, 1)

    stronger = np.minimum(saturation * 1.2, 1)
    sector = np.floor(hue)
    part = hue - sector
    p = value * (1 - stronger)
    q = value * (1 - stronger * part)
    t = value * (1 - stronger * (1 - part))

    def pick(*choices):
        result = choices[5]
        for k in range(4, -1, -1):
            result = np.where(sector == k, choices[k], result)
        return result

    return (
        hue / 6,
        saturation,
        value,
        pick(value, q, p, p, t, value),
        pick(t, value, value, q, p, p),
        pick(p, p, t, value, value, q),
    )
