"""Tuning of scan along an axis: the policy, and its measured values per kind of device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScanPolicy:
    """Shape of a scan along an axis."""


CPU = ScanPolicy()
GPU = ScanPolicy()
NVIDIA = GPU

# A shape so small that arrays of a few elements reach every pass, boundary and tail.
TINY_CPU = ScanPolicy()
TINY_GPU = ScanPolicy()
TINY_FENCED = TINY_GPU
