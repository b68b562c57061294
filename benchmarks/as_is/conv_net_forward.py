"""A convolution layer by im2col, as in a course."""
import numpy as np
import numpy.random as npr

npr.seed(231)


def im2col(x, k):
    n, c, h, w = x.shape
    oh, ow = h - k + 1, w - k + 1
    cols = np.empty((n, c, k, k, oh, ow))
    for i in range(k):
        for j in range(k):
            cols[:, :, i, j] = x[:, :, i : i + oh, j : j + ow]
    return cols.transpose(0, 4, 5, 1, 2, 3).reshape(n * oh * ow, -1)


x = npr.randn(4, 3, 12, 12)
w = npr.randn(6, 3, 3, 3) * 0.1
cols = im2col(x, 3)
out = (cols @ w.reshape(6, -1).T).reshape(4, 10, 10, 6).transpose(0, 3, 1, 2)
relu = np.maximum(out, 0)
pool = relu.reshape(4, 6, 5, 2, 5, 2).max(axis=(3, 5))
print(pool.shape, pool.mean().round(6), np.sum(relu > 0))
logits = pool.reshape(4, -1) @ (npr.randn(150, 10) * 0.01)
print(logits.argmax(axis=1), logits.round(4)[0])
