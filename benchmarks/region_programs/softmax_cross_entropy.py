"""Compute softmax, the cross-entropy against smoothed targets, and its gradient by hand.

Source: Goodfellow, Bengio and Courville, Deep Learning (2016), section 6.2.2; label smoothing of Szegedy et al. (2016).
"""

CLASSES = 64


def inputs(n, rng):
    """Return logits and targets, 64 classes in a row, in float32."""
    rows = n // CLASSES
    logits = rng.normal(0, 2, (rows, CLASSES)).astype("f4")
    targets = (rng.integers(0, CLASSES, (rows, 1)) == range(CLASSES)).astype("f4")
    return logits, targets


def compute(np, logits, targets):
    smooth = targets * 0.9 + 0.1 / CLASSES
    shifted = logits - logits.max(axis=1, keepdims=True)
    exponents = np.exp(shifted)
    total = exponents.sum(axis=1, keepdims=True)
    probability = exponents / total
    log_probability = shifted - np.log(total)
    loss = -(smooth * log_probability).sum(axis=1)
    gradient = (probability - smooth) / logits.shape[0]
    entropy = -(probability * log_probability).sum(axis=1)
    return loss.mean(), gradient, probability, entropy
