"""Compute causal attention weights with a linear bias by distance, and their statistics.

Source: Vaswani et al. (2017), arXiv:1706.03762; the bias of Press, Smith and Lewis (2022), arXiv:2108.12409.
"""

LENGTH = 64


def inputs(n, rng):
    """Return scores of heads with 64 queries and 64 keys in float32, slopes of the heads, and ascending positions."""
    heads = n // (LENGTH * LENGTH)
    return (
        rng.normal(0, 8, (heads, LENGTH, LENGTH)).astype("f4"),
        rng.uniform(0.01, 0.5, (heads, 1, 1)).astype("f4"),
        rng.uniform(0.5, 1.5, LENGTH).cumsum().astype("f4"),
    )


def compute(np, scores, slopes, positions):
    distance = positions[:, None] - positions[None, :]
    visible = distance >= 0
    biased = scores * 0.125 - slopes * np.abs(distance)
    masked = np.where(visible, biased, -1e9)
    highest = masked.max(axis=2, keepdims=True)
    exponents = np.where(visible, np.exp(masked - highest), 0)
    total = exponents.sum(axis=2, keepdims=True)
    weights = exponents / total
    entropy = -(weights * np.log(weights + 1e-9)).sum(axis=2)
    reach = (weights * distance).sum(axis=2)
    log_total = highest[:, :, 0] + np.log(total[:, :, 0])
    return weights, entropy, reach, log_total
