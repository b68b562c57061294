"""Scaled dot-product attention, as an agent writes it."""
import numpy as np
from numpy.random import default_rng


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def attention(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -1e9)
    return softmax(scores) @ v


rng = default_rng(0)
B, H, T, D = 2, 4, 64, 16
q, k, v = (rng.standard_normal((B, H, T, D)).astype(np.float32) for _ in range(3))
mask = np.tril(np.ones((T, T), dtype=bool))
out = attention(q, k, v, mask)
print(out.shape, out.dtype, out[0, 0, :2, :3].round(4))
print(np.isfinite(out).all(), f"{float(np.abs(out).mean()):.5f}")
