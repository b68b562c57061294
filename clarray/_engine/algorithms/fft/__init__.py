"""Fourier transforms along an axis."""
