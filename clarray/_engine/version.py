"""The version, in one place: read by packaging and by the key of the program cache."""

__version__ = "0.1.0"
