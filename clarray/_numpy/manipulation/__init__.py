"""NumPy's array manipulation routines."""
