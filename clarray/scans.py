"""Running sums and products, and the differences they undo."""

from __future__ import annotations

__all__: list[str] = []
