"""Advance parameters by one step of AdamW with the gradient's norm clipped.

Source: Kingma and Ba (2015), arXiv:1412.6980; Loshchilov and Hutter (2019), arXiv:1711.05101.
"""


def inputs(n, rng):
    """Return parameters, gradient and both moments, in float32."""
    return (
        rng.normal(0, 1, n).astype("f4"),
        rng.normal(0, 0.1, n).astype("f4"),
        rng.normal(0, 0.05, n).astype("f4"),
        rng.uniform(0, 0.01, n).astype("f4"),
    )


def compute(np, weights, gradient, first, second):
    rate, beta1, beta2, decay, step = 1e-3, 0.9, 0.999, 0.01, 100
    norm = np.sqrt((gradient * gradient).sum())
    clipped = gradient * np.minimum(1.0, 1.0 / (norm + 1e-6))
    new_first = beta1 * first + (1 - beta1) * clipped
    new_second = beta2 * second + (1 - beta2) * clipped * clipped
    corrected = new_first / (1 - beta1**step)
    scale = np.sqrt(new_second / (1 - beta2**step)) + 1e-8
    new_weights = weights * (1 - rate * decay) - rate * corrected / scale
    change = new_weights - weights
    return new_weights, new_first, new_second, norm, np.sqrt((change * change).sum())
