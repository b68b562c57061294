"""Elements chosen by number: take and indexing with integer arrays."""

from __future__ import annotations

__all__: list[str] = []
