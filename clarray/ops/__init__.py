"""Tables: dtypes, ufuncs, monoids, and promotion asked of NumPy."""
