"""The engine: from an expression to memory on a device. It knows neither NumPy's names nor arrays of users."""
