"""Import the modules that launch algorithms lazily.

Most programs run few algorithms, and imports of the others took a third of the time of ``import clarray``. So callers
launch an algorithm through this module, as in ``launchers.sort.sort_rows(node)``. From the folder of an algorithm they
import only plain values, such as names of ``plan`` and ``policy``, and `IndexSelection`. After the first use
`launchers.sort` is an ordinary attribute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clarray._engine.threads import import_whole

if TYPE_CHECKING:
    from clarray._engine.algorithms.factorization import launch as factorization
    from clarray._engine.algorithms.factorization import launch_orthogonal as factorization_orthogonal
    from clarray._engine.algorithms.fft import launch as fft
    from clarray._engine.algorithms.gather import launch as gather
    from clarray._engine.algorithms.histogram import launch as histogram
    from clarray._engine.algorithms.index_map import launch as index_map
    from clarray._engine.algorithms.index_map import launch_roll as index_map_roll
    from clarray._engine.algorithms.join import launch as join
    from clarray._engine.algorithms.matmul import launch as matmul
    from clarray._engine.algorithms.scan import launch as scan
    from clarray._engine.algorithms.scatter import launch as scatter
    from clarray._engine.algorithms.search import launch as search
    from clarray._engine.algorithms.small_matrices import launch as small_matrices
    from clarray._engine.algorithms.small_matrices import launch_teams as small_matrices_teams
    from clarray._engine.algorithms.snippet import launch as snippet
    from clarray._engine.algorithms.snippet import launch_raw as snippet_raw
    from clarray._engine.algorithms.sort import launch as sort
    from clarray._engine.algorithms.spectral import launch as spectral
    from clarray._engine.algorithms.spectral import launch_polar as spectral_polar
    from clarray._engine.algorithms.stencil import launch as stencil
    from clarray._engine.algorithms.stencil import launch_separable as stencil_separable
    from clarray._engine.algorithms.unique import launch_bitmap as unique_bitmap
    from clarray._engine.algorithms.unique import launch_hash_table as unique_hash_table
    from clarray._engine.algorithms.unique import launch_range_table as unique_range_table

__all__ = [
    "factorization",
    "factorization_orthogonal",
    "fft",
    "gather",
    "histogram",
    "index_map",
    "index_map_roll",
    "join",
    "matmul",
    "scan",
    "scatter",
    "search",
    "small_matrices",
    "small_matrices_teams",
    "snippet",
    "snippet_raw",
    "sort",
    "spectral",
    "spectral_polar",
    "stencil",
    "stencil_separable",
    "unique_bitmap",
    "unique_hash_table",
    "unique_range_table",
]

_MODULES = {
    "factorization": "clarray._engine.algorithms.factorization.launch",
    "factorization_orthogonal": "clarray._engine.algorithms.factorization.launch_orthogonal",
    "fft": "clarray._engine.algorithms.fft.launch",
    "gather": "clarray._engine.algorithms.gather.launch",
    "histogram": "clarray._engine.algorithms.histogram.launch",
    "index_map": "clarray._engine.algorithms.index_map.launch",
    "index_map_roll": "clarray._engine.algorithms.index_map.launch_roll",
    "join": "clarray._engine.algorithms.join.launch",
    "matmul": "clarray._engine.algorithms.matmul.launch",
    "scan": "clarray._engine.algorithms.scan.launch",
    "scatter": "clarray._engine.algorithms.scatter.launch",
    "search": "clarray._engine.algorithms.search.launch",
    "small_matrices": "clarray._engine.algorithms.small_matrices.launch",
    "small_matrices_teams": "clarray._engine.algorithms.small_matrices.launch_teams",
    "snippet": "clarray._engine.algorithms.snippet.launch",
    "snippet_raw": "clarray._engine.algorithms.snippet.launch_raw",
    "sort": "clarray._engine.algorithms.sort.launch",
    "spectral": "clarray._engine.algorithms.spectral.launch",
    "spectral_polar": "clarray._engine.algorithms.spectral.launch_polar",
    "stencil": "clarray._engine.algorithms.stencil.launch",
    "stencil_separable": "clarray._engine.algorithms.stencil.launch_separable",
    "unique_bitmap": "clarray._engine.algorithms.unique.launch_bitmap",
    "unique_hash_table": "clarray._engine.algorithms.unique.launch_hash_table",
    "unique_range_table": "clarray._engine.algorithms.unique.launch_range_table",
}


def __getattr__(name: str) -> Any:
    """Import a module on first use. Concurrent threads wait for the same import."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = globals()[name] = import_whole(_MODULES[name])
    return module


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
