"""Compactions: the elements that a mask selects, in C order."""
