"""Tuning values: frozen and printable. What a kernel looks like on a device follows from them alone."""

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
from clarray._engine.fused.compact.policy import CompactPolicy
from clarray._engine.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementwisePolicy:
    """Shape of an elementwise kernel.

    Parameters
    ----------
    vector_bytes : int
        Bytes of the widest operand that one load takes.
    max_width : int
        Most elements in one load.
    explicit : bool
        Whether the code is written in OpenCL vector types (CPU compilers do not vectorise
        calls to math functions by themselves) or as scalars, one per lane (GPU).
    work_group : int
        Work-items per work-group.
    groups_per_unit : int
        Work-groups per compute unit.
    chunked : bool
        Whether a work-item takes one contiguous chunk (CPU) or strides over the grid (GPU).
    segment : int
        Elements of an inner loop that one work-item takes at a time in strided kernels.
    stream_bytes : int
        Outputs at least this large are written past the caches; 0: never.
    inline_bytes : int
        Launches that move fewer bytes run on the calling thread, where the device can. Of a row: where its threads take
        work in 8 us; `selection` has more of what programs wait for where they take longer.
    chunk_bytes : int
        A launch uses no more work-groups than gives each this many bytes.
    block_rows, block_columns : int
        Of what lies transposed, a work-item of a CPU takes blocks of so many elements along the axis in which it is
        contiguous, by so many along the innermost.
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
        Loads in flight per work-item before they are accumulated, in rows and down columns.
    work_group : int
        Work-items per work-group; they combine through local memory.
    groups_per_unit : int
        Work-groups per compute unit that fill the device.
    strip : int
        Vectors of neighbouring outputs that one work-item accumulates at once when the inner
        axis is kept (CPU: as many as stay in the first-level cache).
    min_split : int
        Elements that a work-group must have before an axis is split between work-groups, where there is one output.
    number_bytes : int
        A reduction of fewer bytes to one number is computed at once, rather than when it is used; 0: those of
        `inline_bytes`.
    least : int
        Elements that a work-group must have where there are several outputs; 0: as many as for `min_split`.
    short : int
        Inner reduced axes shorter than this are looped over inside a work-item, with
        neighbouring outputs side by side.
    fence : str
        C statement after which a work-group's writes are visible to the whole device, or '':
        with one, the last work-group of a split reduction combines the parts; without, a
        second launch does.
    widen : bool
        Whether float32 and float16 are summed in float64, where the device has that, instead of compensated.
    abreast : int
        Rows that a work-item goes along at once, where each is an output and work-groups have one work-item.
    block_products : int
        Vectors of products of linear algebra that are summed in their own dtype, by ``fma``, before the sum enters
        a state, in vector code whose work-groups have one work-item; 0: each product enters.
    ahead_bytes : int
        How far ahead elements of rows that are gone along together are fetched into the caches, where a compiler has
        words for it; 0: not at all.
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
    abreast: int = 1
    block_products: int = 0
    ahead_bytes: int = 0

    @property
    def at_once(self) -> int:
        """Bytes up to which a reduction to one number is computed at once."""
        return self.number_bytes or self.inline_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """All policies of one kind of device, with the measurements that justify them.

    Parameters
    ----------
    name : str
        Of the row.
    measured : str
        The measurements.
    products : ReducePolicy
        Of sums of products of linear algebra: of two vectors, or of a matrix and a vector.
    source : str
        Where the values come from: ``'shipped'``, ``'tuned on <date>'`` or ``'forced by CLARRAY_POLICY'``.
    optimized : bool
        Have the compiler optimize kernels. Tests that run kernels of GPUs on a CPU do without: what they do is asked
        there, not what the CPU's compiler makes of them, which takes it three times as long.
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
