"""Orthonormal vectors and projections."""
import numpy as np


def gram_schmidt(V):
    basis = []
    for v in V:
        w = v - sum(np.dot(v, b) * b for b in basis)
        if (w > 1e-10).any() or (w < -1e-10).any():
            basis.append(w / np.linalg.norm(w))
    return np.array(basis)


V = np.array([[3.0, 1.0, 0.0], [2.0, 2.0, 1.0], [1.0, 0.0, 4.0]])
Q = gram_schmidt(V)
print(Q.round(6))
print(np.allclose(Q @ Q.T, np.eye(3)))
P = Q[:2].T @ Q[:2]
print((P @ np.array([1.0, 2.0, 3.0])).round(6), np.allclose(P @ P, P))
