"""Exercises in the manner of numpy-100, last part."""
import numpy as np
from numpy.random import default_rng
from numpy.lib.stride_tricks import sliding_window_view

Z = np.arange(1, 15, dtype=np.uint32)
print(sliding_window_view(Z, window_shape=4)[:3])
rng = default_rng(3)
Z = rng.random((10, 10))
U, S, V = np.linalg.svd(Z)
print(np.sum(S > 1e-10))
Z = rng.integers(0, 10, 50)
print(np.bincount(Z).argmax())
Z = rng.integers(0, 5, (10, 10))
n = 3
C = sliding_window_view(Z, (n, n))
print(C.shape, C[2, 2])
Z = np.ones((16, 16))
k = 4
print(np.add.reduceat(np.add.reduceat(Z, np.arange(0, 16, k), axis=0), np.arange(0, 16, k), axis=1))


def iterate(Z):
    N = (
        Z[0:-2, 0:-2] + Z[0:-2, 1:-1] + Z[0:-2, 2:] + Z[1:-1, 0:-2]
        + Z[1:-1, 2:] + Z[2:, 0:-2] + Z[2:, 1:-1] + Z[2:, 2:]
    )
    birth = (N == 3) & (Z[1:-1, 1:-1] == 0)
    survive = ((N == 2) | (N == 3)) & (Z[1:-1, 1:-1] == 1)
    Z[...] = 0
    Z[1:-1, 1:-1][birth | survive] = 1
    return Z


Z = rng.integers(0, 2, (20, 20))
for _ in range(20):
    Z = iterate(Z)
print(Z.sum())
Z = np.arange(100)
print(Z[np.argsort(rng.random(100))[-5:]])
X = rng.integers(0, 5, (20, 3))
E = np.all(X[:, 1:] == X[:, :-1], axis=1)
print(X[~E][:4])
I = np.array([0, 1, 2, 3, 15, 16, 32, 64, 128])
B = ((I.reshape(-1, 1) & (2 ** np.arange(8))) != 0).astype(int)
print(B[:, ::-1])
print(np.unpackbits(I.astype(np.uint8)[:, np.newaxis], axis=1)[:3])
print(np.unique(np.array([[0, 1], [0, 1], [2, 3]]), axis=0))
print(np.einsum("i,j->ij", np.arange(3), np.arange(3)))
