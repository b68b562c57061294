"""Exercises in the manner of numpy-100, first part."""
import numpy as np

Z = np.zeros(10)
print("%d bytes" % (Z.size * Z.itemsize))
Z[4] = 1
print(Z)
Z = np.arange(10, 50)[::-1]
print(Z)
print(np.arange(9).reshape(3, 3))
print(np.nonzero([1, 2, 0, 0, 4, 0]))
print(np.eye(3))
Z = np.ones((5, 5))
Z[1:-1, 1:-1] = 0
print(Z)
Z = np.pad(np.ones((3, 3)), pad_width=1, mode="constant", constant_values=0)
print(Z)
print(0 * np.nan, np.nan == np.nan, np.inf > np.nan, np.nan in set([np.nan]), 0.3 == 3 * 0.1)
print(np.diag(1 + np.arange(4), k=-1))
Z = np.zeros((8, 8), dtype=int)
Z[1::2, ::2] = 1
Z[::2, 1::2] = 1
print(Z)
print(np.unravel_index(99, (6, 7, 8)))
print(np.tile(np.array([[0, 1], [1, 0]]), (2, 2)))
print(np.dot(np.ones((5, 3)), np.ones((3, 2))))
