"""Factorizations of small matrices, stacks of them in one launch."""
