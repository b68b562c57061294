"""Copies and views."""
import numpy as np

a = np.array([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])
b = a
print(b is a)
c = a.view()
print(c is a, c.base is a, c.flags.owndata)
c = c.reshape((2, 6))
print(a.shape)
c[0, 4] = 1234
print(a)
s = a[:, 1:3]
s[:] = 10
print(a)
d = a.copy()
print(d is a, d.base is a)
d[0, 0] = 9999
print(a)
print(np.shares_memory(a, s), np.may_share_memory(a, d))
