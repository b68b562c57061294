"""Dynamic programming over a table, a row, an anti-diagonal or an element at a time."""

from __future__ import annotations

import numpy as np

from workloads.row import program


@program(
    lambda r, n, m: (r.integers(0, 4, n), r.integers(0, 4, m)),
    tiny=(6, 5),
    small=(200, 240),
    medium=(4000, 4500),
    large=(20_000, 22_000),
)
def edit_distance(xp, a, b):
    """By anti-diagonals, whose elements do not depend on each other."""
    n, m = len(a), len(b)
    older, old = xp.zeros(n + 1, dtype=int), xp.zeros(n + 1, dtype=int)
    for s in range(1, n + m + 1):
        new = xp.full(n + 1, s)
        low, high = max(1, s - m), min(n, s - 1)
        if low <= high:
            differs = a[low - 1 : high] != b[s - high - 1 : s - low][::-1]
            either = xp.minimum(old[low - 1 : high], old[low : high + 1]) + 1
            new[low : high + 1] = xp.minimum(either, older[low - 1 : high] + differs)
        older, old = old, new
    return old[n]


@program(lambda r, n: (r.integers(0, 4, n),), tiny=(6,), small=(50,), medium=(220,), large=(900,))
def nussinov(xp, bases):
    """The most pairs of a folded strand, an element of the table at a time."""
    n = len(bases)
    table = xp.zeros((n, n), dtype=int)
    for i in range(n - 2, -1, -1):
        for j in range(i + 1, n):
            best = (table[i, i:j] + table[i + 1 : j + 1, j]).max()
            if bases[i] + bases[j] == 3 and j > i + 1:
                best = max(best, table[i + 1, j - 1] + 1)
            table[i, j] = best
    return table


@program(lambda r, n: (r.random((n, n)) * 100,), tiny=(6,), small=(150,), medium=(400,), large=(1000,))
def floyd_warshall(xp, distance):
    for k in range(len(distance)):
        distance = xp.minimum(distance, distance[:, k, None] + distance[None, k, :])
    return distance


def hidden_markov(r, states, length):
    def rows(n, m):
        chance = r.random((n, m))
        return np.log(chance / chance.sum(axis=1, keepdims=True))

    return rows(states, states), rows(states, 10), r.integers(0, 10, length)


@program(hidden_markov, tiny=(3, 6), small=(20, 400), medium=(150, 2500), large=(600, 1500))
def viterbi(xp, transition, emission, seen):
    states, length = len(transition), len(seen)
    best = emission[:, seen[0]].copy()
    came = xp.zeros((length, states), dtype=int)
    for t in range(1, length):
        scores = best[:, None] + transition
        came[t] = scores.argmax(axis=0)
        best = scores.max(axis=0) + emission[:, seen[t]]
    path = xp.zeros(length, dtype=int)
    path[-1] = best.argmax()
    for t in range(length - 1, 0, -1):
        path[t - 1] = came[t, path[t]]
    return path, best.max()


@program(
    lambda r, items, room: (r.integers(1, room // 4, items), r.integers(1, 100, items), room),
    tiny=(4, 20),
    small=(400, 5000),
    medium=(2000, 80_000),
    large=(2500, 800_000),
)
def knapsack(xp, weights, prices, room):
    best = xp.zeros(room + 1, dtype=int)
    for i in range(len(weights)):
        weight = int(weights[i])
        best[weight:] = xp.maximum(best[weight:], best[:-weight] + prices[i])
    return best


@program(lambda r, n: (n,), tiny=(50,), small=(1_500_000,), medium=(25_000_000,), large=(150_000_000,))
def sieve(xp, n):
    """Eratosthenes: strides are struck out."""
    prime = xp.ones(n, dtype=bool)
    prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if prime[i]:
            prime[i * i :: i] = False
    found = xp.flatnonzero(prime)
    return found[-5:], len(found)
