"""Tuning of histogram: the policy, and its measured values per kind of device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HistogramPolicy:
    """Shape of a histogram."""


CPU = HistogramPolicy()
GPU = HistogramPolicy()
NVIDIA = GPU

# A shape so small that arrays of a few elements reach every pass, boundary and tail.
TINY_CPU = HistogramPolicy()
TINY_GPU = HistogramPolicy()
TINY_FENCED = TINY_GPU
