"""Needles searched for in a sorted line."""
