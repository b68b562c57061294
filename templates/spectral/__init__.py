"""Kernels of factorizations of large matrices."""
