"""Kernels of scatter."""
