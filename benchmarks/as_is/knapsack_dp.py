"""Dynamic programming: knapsack and edit distance."""
import numpy as np


def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1, dtype=int)
    for w, v in zip(weights, values):
        best[w:] = np.maximum(best[w:], best[:-w] + v)
    return best[-1]


def distance(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    d[:, 0] = np.arange(len(a) + 1)
    d[0, :] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
    return d[-1, -1]


print(knapsack([3, 4, 5, 9, 4], [3, 4, 4, 10, 4], 11))
print(distance("kitten", "sitting"), distance("saturday", "sunday"))
