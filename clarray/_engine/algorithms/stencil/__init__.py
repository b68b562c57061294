"""Windows of an array made into values."""
