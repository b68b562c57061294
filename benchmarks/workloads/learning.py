"""Learning and data: clusters, regression, networks, ranks, correlations."""

from __future__ import annotations

import numpy as np

from workloads.row import program


@program(
    lambda r, n, k, steps: (r.random((n, 4)) + r.integers(0, 3, (n, 1)), r.random((k, 4)) * 3, steps),
    tiny=(40, 3, 2),
    small=(1000, 5, 8),
    medium=(20_000, 8, 10),
    large=(200_000, 12, 10),
)
def k_means(xp, points, centres, steps):
    for _ in range(steps):
        squared = ((points[:, None, :] - centres) ** 2).sum(axis=2)
        label = squared.argmin(axis=1)
        for k in range(len(centres)):
            members = points[label == k]
            if len(members) > 0:
                centres[k] = members.mean(axis=0)
    return centres, label


def two_classes(r, n, features, steps):
    x = r.standard_normal((n, features))
    return x, (x @ r.standard_normal(features) > 0).astype(float), steps


@program(two_classes, tiny=(20, 3, 3), small=(500, 10, 100), medium=(16_000, 50, 150), large=(50_000, 100, 150))
def logistic_regression(xp, x, y, steps):
    w, losses = xp.zeros(x.shape[1]), []
    for _ in range(steps):
        p = 1 / (1 + xp.exp(-(x @ w)))
        w -= 0.1 * (x.T @ (p - y) / len(y) + 0.001 * w)
        losses.append(float(-xp.mean(y * xp.log(p + 1e-9) + (1 - y) * xp.log(1 - p + 1e-9))))
    return w, losses[-1]


def digits(r, n, inside, steps):
    x = r.random((n, 64), dtype=np.float32)
    weights = [(r.standard_normal(s) * 0.1).astype(np.float32) for s in ((64, inside), (inside, 10))]
    return x, r.integers(0, 10, n), *weights, steps


@program(digits, tiny=(12, 5, 2), small=(100, 32, 20), medium=(2000, 128, 30), large=(8000, 256, 50))
def two_layer_network(xp, x, label, w1, w2, steps):
    """Training by steps along the gradient, in float32."""
    wanted = (label[:, None] == xp.arange(10)).astype(x.dtype)
    b1, b2 = xp.zeros(w1.shape[1], dtype=x.dtype), xp.zeros(10, dtype=x.dtype)
    for _ in range(steps):
        hidden = xp.maximum(x @ w1 + b1, 0)
        score = hidden @ w2 + b2
        score = xp.exp(score - score.max(axis=1, keepdims=True))
        chance = score / score.sum(axis=1, keepdims=True)
        wrong = (chance - wanted) / len(x)
        back = wrong @ w2.T
        back[hidden <= 0] = 0
        w2 -= 0.1 * (hidden.T @ wrong)
        b2 -= 0.1 * wrong.sum(axis=0)
        w1 -= 0.1 * (x.T @ back)
        b1 -= 0.1 * back.sum(axis=0)
    return w1, w2, -xp.log((chance * wanted).sum(axis=1)).mean()


def pictures(r, n, side, channels):
    def normal(*shape):
        return (r.standard_normal(shape) * 0.2).astype(np.float32)

    flat = ((side - 2) // 2) ** 2 * channels
    return r.random((n, side, side, 3), dtype=np.float32), normal(3, 3, 3, channels), normal(flat, 10)


@program(pictures, tiny=(2, 6, 2), small=(4, 24, 8), medium=(16, 50, 16), large=(64, 108, 16))
def convolution_network(xp, images, kernel, weights):
    """A convolution as sums over windows, ReLU, pooling, a dense layer, softmax."""
    n, height, width, _ = images.shape
    height, width = height - 2, width - 2
    out = xp.empty((n, height, width, kernel.shape[3]), dtype=images.dtype)
    for i in range(height):
        for j in range(width):
            window = images[:, i : i + 3, j : j + 3, :, None]
            out[:, i, j, :] = (window * kernel[None]).sum(axis=(1, 2, 3))
    out = xp.maximum(out, 0)
    pooled = out.reshape(n, height // 2, 2, width // 2, 2, -1).max(axis=(2, 4))
    score = pooled.reshape(n, -1) @ weights
    score = xp.exp(score - score.max(axis=-1, keepdims=True))
    return score / score.sum(axis=-1, keepdims=True)


def heads(r, n, length, depth):
    return tuple(r.standard_normal((n, length, depth), dtype=np.float32) for _ in range(3))


@program(heads, tiny=(2, 6, 4), small=(8, 160, 32), medium=(10, 800, 64), large=(16, 2000, 64))
def attention(xp, query, key, value):
    """Softmax of batched matrix products, with what comes later masked out."""
    length, depth = query.shape[1:]
    score = query @ key.transpose(0, 2, 1) / depth**0.5
    later = xp.arange(length)[:, None] < xp.arange(length)
    score = xp.where(later, -1e9, score)
    score = xp.exp(score - score.max(axis=-1, keepdims=True))
    return (score / score.sum(axis=-1, keepdims=True)) @ value


def links(r, pages, count, steps):
    return r.integers(0, pages, count), r.integers(0, pages, count), pages, steps


@program(links, tiny=(8, 30, 3), small=(2000, 20_000, 50), medium=(60_000, 900_000, 60), large=(500_000, 6_000_000, 50))
def page_rank(xp, source, target, pages, steps):
    leaving = xp.bincount(source, minlength=pages)
    rank = xp.full(pages, 1 / pages)
    for _ in range(steps):
        share = xp.where(leaving > 0, rank / xp.maximum(leaving, 1), 0)
        lost = rank[leaving == 0].sum()
        following = 0.15 / pages + 0.85 * (xp.bincount(target, weights=share[source], minlength=pages) + lost / pages)
        change = xp.abs(following - rank).sum()
        rank = following
        if change < 1e-13:
            break
    return rank, xp.argmax(rank)


def sparse(r, rows, columns):
    lengths = r.integers(0, 30, rows)
    start = np.concatenate(([0], np.cumsum(lengths)))
    return r.random(start[-1]), r.integers(0, columns, start[-1]), start, r.random(columns)


@program(sparse, tiny=(6, 8), small=(1000, 1000), medium=(40_000, 10_000), large=(500_000, 100_000))
def sparse_rows(xp, values, columns, start, x):
    """A sparse matrix times a vector, row by row."""
    y = xp.zeros(len(start) - 1)
    for i in range(len(y)):
        row = slice(int(start[i]), int(start[i + 1]))
        y[i] = values[row] @ x[columns[row]]
    return y


@program(lambda r, n, m: (r.random((n, m)),), tiny=(9, 4), small=(300, 200), medium=(1200, 1000), large=(2500, 1500))
def correlation(xp, data):
    """Column by column, each with those that come after it."""
    n, m = data.shape
    data = (data - data.mean(axis=0)) / (data.std(axis=0) * n**0.5)
    found = xp.eye(m)
    for i in range(m - 1):
        found[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
        found[i + 1 :, i] = found[i, i + 1 :]
    return found


@program(
    lambda r, n, queries: (r.random((n, 8), dtype=np.float32), r.random((queries, 8), dtype=np.float32)),
    tiny=(20, 3),
    small=(500, 100),
    medium=(3000, 600),
    large=(6000, 2000),
    differing=1e-3,
)
def nearest_neighbours(xp, points, queries):
    squared = ((queries[:, None, :] - points[None, :, :]) ** 2).sum(axis=-1)
    order = xp.argsort(squared, axis=1)[:, :5]
    return order, xp.take_along_axis(squared, order, axis=1)
