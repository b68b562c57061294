"""Kernels of matmul."""
