"""Counting values: bincount, histogram, digitize."""

from __future__ import annotations

__all__: list[str] = []
