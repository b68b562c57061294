"""Normalise rows, and compute the gradients of layer normalisation by hand.

Source: Ba, Kiros and Hinton (2016), Layer Normalization, arXiv:1607.06450; the gradient by the chain rule.
"""

WIDTH = 64


def inputs(n, rng):
    """Return rows of 64 values, their incoming gradient, gain and bias, in float32."""
    shape = (n // WIDTH, WIDTH)
    return (
        rng.normal(1, 2, shape).astype("f4"),
        rng.normal(0, 1, shape).astype("f4"),
        rng.uniform(0.5, 1.5, WIDTH).astype("f4"),
        rng.normal(0, 1, WIDTH).astype("f4"),
    )


def compute(np, x, incoming, gain, bias):
    mean = x.mean(axis=1, keepdims=True)
    centred = x - mean
    variance = (centred * centred).mean(axis=1, keepdims=True)
    inverse = 1 / np.sqrt(variance + 1e-5)
    normal = centred * inverse
    y = normal * gain + bias
    scaled = incoming * gain
    first = scaled.mean(axis=1, keepdims=True)
    second = (scaled * normal).mean(axis=1, keepdims=True)
    x_gradient = (scaled - first - normal * second) * inverse
    gain_gradient = (incoming * normal).sum(axis=0)
    bias_gradient = incoming.sum(axis=0)
    return y, x_gradient, gain_gradient, bias_gradient
