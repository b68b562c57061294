"""How arrays print."""
import numpy as np
from numpy.random import default_rng

rng = default_rng(6)
x = rng.normal(size=(3, 4)) * 10.0 ** rng.integers(-5, 5, (3, 4))
print(x)
np.set_printoptions(precision=3, suppress=True)
print(x)
print(repr(x.astype(np.float32)), repr(np.arange(2000)), np.arange(10000).reshape(100, 100))
with np.printoptions(formatter={"float": "{:06.2f}".format}):
    print(np.linspace(0, 1, 4))
print(np.array2string(np.arange(5), separator=", "), np.array_repr(np.zeros(2)), str(np.bool_(True)), repr(np.float32(0.1)))
print(f"{np.float64(1) / 3:.3e}", np.format_float_positional(1e-7), np.binary_repr(10, 8), np.base_repr(255, 16))
print(np.array([]), np.array([[]]).shape, np.array([True, False]), np.array([1 + 2j, 3 - 1e-5j]), np.array([np.nan, np.inf]))
