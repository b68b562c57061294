"""Compute GELU, SiLU and softplus with their gradients by hand.

Source: Hendrycks and Gimpel (2016), Gaussian Error Linear Units, arXiv:1606.08415, the form with the hyperbolic
tangent; Elfwing, Uchibe and Doya (2017), arXiv:1702.03118.
"""


def inputs(n, rng):
    """Return activations and an incoming gradient, in float32."""
    return rng.normal(0, 2, n).astype("f4"), rng.normal(0, 1, n).astype("f4")


def compute(np, x, incoming):
    x2 = x * x
    inner = 0.7978845608028654 * x * (1 + 0.044715 * x2)
    tanh = np.tanh(inner)
    gelu = 0.5 * x * (1 + tanh)
    inner_slope = 0.7978845608028654 * (1 + 3 * 0.044715 * x2)
    gelu_slope = 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * inner_slope
    sigmoid = 1 / (1 + np.exp(-x))
    silu = x * sigmoid
    silu_slope = sigmoid * (1 + x * (1 - sigmoid))
    softplus = np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
    return gelu, incoming * gelu_slope, silu, incoming * silu_slope, softplus, incoming * sigmoid
