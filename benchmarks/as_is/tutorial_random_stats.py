"""Seeded random numbers and their statistics."""
import numpy as np

np.random.seed(42)
data = np.random.randn(1000)
print("mean", round(data.mean(), 6))
print("std", round(data.std(), 6))
print("median", round(np.median(data), 6))
print(np.percentile(data, [5, 25, 50, 75, 95]).round(6))
hist, edges = np.histogram(data, bins=5)
print(hist, edges.round(4))
print(np.random.randint(0, 10, size=(3, 4)))
print(np.random.choice(["a", "b", "c"], 5))
order = np.arange(8)
np.random.shuffle(order)
print(order, np.random.permutation(5), np.random.uniform(1, 2))
