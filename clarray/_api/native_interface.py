"""All that the compiled core takes from Python, in one structure.

The core works on the slots of a few classes, runs functions of these modules in rare cases, and has a few limits in
common with them. `speedups/python.hpp` lists the same fields; a core with other fields refuses the structure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from clarray._api.operators import short_calls
from clarray._core import small_indexing
from clarray._core.conversion import scalar
from clarray._core.device_array import DeviceArray
from clarray._core.elements import computed_number
from clarray._core.fallback import by_numpy
from clarray._core.host_fallback import ERRORS_FOR_NUMPY
from clarray._core.operands import STRONG, operand_from_host
from clarray._core.own_frames import hide_own_frames
from clarray._core.views import view_operation
from clarray._engine import evaluate as evaluation
from clarray._engine import weights
from clarray._engine.expr import build, layout
from clarray._engine.expr import node as nodes
from clarray._engine.expr.bounds import record_subset_range
from clarray._engine.expr.epilogues import find_transform_epilogue
from clarray._engine.expr.memory_views import Views, prune_views
from clarray._engine.fused.compact.launch_program import plan_selection
from clarray._engine.fused.elementwise.launch_program import plan_elementwise
from clarray._engine.fused.reduce.launch_program import plan_reduction
from clarray._engine.launch import host_tier
from clarray._engine.launch.capture import capture_call
from clarray._engine.ops.monoids import Reduction
from clarray._engine.ops.special import cast_loop
from clarray._engine.ops.transforms import Transform
from clarray._engine.ops.ufuncs import Loop
from clarray._engine.runtime import Device, Kernel, Memory, profiling
from clarray._engine.runtime import launch as launches
from clarray._engine.runtime import memory as memories
from clarray._engine.runtime.backends import MachineCode
from clarray._engine.speedups import native
from clarray._engine.writing import write
from clarray._numpy.indexing.subscripts import captured_getitem, captured_setitem, setitem
from clarray._numpy.products.vectors import vector_product_steps
from clarray._numpy.reduction.reduce_calls import plain_reduction

Function = Callable[..., Any]


class NativeInterface(NamedTuple):
    """The structure. A function that has a native implementation stands for its Python reference."""

    # Classes whose slots the core reads and writes
    blank: type = nodes.Blank
    known: type = nodes.HostScalar
    loop: type = Loop
    reduction: type = Reduction
    transform: type = Transform
    device_array: type = DeviceArray
    memory: type = Memory
    block: type = memories.Block
    kernel: type = Kernel
    bound: type = launches.BoundKernel
    machine_code: type = MachineCode
    device: type = Device

    # The graph
    unary: Function = build.unary
    binary: Function = build.binary
    nary: Function = build.nary
    refresh_metadata: Function = build.refresh_metadata
    rebuild: Function = build.rebuild
    prune_or_mark_shared: Function = build.prune_or_mark_shared
    become_copy: Function = build.replace_with_copy
    intern_structure: Function = nodes.intern_structure
    leaf_signature: Function = nodes.leaf_signature
    constant_signature: Function = nodes.constant_signature
    cast_loop: Function = cast_loop
    find_finish: Function = find_transform_epilogue
    large_structure: int = nodes.intern_structure(build.LARGE_KEY)
    const_op: Any = nodes.CONST
    index_op: Any = nodes.INDEX
    unread: Any = nodes.UNREAD
    graph_lock: Any = nodes.graph_lock
    node_type: type = nodes.Node
    selection_type: type = nodes.Selection
    non_consuming_ref: type = build.NonConsumingRef

    note_line: Function = profiling.note_line

    # Evaluation
    fuse_below: Function = evaluation.fuse_below
    evaluate: Function = evaluation.evaluate
    evaluate_judged: Function = evaluation.evaluate_with_range
    write: Function = write
    remember_part: Function = record_subset_range
    plan_elementwise: Function = plan_elementwise
    plan_reduction: Function = plan_reduction
    plan_selection: Function = plan_selection
    capture_call: Function = capture_call
    host_tier: Any = host_tier.setting

    # Public functions
    plain_reduction: Function = plain_reduction
    vector_product_steps: Function = vector_product_steps
    scalar: Function = scalar
    computed_number: Function = computed_number
    setitem: Function = setitem
    captured_getitem: Function = captured_getitem
    captured_setitem: Function = captured_setitem
    views_type: type = Views
    prune_views: Function = prune_views
    view_operation: Function = view_operation
    operand_from_host: Function = operand_from_host
    by_numpy: Function = by_numpy
    hide_own_frames: Function = hide_own_frames
    host_only_error: tuple[type, ...] = ERRORS_FOR_NUMPY
    short_calls: Any = short_calls

    # NumPy
    bool_dtype: Any = np.dtype(bool)
    strong_dtypes: Any = STRONG
    dtype_type: type = np.dtype
    ufunc_type: type = np.ufunc
    ndarray_type: type = np.ndarray
    generic_type: type = np.generic
    float64_type: type = np.float64
    no_value: Any = np._NoValue

    # Limits
    alignment: int = layout.ALIGNMENT
    weight_of_all: int = weights.WEIGHT_OF_ALL
    least_of_memory: int = weights.LEAST_OF_MEMORY
    view_weight: int = weights.VIEW_WEIGHT
    most_views: int = weights.MOST_VIEWS
    view_reads: int = weights.VIEW_READS
    tree_limit: int = build.TREE_LIMIT
    int_limit: int = layout.INT_LIMIT
    prune_at: int = build.PRUNE_AT
    smallest_block: int = memories.SMALLEST_BLOCK
    fine_blocks: int = memories.FINE_LIMIT
    checked_bytes: int = memories.CHECKED_BYTES
    most_queued: int = launches.MAX_QUEUED_BYTES
    most_gathered: int = small_indexing.MOST_OF_MANY


def bind() -> None:
    """Pass the structure to the core, if there is one. Until then its functions call their references."""
    if native is not None:
        native.bind(NativeInterface())
