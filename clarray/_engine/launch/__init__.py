"""Launches: the kernel cache of each device, operands and programs."""
