"""Sharpen an image by its difference from a blurred copy, where the difference exceeds a threshold.

Source: Gonzalez and Woods, Digital Image Processing, 4th edition (2018), section 3.6; a binomial filter of five taps.
"""


def inputs(n, rng):
    """Return a square image in float32."""
    side = round(n**0.5)
    return (rng.random((side, side)).astype("f4"),)


def compute(np, image):
    rows = (image[:-4] + image[4:] + 4 * (image[1:-3] + image[3:-1]) + 6 * image[2:-2]) * 0.0625
    blurred = (rows[:, :-4] + rows[:, 4:] + 4 * (rows[:, 1:-3] + rows[:, 3:-1]) + 6 * rows[:, 2:-2]) * 0.0625
    centre = image[2:-2, 2:-2]
    detail = centre - blurred
    strong = np.abs(detail) > 0.05
    amount = 1.5 * (1 - np.exp(-8 * np.abs(detail)))
    sharpened = np.clip(np.where(strong, centre + amount * detail, centre), 0, 1)
    variance = (rows * rows)[:, 2:-2] - blurred * blurred
    contrast = np.sqrt(np.maximum(variance, 0)) / (blurred + 0.01)
    return sharpened, blurred, contrast, strong.mean()
