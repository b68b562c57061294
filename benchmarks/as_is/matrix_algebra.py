"""Linear algebra of small matrices."""
import numpy as np

A = np.array([[4.0, -2.0, 1.0], [-2.0, 4.0, -2.0], [1.0, -2.0, 4.0]])
b = np.array([11.0, -16.0, 17.0])
print(np.linalg.solve(A, b).round(10))
print(np.linalg.det(A).round(8), np.linalg.matrix_rank(A), np.trace(A))
print(np.linalg.cholesky(A).round(6))
w, v = np.linalg.eig(A)
print(np.sort(w).round(6))
q, r = np.linalg.qr(A)
print(np.abs(r).round(6))
print(np.allclose(q @ r, A), np.allclose(A @ np.linalg.inv(A), np.eye(3)))
print(np.linalg.norm(b), np.linalg.norm(A, "fro").round(6), np.linalg.cond(A).round(6))
print(np.kron(np.eye(2), np.array([[1, 2], [3, 4]])))
print(np.cross([1, 2, 3], [4, 5, 6]), np.inner([1, 2], [3, 4]), np.outer([1, 2], [3, 4]))
