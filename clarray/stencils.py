"""Convolution and correlation in one dimension."""

from __future__ import annotations

__all__: list[str] = []
