"""Elements chosen by a mask: compress, extract, nonzero, place, putmask, delete."""

from __future__ import annotations

__all__: list[str] = []
