"""Policies of reductions and of sums of products for each kind of device."""

from __future__ import annotations

from dataclasses import replace

from clarray._engine.tuning.policy import ReducePolicy

CPU = ReducePolicy(
    vector_bytes=64,
    max_width=16,
    explicit=True,
    chunked=True,
    inline_bytes=1 << 19,  # 512 KiB on the calling thread and on both cores: sum 32 and 82 us, std 109 and 158 us
    loads=4,
    column_loads=4,
    work_group=1,
    groups_per_unit=8,
    strip=1024,
    min_split=1 << 14,
    short=32,
    widen=True,
    rows_per_item=4,
    prefetch_bytes=1 << 13,
)

# Zen 3, one core without its start, A @ x of 1024 x 1024 float32 and 512 x 512 float64: vectors of 32 bytes 71 and
# 41 us, of 64 bytes 92 and 46 us, products one by one 125 and 93 us. Parts of fewer than 2^18 products cost more than
# they save. 1 MiB takes 28 us on the calling thread and 45 us on both cores. Blocks of 16 would be 2 % faster, and less
# exact than NumPy's dot of 64 to 128 elements; docs/engineering/products.md
CPU_PRODUCTS = replace(
    CPU,
    vector_bytes=32,
    block_products=8,
    groups_per_unit=4,
    column_loads=8,
    min_split=1 << 18,
    inline_bytes=9 << 18,
)

# With registers of 64 bytes (AVX-512) vectors of 64 bytes are faster if the matrix is larger than the L2 cache.
# Zen 5, two cores, A @ x in us with vectors of 32 and of 64 bytes, n x n float64: n = 2048 545 and 456, 4096 2730 and
# 2440, 512 26.2 and 24.5, 100 3.4 and 3.4; float32: 4096 1245 and 1160, equal up to 1024
CPU_WIDE_PRODUCTS = replace(CPU_PRODUCTS, vector_bytes=64)

GPU = ReducePolicy(
    vector_bytes=16,
    max_width=16,
    explicit=False,
    chunked=False,
    inline_bytes=0,
    loads=8,
    column_loads=4,
    work_group=256,
    groups_per_unit=8,
    strip=1,
    min_split=1 << 12,
    short=32,
)

# OpenCL C 1.2 has no fence for the whole device; PTX has.
NVIDIA = replace(GPU, fence='asm volatile("membar.gl;" ::: "memory");')

# For tests: see rows.py
TINY_CPU = ReducePolicy(
    vector_bytes=16,
    max_width=4,
    explicit=True,
    chunked=True,
    inline_bytes=0,
    loads=2,
    column_loads=2,
    work_group=1,
    groups_per_unit=3,
    strip=2,
    min_split=8,
    short=3,
    widen=True,
    rows_per_item=2,
    prefetch_bytes=64,
)
TINY_CPU_PRODUCTS = replace(TINY_CPU, rows_per_item=3, block_products=2)

TINY_GPU = ReducePolicy(
    vector_bytes=8,
    max_width=4,
    explicit=False,
    chunked=False,
    inline_bytes=0,
    loads=2,
    column_loads=2,
    work_group=8,
    groups_per_unit=2,
    strip=1,
    min_split=8,
    short=3,
)

TINY_FENCED = replace(TINY_GPU, fence="mem_fence(CLK_GLOBAL_MEM_FENCE);")
