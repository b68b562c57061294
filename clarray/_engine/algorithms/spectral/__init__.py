"""Eigenvalues of large Hermitian matrices, and polar factors, by products of matrices."""
