"""Kernels of unique."""
