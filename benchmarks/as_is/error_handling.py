"""Exceptions that programs catch."""
import numpy as np

for action in (
    lambda: np.arange(3)[5],
    lambda: np.ones(3).reshape(2, 2),
    lambda: np.linalg.inv(np.zeros((2, 2))),
    lambda: np.array([1, 2]) + "a",
    lambda: int(np.ones(3)),
    lambda: np.zeros(3).foo,
    lambda: np.ones((2, 3)) @ np.ones((2, 3)),
    lambda: np.array([1, 2, 3]).sum(axis=1),
    lambda: np.concatenate([]),
    lambda: np.array([1, 2, 3])["a"],
):
    try:
        print(action())
    except AttributeError:  # its message names the class in Python's own way
        print("AttributeError")
    except Exception as error:
        print(type(error).__name__, "-", error)
with np.errstate(divide="ignore", invalid="ignore"):
    print(np.array([1.0, 0.0, -1.0]) / 0)
