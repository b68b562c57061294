"""Sorting, searching, sets."""
import numpy as np

a = np.array([3, 1, 2, 3, 5, 1])
print(np.sort(a), np.argsort(a, kind="stable"), np.unique(a, return_inverse=True))
print(np.searchsorted([1, 2, 3, 5], [0, 2, 4, 9]), np.digitize([0.2, 6.4, 3.0], [0.0, 1.0, 2.5, 4.0]))
print(np.isin(a, [1, 5]), np.union1d(a, [9]), np.setdiff1d(a, [1]), np.setxor1d([1, 2], [2, 3]))
print(np.partition(a, 2)[:3].max(), np.lexsort((a, a % 2)), np.flatnonzero(a == 3), np.argwhere(a > 2).T)
m = np.array([[3, 1], [2, 2], [1, 3]])
print(m[m[:, 1].argsort()], np.sort(m, axis=0), m.argmax(axis=0), np.take_along_axis(m, m.argsort(1), 1))
print(np.count_nonzero(m > 1, axis=1), np.extract(m > 2, m), np.select([m > 2, m < 2], [1, -1]))
