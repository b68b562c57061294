"""The first page of a NumPy tutorial."""
import numpy as np

a = np.arange(15).reshape(3, 5)
print(a)
print(a.shape, a.ndim, a.dtype.name, a.itemsize, a.size, type(a))
b = np.array([6, 7, 8])
print(b, type(b))
c = np.array([[1, 2], [3, 4]], dtype=complex)
print(c)
print(np.zeros((3, 4)))
print(np.ones((2, 3, 4), dtype=np.int16))
print(np.arange(10, 30, 5), np.arange(0, 2, 0.3))
x = np.linspace(0, 2 * np.pi, 9)
print(x)
print(np.sin(x).round(3))
d = np.array([20, 30, 40, 50])
e = np.arange(4)
print(d - e, e**2, 10 * np.sin(d), d < 35)
