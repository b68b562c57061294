"""Kernels of join."""
