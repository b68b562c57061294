"""Compute the loss of a logistic regression with weights of samples, its gradient and the diagonal of its Hessian.

Source: Bishop, Pattern Recognition and Machine Learning (2006), section 4.3; products written as sums.
"""

FEATURES = 8


def inputs(n, rng):
    """Return 8 features of each sample, labels, weights of samples, and coefficients."""
    rows = n // FEATURES
    return (
        rng.normal(0, 1, (rows, FEATURES)),
        (rng.random(rows) < 0.4).astype("f8"),
        rng.uniform(0.5, 2, rows),
        rng.normal(0, 1, FEATURES),
    )


def compute(np, features, labels, weights, coefficients):
    margin = (features * coefficients).sum(axis=1) - 0.3
    size = np.exp(-np.abs(margin))
    softplus = np.maximum(margin, 0.0) + np.log1p(size)
    probability = np.where(margin >= 0, 1.0, size) / (1 + size)
    total = weights.sum()
    loss = (weights * (softplus - labels * margin)).sum() / total
    penalty = 0.01 * (coefficients * coefficients).sum()
    residual = weights * (probability - labels)
    gradient = (features * residual[:, None]).sum(axis=0) / total + 0.02 * coefficients
    intercept = residual.sum() / total
    curvature = weights * probability * (1 - probability)
    hessian = (features * features * curvature[:, None]).sum(axis=0) / total + 0.02
    correct = ((probability > 0.5) == (labels > 0.5)).mean()
    return loss + penalty, gradient, intercept, hessian, correct, probability
