"""Reductions of axes."""
