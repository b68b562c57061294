"""Sorting, and searching in what is sorted."""

from __future__ import annotations

__all__: list[str] = []
