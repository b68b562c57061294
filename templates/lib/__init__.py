"""Shared pieces of the kernels."""
