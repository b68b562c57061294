"""Kernels of snippet."""
