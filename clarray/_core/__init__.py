"""DeviceArray and the basis of all functions: operands, host data, views, calls of ufuncs."""
