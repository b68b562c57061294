"""Write numbers of arrays as JSON."""
import json
from decimal import Decimal
from fractions import Fraction

import numpy as np

x = np.array([1.5, 2.5, 4.0])
print(json.dumps({"mean": float(x.mean()), "values": x.tolist(), "max": x.max().item()}))
print(json.dumps({"sum": x.sum(), "n": int(np.int64(3))}))


class Encoder(json.JSONEncoder):
    def default(self, obj):
        if isinstance(obj, np.ndarray):
            return obj.tolist()
        if isinstance(obj, np.integer):
            return int(obj)
        return super().default(obj)


print(json.dumps({"x": x, "i": np.arange(3), "n": np.argmax(x)}, cls=Encoder))
print(Decimal(x.sum()), Fraction(x[0]), "%.2f" % x.mean(), "{:8.3f}|{:d}".format(x.std(), x.argmax()))
print([0] * x.argmax(), range(x.argmax()), "ab"[x.argmin()])
