"""Kernels of histogram."""
