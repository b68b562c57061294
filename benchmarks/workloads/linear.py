"""Linear algebra written as loops: factorizations, triangular solves, recurrences, iterations."""

from __future__ import annotations

import numpy as np

from workloads.row import program


def positive(r, n):
    a = r.random((n, n))
    return (a @ a.T + n * np.eye(n),)


def dominant(r, n):
    return (r.random((n, n)) + n * np.eye(n),)


@program(positive, tiny=(6,), small=(45,), medium=(300,), large=(1300,))
def cholesky(xp, a):
    """Element by element, as the formula has it."""
    for i in range(len(a)):
        for j in range(i):
            a[i, j] = (a[i, j] - a[i, :j] @ a[j, :j]) / a[j, j]
        a[i, i] = (a[i, i] - a[i, :i] @ a[i, :i]) ** 0.5
    return xp.tril(a)


@program(positive, tiny=(6,), small=(400,), medium=(1200,), large=(3200,))
def cholesky_by_columns(xp, a):
    factor = xp.zeros_like(a)
    for j in range(len(a)):
        column = a[j:, j] - factor[j:, :j] @ factor[j, :j]
        factor[j:, j] = column / xp.sqrt(column[0])
    return factor


@program(dominant, tiny=(6,), small=(160,), medium=(550,), large=(1300,))
def lu(xp, a):
    n = len(a)
    for k in range(n - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= xp.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


@program(lambda r, m, n: (r.random((m, n)),), tiny=(6, 4), small=(120, 80), medium=(700, 400), large=(1000, 800))
def gram_schmidt(xp, a):
    n = a.shape[1]
    q, r = xp.zeros_like(a), xp.zeros((n, n))
    for k in range(n):
        r[k, k] = xp.sqrt(a[:, k] @ a[:, k])
        q[:, k] = a[:, k] / r[k, k]
        r[k, k + 1 :] = q[:, k] @ a[:, k + 1 :]
        a[:, k + 1 :] -= q[:, k, None] * r[k, k + 1 :]
    return q, r


@program(lambda r, m, n: (r.random((m, n)),), tiny=(6, 4), small=(240, 120), medium=(700, 400), large=(1400, 800))
def householder(xp, a):
    for k in range(a.shape[1]):
        v = a[k:, k].copy()
        length = float(xp.sqrt((v * v).sum()))
        v[0] += length if v[0] > 0 else -length
        v /= xp.sqrt(v @ v)
        a[k:, k:] -= 2 * xp.outer(v, v @ a[k:, k:])
    return xp.triu(a)


@program(
    lambda r, n, count: (*dominant(r, n), r.random((count, n))),
    tiny=(6, 2),
    small=(500, 3),
    medium=(2500, 12),
    large=(7000, 70),
)
def triangular_solve(xp, lower, right):
    """Forward, for one right-hand side after the other."""
    found = xp.zeros_like(right)
    for x, b in zip(found, right, strict=True):
        for i in range(len(b)):
            x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return found


@program(lambda r, n: (r.random(n) / n,), tiny=(8,), small=(500,), medium=(6000,), large=(33_000,))
def durbin(xp, r):
    """The recurrence for a Toeplitz system."""
    y = xp.zeros_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = alpha
    for k in range(1, len(r)):
        beta *= 1 - alpha * alpha
        alpha = -(r[k] + xp.dot(xp.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * xp.flip(y[:k])
        y[k] = alpha
    return y


@program(
    lambda r, n, steps: (r.random((n, n)), steps), tiny=(8, 3), small=(50, 60), medium=(250, 250), large=(1200, 75)
)
def conjugate_gradient(xp, b, steps):
    """Poisson's equation on a grid, with the residual looked at in every step."""

    def apply(x):
        y = 4 * x
        y[1:, :] -= x[:-1, :]
        y[:-1, :] -= x[1:, :]
        y[:, 1:] -= x[:, :-1]
        y[:, :-1] -= x[:, 1:]
        return y

    x = xp.zeros_like(b)
    residual = b.copy()
    direction = residual.copy()
    squared = (residual * residual).sum()
    for _ in range(steps):
        applied = apply(direction)
        alpha = squared / (direction * applied).sum()
        x += alpha * direction
        residual -= alpha * applied
        following = (residual * residual).sum()
        if following < 1e-20:
            break
        direction = residual + following / squared * direction
        squared = following
    return x
