"""Policies as plain frozen values, and a pure selector."""
