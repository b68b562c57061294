"""Distinct values and set operations."""

from __future__ import annotations

__all__: list[str] = []
