"""Kernels of compact."""
