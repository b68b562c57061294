"""Tuning of radix sort: the policy, and its measured values per kind of device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SortPolicy:
    """Shape of a radix sort."""


CPU = SortPolicy()
GPU = SortPolicy()
NVIDIA = GPU

# A shape so small that arrays of a few elements reach every pass, boundary and tail.
TINY_CPU = SortPolicy()
TINY_GPU = SortPolicy()
TINY_FENCED = TINY_GPU
