"""Tuning of Fourier transforms: the policy, and its values per kind of device."""

from __future__ import annotations

from typing import NamedTuple

from clarray._engine.fast_dataclass import dataclass

NEVER = 1 << 62


class MinimumSizes(NamedTuple):
    """The smallest number of values for kernels, in single and in double precision.

    Parameters
    ----------
    complex, forward, back : (int, int)
        For complex transforms, for reals to half their spectrum, and for half a spectrum to reals.
    """

    complex: tuple[int, int] = (0, 0)
    forward: tuple[int, int] = (0, 0)
    back: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FftPolicy:
    """The tuning of the passes of Fourier transforms.

    Parameters
    ----------
    chunked : bool
        Whether a work-item transforms one line per lane of a vector (CPU). Otherwise a work-group transforms some lines
        through local memory (GPU).
    radix : int
        The largest radix of a butterfly with factors 2 and 3.
    prime : int
        The largest prime radix. Lengths with a larger prime factor are transformed by a convolution.
    pass_bytes : int
        Largest size of the complex values that a pass transforms: one line (chunked), or all lines of a work-group.
    vector_bytes : int
        Bytes of a vector of real parts (chunked).
    groups_per_unit : int
        Work-groups per compute unit. Each has a part of the scratch memory (chunked).
    work_group : int
        Work-items per work-group.
    lines : int
        Smallest number of neighbouring lines per work-group of a long transform, so that its loads are coalesced
        (tiles).
    epilogue_inputs_below : int
        Epilogues may read arrays if a line has fewer values. Otherwise the values that the last pass stores at a time
        are too far from each other.
    least : MinimumSizes
        Smaller transforms use a library of the host, on devices that share the memory of the host. On these devices
        the library also transforms all lengths with a larger prime factor than `prime`.
    """

    chunked: bool
    radix: int
    prime: int
    pass_bytes: int
    vector_bytes: int = 0
    groups_per_unit: int = 2
    work_group: int = 1
    lines: int = 1
    epilogue_inputs_below: int = NEVER
    least: MinimumSizes = MinimumSizes()


CPU = FftPolicy(
    chunked=True,
    radix=8,
    prime=97,
    pass_bytes=1 << 15,
    vector_bytes=32,
    # Two Zen 5 cores under load, PoCL 3.0, 2026-11-25, processor time of two passes by that of one. ``fft(x) * w`` of
    # 2^20 values, lines of 2^15 to 2^17: 0.9 to 1.05, 2^18: 0.85 to 0.96, 2^20: 0.82 (complex128 0.66).
    # ``abs(fft(x))**2``, lines of 2^10: 1.2 to 1.3, 2^14: 1.1, 2^20: 1.0 to 1.1.
    epilogue_inputs_below=1 << 18,
    # Two Zen 5 cores, PoCL 3.0, 2026-11-23, NumPy's times by the kernels'. 2^18 values: complex64 2 to 9, complex128 in
    # rows of 64 0.8, float32 forward 1.2, float64 0.7; 2^20: complex64 5 to 8, complex128 2.8 to 4.3, float32 forward
    # 2.9, back 0.9. Points of a pass and radices were not tried one by one.
    least=MinimumSizes((1 << 18, 1 << 20), (1 << 18, NEVER), (NEVER, NEVER)),
)
# 32 KiB of local memory are there on most devices, with the gaps in it 34. H200, 2026-11-23, 2^24 complex64 in ms: 64
# work-items 0.330, 128 0.292, 256 0.282, 512 0.287; 256 with radix 8 0.278, 4 0.332, half the local memory 0.303, 16
# lines 0.277. 65536 of 1000: radices 5, 5, 5, 8 0.475, 10, 10, 10 0.366.
GPU = FftPolicy(chunked=False, radix=16, prime=31, pass_bytes=1 << 15, work_group=256, lines=4)

# A policy so small that arrays of a few elements reach every pass, boundary and tail.
TINY_CPU = FftPolicy(chunked=True, radix=4, prime=19, pass_bytes=160, vector_bytes=16)
TINY_GPU = FftPolicy(chunked=False, radix=4, prime=19, pass_bytes=320, work_group=4, lines=2)
