"""A two-layer network that learns XOR."""
import numpy as np
import numpy.random as npr

X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
y = np.array([[0], [1], [1], [0]])
npr.seed(1)
W0 = 2 * npr.random((2, 8)) - 1
W1 = 2 * npr.random((8, 1)) - 1
for step in range(3000):
    l1 = 1 / (1 + np.exp(-X.dot(W0)))
    l2 = 1 / (1 + np.exp(-l1.dot(W1)))
    error = y - l2
    d2 = error * l2 * (1 - l2)
    d1 = d2.dot(W1.T) * l1 * (1 - l1)
    W1 += l1.T.dot(d2)
    W0 += X.T.dot(d1)
    if step % 1000 == 0:
        print("Error: %.4f" % np.mean(np.abs(error)))
print(np.round(l2).astype(int))
