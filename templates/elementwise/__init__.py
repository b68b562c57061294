"""Kernels of elementwise."""
