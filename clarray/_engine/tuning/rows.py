"""Measured rows, one per kind of device. A number here carries its measurement beside it."""

from __future__ import annotations

from dataclasses import replace

from clarray._engine.algorithms.factorization import policy as factorization
from clarray._engine.algorithms.fft import policy as fft
from clarray._engine.algorithms.gather import policy as gather
from clarray._engine.algorithms.histogram import policy as histogram
from clarray._engine.algorithms.index_map import policy as index_map
from clarray._engine.algorithms.join import policy as join
from clarray._engine.algorithms.matmul import policy as matmul
from clarray._engine.algorithms.scan import policy as scan
from clarray._engine.algorithms.scatter import policy as scatter
from clarray._engine.algorithms.search import policy as search
from clarray._engine.algorithms.small_matrices import policy as small_matrices
from clarray._engine.algorithms.sort import policy as sort
from clarray._engine.algorithms.spectral import policy as spectral
from clarray._engine.algorithms.stencil import policy as stencil
from clarray._engine.algorithms.unique import policy as unique
from clarray._engine.fused.compact import policy as compact
from clarray._engine.tuning import reductions
from clarray._engine.tuning.policy import ElementwisePolicy, Policies

CPU = Policies(
    name="cpu",
    measured=(
        "AMD EPYC Zen 5, 2 cores, PoCL 3.0, 2^25 float32, 2026-11-21: sum 2.9-3.9 ms, a + b 7.0 ms, "
        "sum axis 0 3.6-6.0 ms; failures and alternatives in docs/engineering/tuning.md"
    ),
    elementwise=ElementwisePolicy(
        vector_bytes=64,
        max_width=16,
        explicit=True,
        work_group=1,
        groups_per_unit=8,
        chunked=True,
        segment=1024,
        stream_bytes=1 << 24,
        # a + b on the caller's thread and on both cores, with the wait, in us: 768 KiB 25 and 55, 3 MiB 56 and 89; a
        # loop that changes between the two waits at each change (48 % of a Mandelbrot with masks)
        inline_bytes=1 << 20,
        chunk_bytes=1 << 16,
    ),
    reduce=reductions.CPU,
    products=reductions.CPU_PRODUCTS,
    scan=scan.CPU,
    compact=compact.CPU,
    sort=sort.CPU,
    histogram=histogram.CPU,
    matmul=matmul.CPU,
    stencil=stencil.CPU,
    unique=unique.CPU,
    gather=gather.CPU,
    scatter=scatter.CPU,
    search=search.CPU,
    join=join.CPU,
    index_map=index_map.CPU,
    small_matrices=small_matrices.CPU,
    factorization=factorization.CPU,
    spectral=spectral.CPU,
    fft=fft.CPU,
)

GPU = Policies(
    name="gpu",
    measured=(
        "NVIDIA H200, driver 580.159.04, 2^28 float32, 2026-11-21: sum 0.284 ms (1.10 x floor), a + b "
        "0.764 ms (0.99), sum axis 0 0.297 ms (1.15); alternatives in docs/engineering/tuning.md"
    ),
    elementwise=ElementwisePolicy(
        vector_bytes=16,
        max_width=16,
        explicit=False,
        work_group=128,
        groups_per_unit=1 << 20,
        chunked=False,
        segment=0,
        stream_bytes=0,
        inline_bytes=0,
        chunk_bytes=1 << 12,
        vector_weight=64,
    ),
    reduce=reductions.GPU,
    products=reductions.GPU,
    scan=scan.GPU,
    compact=compact.GPU,
    sort=sort.GPU,
    histogram=histogram.GPU,
    matmul=matmul.GPU,
    stencil=stencil.GPU,
    unique=unique.GPU,
    gather=gather.GPU,
    scatter=scatter.GPU,
    search=search.GPU,
    join=join.GPU,
    index_map=index_map.GPU,
    small_matrices=small_matrices.GPU,
    factorization=factorization.GPU,
    spectral=spectral.GPU,
    fft=fft.GPU,
)

