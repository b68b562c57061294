"""Search spaces of `python -m clarray tune`: per algorithm and kind of row, fields of its policy and their values.

Only fields that change the speed are here, never fields that a template relies on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from clarray._engine.algorithms.matmul.policy_tensor import LARGE
from clarray._engine.tuning.policy import Policies

__all__ = ["ALGORITHMS", "row_kind", "search_space"]

Space = Mapping[str, tuple[Any, ...]]
_K = 1024

ALGORITHMS = tuple(f.name for f in fields(Policies) if str(f.type).endswith("Policy"))

_GPU_REDUCE: Space = {  # also for sums of products
    "work_group": (128, 256, 512),
    "groups_per_unit": (4, 8, 16),
    "loads": (4, 8, 16),
    "column_loads": (2, 4, 8),
    "min_split": (1 * _K, 4 * _K, 16 * _K),
}

_SPACES: dict[str, dict[str, Space]] = {
    "elementwise": {
        "cpu": {
            "groups_per_unit": (1, 2, 4, 8, 16),
            "vector_bytes": (32, 64),
            "segment": (512, 1024, 4096),
            "stream_bytes": (0, 1 << 22, 1 << 24, 1 << 26),
            "chunk_bytes": (16 * _K, 64 * _K, 256 * _K),
            "inline_bytes": (64 * _K, 256 * _K, 1024 * _K),
            "block_rows": (8, 16, 32),
            "block_columns": (32, 64, 128),
        },
        "gpu": {"work_group": (64, 128, 256, 512), "vector_bytes": (8, 16), "groups_per_unit": (8, 32, 1 << 20)},
    },
    "reduce": {
        "cpu": {
            "groups_per_unit": (1, 2, 4, 8, 16),
            "vector_bytes": (32, 64),
            "loads": (2, 4, 8),
            "column_loads": (2, 4, 8),
            "strip": (64, 256, 1024),
            "min_split": (4 * _K, 16 * _K, 64 * _K),
            "inline_bytes": (64 * _K, 256 * _K, 1024 * _K),
        },
        "gpu": _GPU_REDUCE,
    },
    "products": {
        "cpu": {
            "groups_per_unit": (1, 2, 4, 8, 16),
            "vector_bytes": (32, 64),
            "loads": (2, 4, 8),
            "column_loads": (4, 8, 16),
            "rows_per_item": (2, 4, 8),
            "prefetch_bytes": (0, 4 * _K, 8 * _K, 16 * _K),
            "strip": (64, 256, 1024),
            "min_split": (64 * _K, 256 * _K, 1024 * _K),
            "inline_bytes": (512 * _K, 2048 * _K, 8192 * _K),
        },
        "gpu": _GPU_REDUCE,
    },
    "scan": {
        "cpu": {
            "groups_per_unit": (2, 4, 8, 16),
            "strip": (32, 128, 512),
            "min_part": (4 * _K, 16 * _K, 64 * _K),
            "stream_bytes": (0, 1 << 22, 1 << 24, 1 << 26),
            "paired_lines": (8, 16, 32),
        },
        "gpu": {
            "groups_per_unit": (4, 8, 16),
            "loads": (2, 4),
            "work_group": (128, 256, 512),
            "across": (16, 32, 64),
            "least_group": (32, 64),
        },
    },
    "compact": {
        "cpu": {
            "groups_per_unit": (1, 2, 4, 8),
            "dense": (6, 10, 16, 32),
            "chunk_bytes": (32 * _K, 64 * _K, 256 * _K),
            "small_bytes": (16 * _K, 64 * _K, 1024 * _K),
        },
        "gpu": {
            "groups_per_unit": (4, 8, 16),
            "loads": (1, 2, 4),
            "work_group": (128, 256, 512),
            "small_bytes": (64 * _K, 1024 * _K),
        },
    },
    "sort": {
        "cpu": {"groups_per_unit": (1, 2, 4), "chunk_bytes": (64 * _K, 128 * _K, 256 * _K), "known": (32, 128)},
        "gpu": {"most_lines": (4, 16, 64)},
    },
    "histogram": {
        "cpu": {"groups_per_unit": (1, 2, 4, 8), "compared_bins": (16, 64, 256)},
        "gpu": {"groups_per_unit": (4, 8, 16), "loads": (2, 4, 8), "compared_bins": (0, 16, 64)},
    },
    "matmul": {
        "cpu": {"depth": (128, 256, 512), "block_columns": (512, 1024, 2048), "pack_block": (128, 256, 512)},
        "gpu": {"depth": (1024, 2048, 4096), "band": (4, 8, 16), "tensor": tuple(LARGE)},
    },
    "stencil": {
        "cpu": {"groups_per_unit": (4, 8, 16), "tile_bytes": (128 * _K, 256 * _K, 512 * _K)},
        "gpu": {"work_group": (128, 256)},
    },
    "unique": {
        "cpu": {"range_slots": (1 << 14, 1 << 16, 1 << 18), "few": (1 << 14, 1 << 17), "hash_from": (1 << 11, 1 << 13)},
        "gpu": {"few": (1 << 14, 1 << 17, 1 << 20), "hash_from": (1 << 18, 1 << 20, 1 << 22)},
    },
    "gather": {
        "cpu": {"neighbours": (1, 2, 4, 8), "owners": (2, 4, 8, 16)},
        "gpu": {"words": (4, 8, 16), "wide_words": (2, 4, 8), "long": (1 << 14, 1 << 16), "spread": (1, 4, 16)},
    },
    "scatter": {"cpu": {"worth": (1 << 10, 1 << 12, 1 << 14)}, "gpu": {"items": (1 << 14, 1 << 16, 1 << 18)}},
    "search": {"cpu": {"needles": (4, 8, 16)}, "gpu": {"needles": (1, 2, 4)}},
    "join": {
        "cpu": {"rows": (64, 256, 1024), "most": (4, 8), "small_bytes": (8 * _K, 32 * _K, 128 * _K)},
        "gpu": {"most": (4, 8), "short_bytes": (16, 32, 64), "small_bytes": (8 * _K, 32 * _K, 128 * _K)},
    },
    "index_map": {
        "cpu": {"copied_bytes": (1 << 20, 1 << 22, 1 << 24), "rolled_bytes": (1 << 18, 1 << 19, 1 << 20)},
        "gpu": {"copied_bytes": (1 << 22, 1 << 24, 1 << 26), "rolled_bytes": (1 << 22, 1 << 24, 1 << 26)},
    },
    "small_matrices": {
        "cpu": {"least_shared": (1 << 12, 1 << 14, 1 << 16)},
        "gpu": {"item_bytes": (0, 256, 512), "work_group": (32, 64, 128)},
    },
    "factorization": {
        "cpu": {},  # LAPACK's
        "gpu": {"panel_bytes": (1 << 16, 1 << 17, 1 << 18), "items": (512, 1024), "lines": (32, 64, 128)},
    },
    "spectral": {"cpu": {}, "gpu": {"base": (64, 96, 128, 160), "groups": (128, 256, 512)}},
    "fft": {
        "cpu": {"pass_bytes": (16 * _K, 32 * _K, 64 * _K), "radix": (4, 8), "groups_per_unit": (1, 2, 4)},
        "gpu": {
            "work_group": (64, 128, 256),
            "radix": (4, 8, 16),
            "pass_bytes": (16 * _K, 32 * _K),
            "lines": (2, 4, 8),
        },
    },
}


def row_kind(row: Policies) -> str:
    """Return the kind of a row, the key of its search spaces."""
    return "cpu" if row.elementwise.chunked else "gpu"


def search_space(algorithm: str, kind: str) -> dict[str, tuple[Any, ...]]:
    """Return the fields of an algorithm's policy and the values to try, for rows of a kind.

    Raises
    ------
    ValueError
        There is no such algorithm.
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(f"nothing is called {algorithm!r}: tune {', '.join(ALGORITHMS)}")
    return {name: tuple(values) for name, values in _SPACES.get(algorithm, {}).get(kind, {}).items()}
