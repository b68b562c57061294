"""Kernels written by the user."""
