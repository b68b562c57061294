"""Broadcasting rules."""
import numpy as np

a = np.array([[0.0, 0.0, 0.0], [10.0, 10.0, 10.0], [20.0, 20.0, 20.0], [30.0, 30.0, 30.0]])
b = np.array([1.0, 2.0, 3.0])
print(a + b)
try:
    a + np.array([1.0, 2.0, 3.0, 4.0])
except ValueError as error:
    print("ValueError:", error)
x = np.array([0.0, 10.0, 20.0, 30.0])
print(x[:, np.newaxis] + b)
observation = np.array([111.0, 188.0])
codes = np.array([[102.0, 203.0], [132.0, 193.0], [45.0, 155.0], [57.0, 173.0]])
diff = codes - observation
dist = np.sqrt(np.sum(diff**2, axis=-1))
print(np.argmin(dist))
print(np.broadcast_to(b, (2, 3)), np.broadcast_shapes((3, 1), (1, 4)))
