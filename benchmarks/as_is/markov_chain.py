"""A weather chain."""
import numpy as np
from numpy.random import default_rng

states = ["sun", "rain", "snow"]
P = np.array([[0.7, 0.2, 0.1], [0.4, 0.4, 0.2], [0.3, 0.3, 0.4]])
rng = default_rng(8)
s = 0
count = np.zeros(3, dtype=int)
for _ in range(1000):
    s = rng.choice(3, p=P[s])
    count[s] += 1
print(dict(zip(states, (count / count.sum()).tolist())))
w, v = np.linalg.eig(P.T)
stationary = np.real(v[:, np.argmax(np.real(w))])
print((stationary / stationary.sum()).round(8))
print(np.linalg.matrix_power(P, 50).round(8))
