"""Kernels that fuse whole expressions: elementwise, reductions and compactions."""
