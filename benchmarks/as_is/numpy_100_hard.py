"""Exercises in the manner of numpy-100, third part."""
import numpy as np

Z = np.zeros((5, 5), [("x", float), ("y", float)])
Z["x"], Z["y"] = np.meshgrid(np.linspace(0, 1, 5), np.linspace(0, 1, 5))
print(Z[:2])
X = np.arange(8)
Y = X + 0.5
C = 1.0 / np.subtract.outer(X, Y)
print(np.linalg.det(C).round(3))
Z = np.arange(10, dtype=np.float32)
Y = Z.view(np.int32)
Y[:] = Z
print(Y)
for index, value in np.ndenumerate(np.arange(9).reshape(3, 3)):
    print(index, value)
X, Y = np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-1, 1, 5))
D = np.sqrt(X * X + Y * Y)
G = np.exp(-((D - 0.0) ** 2 / (2.0 * 1.0**2)))
print(G.round(4))
n, p = 5, 3
Z = np.zeros((n, n))
np.put(Z, [1, 5, 9], 1)
print(Z)
A = np.arange(25).reshape(5, 5)
A[[0, 1]] = A[[1, 0]]
print(A)
C = np.bincount([1, 1, 2, 3, 3, 3, 6])
print(np.repeat(np.arange(len(C)), C))
I = [1, 3, 9, 3, 4, 1]
X = [1, 2, 3, 4, 5, 6]
print(np.bincount(I, X))
Z = np.array([0, 0, 1, 1, 2, 2, 3])
print(np.unique(Z, return_counts=True))
