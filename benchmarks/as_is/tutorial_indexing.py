"""Indexing, slicing and iterating."""
import numpy as np

a = np.arange(10) ** 3
print(a[2], a[2:5])
a[:6:2] = 1000
print(a, a[::-1])
for i in a:
    print(i ** (1 / 3.0))


def f(x, y):
    return 10 * x + y


b = np.fromfunction(f, (5, 4), dtype=int)
print(b[2, 3], b[0:5, 1], b[:, 1], b[1:3, :], b[-1])
for row in b:
    print(row)
for element in b.flat:
    print(element, end=" ")
print()
c = np.array([[[0, 1, 2], [10, 12, 13]], [[100, 101, 102], [110, 112, 113]]])
print(c.shape, c[1, ...], c[..., 2])
i = np.array([1, 1, 3, 8, 5])
print(a[i], a[np.array([[3, 4], [9, 7]])], b[b > 20])
