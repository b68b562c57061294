"""Kernels of reduce."""
