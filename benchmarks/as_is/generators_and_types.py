"""dtypes, casts and type promotion."""
import numpy as np

print(np.array([1, 2]).dtype, np.array([1, 2.0]).dtype, np.array([1, 2j]).dtype, np.array([True, 2]).dtype)
print(np.result_type(np.int8, np.float32), np.promote_types("i4", "f4"), np.can_cast("i8", "i4"))
print(np.uint8(200) + np.uint8(100) if False else np.array([200], np.uint8) + np.array([100], np.uint8))
print(np.iinfo(np.int32).max, np.finfo(np.float32).eps, np.int64(7) // 2, np.float32(1) / 3)
print(np.array([1.7, -1.7]).astype(int), np.array([0, 1, 2]).astype(bool), np.arange(3, dtype="f4").nbytes)
print(isinstance(np.arange(2)[0], np.integer), isinstance(np.ones(2).mean(), float), np.issubdtype(np.float32, np.floating))
print(np.array([1, None]), np.array(["1", "22"]).astype(int), np.arange(3).astype(str), np.longdouble(1).dtype.kind)
print(np.dtype("i4").name, np.dtype([("a", "i4")]).itemsize, np.float64 is np.double, type(np.ones(1)), np.ndim(3), np.shape([1]))
