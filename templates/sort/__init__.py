"""Kernels of sort."""
