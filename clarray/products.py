"""Products of vectors and matrices: sums of products over shared axes."""

from __future__ import annotations

__all__: list[str] = []
