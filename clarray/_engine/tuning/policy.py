"""Policies: frozen, printable values that determine the shape of all kernels on a device."""

from __future__ import annotations

from clarray._engine.algorithms.factorization.policy import FactorizationPolicy
from clarray._engine.algorithms.fft.policy import FftPolicy
from clarray._engine.algorithms.gather.policy import GatherPolicy
from clarray._engine.algorithms.histogram.policy import HistogramPolicy
from clarray._engine.algorithms.index_map.policy import IndexMapPolicy
from clarray._engine.algorithms.join.policy import JoinPolicy
from clarray._engine.algorithms.matmul.policy import MatmulPolicy
from clarray._engine.algorithms.scan.policy import ScanPolicy
from clarray._engine.algorithms.scatter.policy import ScatterPolicy
from clarray._engine.algorithms.search.policy import SearchPolicy
from clarray._engine.algorithms.small_matrices.policy import SmallMatricesPolicy
from clarray._engine.algorithms.sort.policy import SortPolicy
from clarray._engine.algorithms.spectral.policy import SpectralPolicy
from clarray._engine.algorithms.stencil.policy import StencilPolicy
from clarray._engine.algorithms.unique.policy import UniquePolicy
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.fused.compact.policy import CompactPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementwisePolicy:
    """Shape of an elementwise kernel.

    Parameters
    ----------
    vector_bytes : int
        Bytes of the widest operand in one load.
    max_width : int
        Largest number of elements in one load.
    explicit : bool
        Whether the code has OpenCL vector types (CPU compilers do not vectorize calls of math
        functions) or scalars, one per lane (GPU).
    work_group : int
        Work-items per work-group.
    groups_per_unit : int
        Work-groups per compute unit.
    chunked : bool
        Whether a work-item takes one contiguous chunk (CPU) or strides over the grid (GPU).
    segment : int
        Elements of an inner loop per step of a work-item in strided kernels.
    stream_bytes : int
        Outputs at least this large are written by streaming stores; 0: never.
    inline_bytes : int
        Launches that move fewer bytes run on the calling thread, if the device can. A row's value is for threads that
        start in 8 us; `selection` raises it for slower threads.
    chunk_bytes : int
        Least number of bytes per work-group.
    vector_weight : int
        Greatest weight of a pass whose work-items compute several elements at a time, where an addition weighs 1.
        Heavier ones have fewer registers that way, and compile in a quarter of the time. 0: no limit.
    block_rows, block_columns : int
        Extents of a work-item's block on a CPU if an operand is transposed: along the axis in which the operand is
        contiguous, and along the innermost axis.
    """

    vector_bytes: int
    max_width: int
    explicit: bool
    work_group: int
    groups_per_unit: int
    chunked: bool
    segment: int
    stream_bytes: int
    inline_bytes: int
    chunk_bytes: int
    vector_weight: int = 0
    block_rows: int = 16
    block_columns: int = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducePolicy:
    """Shape of a reduction.

    Parameters
    ----------
    vector_bytes, max_width, explicit, chunked, inline_bytes
        As in `ElementwisePolicy`.
    loads, column_loads : int
        Loads per work-item before they are accumulated, along rows and down columns.
    work_group : int
        Work-items per work-group, which combine through local memory.
    groups_per_unit : int
        Work-groups per compute unit that fill the device.
    strip : int
        Vectors of neighbouring outputs that a work-item accumulates at once if the inner axis is
        not reduced (CPU: as many as fit into the first-level cache).
    min_split : int
        Least number of elements per work-group if an axis is split between work-groups, for one output.
    number_bytes : int
        A reduction of fewer bytes to one number is computed at the call rather than when it is used; 0: as
        `inline_bytes`.
    least : int
        Least number of elements per work-group for several outputs; 0: as `min_split`.
    short : int
        A work-item loops over inner reduced axes shorter than this, and neighbouring work-items
        have neighbouring outputs.
    fence : str
        C statement after which a work-group's writes are visible to the whole device, or ''.
        With it, the last work-group of a split reduction combines the parts; without it, a
        second launch does.
    widen : bool
        Whether float32 and float16 are summed in float64, if the device has it, instead of compensated.
    rows_per_item : int
        Rows that a work-item reduces at once, if each is an output and work-groups have one work-item.
    block_products : int
        Vectors of products of linear algebra that are summed in their own dtype, by ``fma``, before the sum is
        accumulated, in vector code whose work-groups have one work-item; 0: each product is accumulated.
    prefetch_bytes : int
        Prefetch distance along rows that are reduced at once, if the compiler has a prefetch instruction; 0: no
        prefetch.
    """

    vector_bytes: int
    max_width: int
    explicit: bool
    chunked: bool
    inline_bytes: int
    loads: int
    column_loads: int
    work_group: int
    groups_per_unit: int
    strip: int
    min_split: int
    short: int
    number_bytes: int = 0
    least: int = 0
    fence: str = ""
    widen: bool = False
    rows_per_item: int = 1
    block_products: int = 0
    prefetch_bytes: int = 0

    @property
    def at_once(self) -> int:
        """Bytes up to which a reduction to one number is computed at the call."""
        return self.number_bytes or self.inline_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """All policies of one kind of device, with the measurements that justify them.

    Parameters
    ----------
    name : str
        Name of the row.
    measured : str
        The measurements.
    products : ReducePolicy
        Policy of sums of products of linear algebra: of two vectors, or of a matrix and a vector.
    source : str
        Origin of the values: ``'shipped'``, ``'tuned on <date>'`` or ``'forced by CLARRAY_POLICY'``.
    optimized : bool
        Whether the compiler optimizes kernels. Tests of GPU kernels on a CPU do not need that, and compile in a third
        of the time without.
    """

    name: str
    measured: str
    elementwise: ElementwisePolicy
    reduce: ReducePolicy
    products: ReducePolicy
    scan: ScanPolicy
    compact: CompactPolicy
    sort: SortPolicy
    histogram: HistogramPolicy
    matmul: MatmulPolicy
    stencil: StencilPolicy
    unique: UniquePolicy
    gather: GatherPolicy
    scatter: ScatterPolicy
    search: SearchPolicy
    join: JoinPolicy
    index_map: IndexMapPolicy
    small_matrices: SmallMatricesPolicy
    factorization: FactorizationPolicy
    spectral: SpectralPolicy
    fft: FftPolicy
    source: str = "shipped"
    optimized: bool = True
