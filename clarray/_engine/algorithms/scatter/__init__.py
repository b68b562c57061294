"""Updates at indices, in order."""
