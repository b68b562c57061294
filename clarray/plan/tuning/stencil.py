"""Tuning of stencil: the policy, and its measured values per kind of device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StencilPolicy:
    """Shape of a stencil."""


CPU = StencilPolicy()
GPU = StencilPolicy()
NVIDIA = GPU

# A shape so small that arrays of a few elements reach every pass, boundary and tail.
TINY_CPU = StencilPolicy()
TINY_GPU = StencilPolicy()
TINY_FENCED = TINY_GPU
