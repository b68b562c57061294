"""Arrays read through a map of positions per axis."""
