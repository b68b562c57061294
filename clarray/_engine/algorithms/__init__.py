"""Algorithms that are run at once, one folder each: policy, plan, source, launch."""
