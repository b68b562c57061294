"""Tuning of matrix product: the policy, and its measured values per kind of device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MatmulPolicy:
    """Shape of a matrix product."""


CPU = MatmulPolicy()
GPU = MatmulPolicy()
NVIDIA = GPU

# A shape so small that arrays of a few elements reach every pass, boundary and tail.
TINY_CPU = MatmulPolicy()
TINY_GPU = MatmulPolicy()
TINY_FENCED = TINY_GPU
