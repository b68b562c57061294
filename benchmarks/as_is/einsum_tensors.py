"""Contractions of tensors."""
import numpy as np

a = np.arange(24).reshape(2, 3, 4)
b = np.arange(12).reshape(4, 3)
print(np.einsum("ijk,kj->i", a, b), np.einsum("ii", np.eye(3)), np.einsum("ij->ji", b).shape)
print(np.tensordot(a, b, axes=([2, 1], [0, 1])), np.tensordot(a, b, 1).shape)
print(np.matmul(a, b).sum(), (a @ b)[0], np.vdot(b, b), np.moveaxis(a, 0, -1).shape)
q = np.einsum("bij,bjk->bik", np.ones((5, 2, 3)), np.ones((5, 3, 2)))
print(q.shape, q[0])
