"""Factorizations of stacks of small matrices, each stack in one launch."""
