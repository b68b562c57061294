"""Updates at positions, in order."""
