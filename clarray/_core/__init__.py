"""DeviceArray and what every function stands on: operands, host data, views, calls of ufuncs."""
