"""Kernels of gather."""
