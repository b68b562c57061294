"""Kernels of stencil."""