# OpenCL C 1.2 has no fence for the whole device; PTX has.
NVIDIA = replace(
    GPU,
    name="nvidia",
    measured=GPU.measured + "; last work-group combines: sum 0.280 ms, a[::2].sum() 0.280 ms",
    reduce=reductions.NVIDIA,
    products=reductions.NVIDIA,
    scan=scan.NVIDIA,
    compact=compact.NVIDIA,
    sort=sort.NVIDIA,
    histogram=histogram.NVIDIA,
    matmul=matmul.NVIDIA,
    stencil=stencil.NVIDIA,
)

# Policies so small that arrays of a few elements reach every pass, boundary and tail.
TINY_CPU = Policies(
    name="tiny-cpu",
    measured="for tests: not tuned",
    elementwise=ElementwisePolicy(
        vector_bytes=16,
        max_width=4,
        explicit=True,
        work_group=1,
        groups_per_unit=2,
        chunked=True,
        segment=8,
        stream_bytes=0,
        inline_bytes=0,
        chunk_bytes=16,
    ),
    reduce=reductions.TINY_CPU,
    products=reductions.TINY_CPU_PRODUCTS,
    scan=scan.TINY_CPU,
    compact=compact.TINY_CPU,
    sort=sort.TINY_CPU,
    histogram=histogram.TINY_CPU,
    matmul=matmul.TINY_CPU,
    stencil=stencil.TINY_CPU,
    unique=unique.CPU,
    gather=gather.CPU,
    scatter=scatter.CPU,
    search=search.CPU,
    join=join.CPU,
    index_map=index_map.TINY,
    small_matrices=small_matrices.TINY_CPU,
    factorization=factorization.CPU,
    spectral=spectral.CPU,
    fft=fft.TINY_CPU,
)

TINY_GPU = Policies(
    name="tiny-gpu",
    measured="for tests: not tuned",
    elementwise=ElementwisePolicy(
        vector_bytes=8,
        max_width=4,
        explicit=False,
        work_group=4,
        groups_per_unit=2,
        chunked=False,
        segment=0,
        stream_bytes=0,
        inline_bytes=0,
        chunk_bytes=16,
        vector_weight=8,
    ),
    reduce=reductions.TINY_GPU,
    products=reductions.TINY_GPU,
    scan=scan.TINY_GPU,
    compact=compact.TINY_GPU,
    sort=sort.TINY_GPU,
    histogram=histogram.TINY_GPU,
    matmul=matmul.TINY_GPU,
    stencil=stencil.TINY_GPU,
    unique=unique.GPU,
    gather=gather.GPU,
    scatter=scatter.GPU,
    search=search.GPU,
    join=join.GPU,
    index_map=index_map.TINY,
    small_matrices=small_matrices.TINY_GPU,
    factorization=factorization.TINY_GPU,
    spectral=spectral.TINY_GPU,
    fft=fft.TINY_GPU,
)

TINY_FENCED = replace(
    TINY_GPU,
    name="tiny-fenced",
    reduce=reductions.TINY_FENCED,
    products=reductions.TINY_FENCED,
    scan=scan.TINY_FENCED,
    compact=compact.TINY_FENCED,
    sort=sort.TINY_FENCED,
    histogram=histogram.TINY_FENCED,
    matmul=matmul.TINY_FENCED,
    stencil=stencil.TINY_FENCED,
)

# TINY_GPU with emulated instructions by which warps multiply float64.
TINY_WARPS = replace(TINY_GPU, name="tiny-warps", matmul=matmul.TINY_WARPS)
TINY_STAGES = replace(TINY_GPU, name="tiny-stages", matmul=matmul.TINY_STAGES)

# (kind, part of the vendor's name, row): a device has the row of the first line that matches; '' matches all.
DEVICE_ROWS = (
    ("cpu", "", CPU),
    ("", "nvidia", NVIDIA),
    ("", "", GPU),
)

_TEST_ROWS = (TINY_CPU, TINY_GPU, TINY_FENCED, TINY_WARPS, TINY_STAGES)
ROWS = {row.name: row for row in (*(row for *_, row in DEVICE_ROWS), *_TEST_ROWS)}
