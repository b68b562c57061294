"""Reductions over axes and scans along them."""
