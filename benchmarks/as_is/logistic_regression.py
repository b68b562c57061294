"""Logistic regression by gradient descent."""
import numpy as np
from numpy.random import default_rng


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


rng = default_rng(0)
n = 500
X = np.vstack([rng.normal(-1, 1, (n, 2)), rng.normal(1, 1, (n, 2))])
y = np.hstack([np.zeros(n), np.ones(n)])
w = np.zeros(2)
b = 0.0
for epoch in range(100):
    p = sigmoid(X @ w + b)
    w -= 0.1 * X.T @ (p - y) / len(y)
    b -= 0.1 * np.mean(p - y)
    if epoch % 20 == 0:
        loss = -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))
        print(f"epoch {epoch}: loss {loss:.6f}")
print("accuracy", np.mean((sigmoid(X @ w + b) > 0.5) == y))
