"""Eigendecompositions and polar decompositions of large matrices by products of matrices."""
