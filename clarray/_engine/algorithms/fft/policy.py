"""Tuning of Fourier transforms: the policy, and its values per kind of device."""

from __future__ import annotations

from typing import NamedTuple

from clarray._engine.fast_dataclass import dataclass

NEVER = 1 << 62


class Least(NamedTuple):
    """From how many values on kernels are taken, each in single and in double precision.

    Parameters
    ----------
    complex, forward, back : (int, int)
        Of complex transforms, of reals to half their spectrum, and of that to reals.
    """

    complex: tuple[int, int] = (0, 0)
    forward: tuple[int, int] = (0, 0)
    back: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FftPolicy:
    """Shape of a Fourier transform's passes.

    Parameters
    ----------
    chunked : bool
        A work-item transforms as many lines side by side as a vector has lanes (CPU); otherwise a work-group takes some
        lines through local memory (GPU).
    radix : int
        The largest butterfly made of twos and threes.
    prime : int
        The largest prime that is transformed as such; lengths with a larger one go through a convolution.
    pass_bytes : int
        Complex values that a pass transforms, of one line (chunked) or of all lines of a work-group.
    vector_bytes : int
        Of the vector of real parts (chunked).
    groups_per_unit : int
        Work-groups per compute unit, each with a part of the scratch memory (chunked).
    work_group : int
        Work-items per work-group.
    lines : int
        Neighbouring lines that a work-group of a long transform takes at least, so that what it reads at a time lies
        together (tiles).
    beside : int
        Values of a line from which on no array is read beside what the last pass stores, which lies far apart then.
    least : Least
        Values in all below which a library of the host's is taken where the device works in its memory; and there
        lengths with larger primes than `prime` always are the library's.
    """

    chunked: bool
    radix: int
    prime: int
    pass_bytes: int
    vector_bytes: int = 0
    groups_per_unit: int = 2
    work_group: int = 1
    lines: int = 1
    beside: int = NEVER
    least: Least = Least()


CPU = FftPolicy(
    chunked=True,
    radix=8,
    prime=97,
    pass_bytes=1 << 15,
    vector_bytes=32,
    # Two Zen 5 cores under load, PoCL 3.0, 2026-11-25, processor time of two passes by that of one. ``fft(x) * w`` of
    # 2^20 values, lines of 2^15 to 2^17: 0.9 to 1.05, 2^18: 0.85 to 0.96, 2^20: 0.82 (complex128 0.66).
    # ``abs(fft(x))**2``, lines of 2^10: 1.2 to 1.3, 2^14: 1.1, 2^20: 1.0 to 1.1.
    beside=1 << 18,
    # Two Zen 5 cores, PoCL 3.0, 2026-11-23, NumPy's times by the kernels'. 2^18 values: complex64 2 to 9, complex128 in
    # rows of 64 0.8, float32 forward 1.2, float64 0.7; 2^20: complex64 5 to 8, complex128 2.8 to 4.3, float32 forward
    # 2.9, back 0.9. Points of a pass and radices were not tried one by one.
    least=Least((1 << 18, 1 << 20), (1 << 18, NEVER), (NEVER, NEVER)),
)
# 32 KiB of local memory are there on most devices, with the gaps in it 34. H200, 2026-11-23, 2^24 complex64 in ms: 64
# work-items 0.330, 128 0.292, 256 0.282, 512 0.287; 256 with radix 8 0.278, 4 0.332, half the local memory 0.303, 16
# lines 0.277. 65536 of 1000: radices 5, 5, 5, 8 0.475, 10, 10, 10 0.366.
GPU = FftPolicy(chunked=False, radix=16, prime=31, pass_bytes=1 << 15, work_group=256, lines=4)

# A shape so small that arrays of a few elements reach every pass, boundary and tail.
TINY_CPU = FftPolicy(chunked=True, radix=4, prime=19, pass_bytes=160, vector_bytes=16)
TINY_GPU = FftPolicy(chunked=False, radix=4, prime=19, pass_bytes=320, work_group=4, lines=2)
