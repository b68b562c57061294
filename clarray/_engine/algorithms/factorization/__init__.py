"""Factorizations of large matrices, block by block."""
