"""Seeded random numbers and their statistics."""
import numpy as np
import numpy.random as npr

npr.seed(42)
data = npr.randn(1000)
print("mean", round(data.mean(), 6))
print("std", round(data.std(), 6))
print("median", round(np.median(data), 6))
print(np.percentile(data, [5, 25, 50, 75, 95]).round(6))
hist, edges = np.histogram(data, bins=5)
print(hist, edges.round(4))
print(npr.randint(0, 10, size=(3, 4)))
print(npr.choice(["a", "b", "c"], 5))
order = np.arange(8)
npr.shuffle(order)
print(order, npr.permutation(5), npr.uniform(1, 2))
