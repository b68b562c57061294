"""Python functions over arrays."""
import numpy as np


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


v = np.vectorize(collatz)
print(v(np.arange(1, 20)))
print(np.apply_along_axis(lambda r: r.max() - r.min(), 1, np.arange(12).reshape(3, 4) ** 2))
print(list(map(np.sqrt, [1, 4, 9])), [float(np.sin(t)) for t in (0.0, 0.5)])
f = np.frompyfunc(lambda a, b: a * 10 + b, 2, 1)
print(f(np.arange(3), np.arange(3)), np.piecewise(np.linspace(-2, 2, 5), [np.linspace(-2, 2, 5) < 0], [-1, 1]))
total = 0
for value in np.nditer(np.arange(6).reshape(2, 3)):
    total += value
print(total, np.fromiter((i * i for i in range(5)), dtype=int))
it = np.nditer(np.arange(4), flags=["f_index"])
print([(int(n), it.index) for n in it])
a = np.arange(6).reshape(2, 3)
with np.nditer(a, op_flags=["readwrite"]) as it:
    for n in it:
        n[...] = 2 * n
print(a)
