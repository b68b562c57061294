"""Order statistics: median, quantile, percentile and those that skip NaN."""

from __future__ import annotations

__all__: list[str] = []
