"""The same elements in another arrangement."""
