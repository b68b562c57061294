"""A subclass of ndarray with a unit."""
import numpy as np


class Quantity(np.ndarray):
    def __new__(cls, data, unit=""):
        obj = np.asarray(data).view(cls)
        obj.unit = unit
        return obj

    def __array_finalize__(self, obj):
        self.unit = getattr(obj, "unit", "")


q = Quantity([1.0, 2.0, 3.0], "m")
print(q, q.unit, (q * 2).unit, q[1:].unit, type(q + 1).__name__)
print(isinstance(q, np.ndarray), q.sum(), np.asarray(q))
