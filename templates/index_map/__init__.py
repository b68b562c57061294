"""Kernels of index_map."""
