"""Convert colours from sRGB to CIE Lab and back, and compute their distance from a reference.

Source: IEC 61966-2-1 (sRGB) and CIE 15:2004 (Lab, white point D65).
"""


def inputs(n, rng):
    """Return the red, green and blue planes of a square image, in float32."""
    side = round(n**0.5)
    return tuple(rng.random((side, side)).astype("f4") for _ in range(3))


def compute(np, r, g, b):
    def linear(c):
        return np.where(c > 0.04045, ((c + 0.055) / 1.055) ** 2.4, c / 12.92)

    def companded(c):
        c = np.maximum(c, 0)
        return np.where(c > 0.0031308, 1.055 * c ** (1 / 2.4) - 0.055, 12.92 * c)

    def forward(t):
        return np.where(t > 0.008856, np.cbrt(t), 7.787037 * t + 0.137931)

    def backward(f):
        return np.where(f > 0.206893, f * f * f, (f - 0.137931) / 7.787037)

    lr, lg, lb = linear(r), linear(g), linear(b)
    x = (0.4124564 * lr + 0.3575761 * lg + 0.1804375 * lb) / 0.95047
    y = 0.2126729 * lr + 0.7151522 * lg + 0.0721750 * lb
    z = (0.0193339 * lr + 0.1191920 * lg + 0.9503041 * lb) / 1.08883
    fx, fy, fz = forward(x), forward(y), forward(z)
    lightness = 116 * fy - 16
    a = 500 * (fx - fy)
    beta = 200 * (fy - fz)
    distance = np.sqrt((lightness - 50) ** 2 + a * a + beta * beta)

    fy2 = (lightness * 1.1 + 16) / 116
    x2 = 0.95047 * backward(fy2 + a / 500)
    y2 = backward(fy2)
    z2 = 1.08883 * backward(fy2 - beta / 200)
    r2 = companded(3.2404542 * x2 - 1.5371385 * y2 - 0.4985314 * z2)
    g2 = companded(-0.9692660 * x2 + 1.8760108 * y2 + 0.0415560 * z2)
    b2 = companded(0.0556434 * x2 - 0.2040259 * y2 + 1.0572252 * z2)
    return lightness, a, beta, distance, r2, g2, b2
