"""Axes reduced, and running values along them."""
