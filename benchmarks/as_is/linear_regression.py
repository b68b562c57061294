"""Least squares by hand and by numpy."""
import numpy as np
import numpy.random as npr

npr.seed(0)
X = 2 * npr.rand(100, 1)
y = 4 + 3 * X + npr.randn(100, 1)
X_b = np.c_[np.ones((100, 1)), X]
theta = np.linalg.inv(X_b.T.dot(X_b)).dot(X_b.T).dot(y)
print(np.round(theta, 6))
theta, *_ = np.linalg.lstsq(X_b, y, rcond=1e-6)
print(theta.round(6))
eta, m = 0.1, 100
theta = npr.randn(2, 1)
for iteration in range(200):
    gradients = 2 / m * X_b.T @ (X_b @ theta - y)
    theta = theta - eta * gradients
print(theta.round(4))
print(np.polyfit(X.ravel(), y.ravel(), 1).round(5))
