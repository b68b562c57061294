"""Kernels of scan."""
