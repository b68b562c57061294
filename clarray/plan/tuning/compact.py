"""Tuning of compaction: the policy, and its measured values per kind of device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CompactPolicy:
    """Shape of a compaction."""


CPU = CompactPolicy()
GPU = CompactPolicy()
NVIDIA = GPU

# A shape so small that arrays of a few elements reach every pass, boundary and tail.
TINY_CPU = CompactPolicy()
TINY_GPU = CompactPolicy()
TINY_FENCED = TINY_GPU
