"""Plans of matrix products: every part of a product is somebody's, and vectors are loaded only where they fit."""

from __future__ import annotations

import dataclasses
import itertools
import re
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clarray._engine.algorithms.matmul import launch_self_test as self_test
from clarray._engine.algorithms.matmul.launch_self_test import tensor_tiles
from clarray._engine.algorithms.matmul.plan import (
    Matrix,
    OperandLoad,
    Problem,
    TiledPlan,
    TileLimits,
    choose_blocks,
    choose_load,
    choose_parts,
    merge_batch,
    packed_plan,
    smallest_tile,
    work_dtype,
)
from clarray._engine.algorithms.matmul.plan_narrow import is_narrow, narrow_plan
from clarray._engine.algorithms.matmul.policy_tensor import LARGE, TINY_STAGED, TINY_TENSOR
from clarray._engine.algorithms.matmul.source import tiled_source
from clarray._engine.tuning.rows import CPU, GPU, NVIDIA, TINY_CPU, TINY_GPU

from ..fused.test_reduce_source import CAPABILITIES

extents = st.integers(1, 3000)
depths = st.integers(1, 10**7)
batches = st.lists(st.integers(1, 5), max_size=2).map(tuple)
float32 = np.dtype(np.float32)
H200 = TileLimits(units=132, local_bytes=48 << 10, work_items=1024)


@given(extents, extents, depths, batches, st.sampled_from([GPU, NVIDIA, TINY_GPU]), st.sampled_from([4, 8, 16]))
def test_the_parts_of_the_summed_axis_cover_it(m, n, k, batch, row, itemsize):
    found = choose_parts(Problem(m, n, k, batch), itemsize, row.matmul, H200)
    assert (found.parts - 1) * found.part_depth < k <= found.parts * found.part_depth
    assert found.part_depth % found.tile.depth == 0
    assert found == choose_parts(Problem(m, n, k, batch), itemsize, row.matmul, H200)


@given(extents, extents, depths, batches, st.sampled_from([CPU, TINY_CPU]), st.sampled_from(["f4", "f8", "c8"]))
def test_blocks_cover_the_result(m, n, k, batch, row, dtype):
    problem = Problem(m, n, k, batch)
    plan = packed_plan(problem, np.dtype(dtype), np.dtype(dtype), row.matmul, True)
    found = choose_blocks(problem, plan, 2)
    assert (found.down - 1) * found.rows < -(-m // plan.rows) <= found.down * found.rows
    assert (found.across - 1) * found.columns < -(-n // (plan.vectors * plan.lanes)) <= found.across * found.columns
    assert (found.parts - 1) * found.part_depth < k <= found.parts * found.part_depth


def test_a_tile_that_the_device_has_no_room_for_is_left_out():
    problem = Problem(4096, 4096, 4096, ())
    large = choose_parts(problem, 4, NVIDIA.matmul, TileLimits(100, 48 << 10, 1024)).tile
    assert (large.rows, large.depth) == (128, 16)
    assert choose_parts(problem, 4, NVIDIA.matmul, TileLimits(100, 32 << 10, 1024)).tile.rows < 128
    assert choose_parts(problem, 4, GPU.matmul, TileLimits(100, 32 << 10, 1024)).tile.rows == 128
    assert choose_parts(problem, 4, GPU.matmul, TileLimits(100, 1 << 10, 16)).tile == GPU.matmul.tiles[-1]


@pytest.mark.parametrize(
    ("outer", "inner", "offset", "extent", "along", "lanes"),
    [
        (64, 1, 0, 64, False, 4),
        (1, 64, 0, 64, True, 4),
        (1, 64, 0, 62, True, 1),
        (63, 1, 0, 64, False, 1),
        (64, 1, 2, 64, False, 1),
        (128, 2, 0, 64, False, 1),
        (-64, 1, 0, 64, False, 4),
        (64, -1, 0, 64, False, 1),
        (0, 0, 0, 64, False, 1),
    ],
)
def test_vectors_are_aligned(outer, inner, offset, extent, along, lanes):
    side = choose_load(Matrix(outer, inner, (), offset, 4), extent, float32, float32, GPU.matmul.tiles[0], 4)
    assert (side.along, side.lanes) == (along, lanes)


def test_batches_merge_where_every_operand_allows():
    assert merge_batch((2, 3), ((6, 2), (0, 0))) == ((6,), ((2,), (0,)))
    assert merge_batch((2, 3), ((6, 2), (1, 0))) == ((2, 3), ((6, 2), (1, 0)))
    assert merge_batch((1, 3), ((9, 2), (9, 0))) == ((3,), ((2,), (0,)))


def test_what_is_summed_in():
    assert work_dtype(np.dtype(np.float16)) == float32
    assert work_dtype(np.dtype(bool)) == np.uint32
    assert work_dtype(np.dtype(np.int64)) == np.uint64
    assert smallest_tile(CPU.matmul, float32) == (8, 32)


@pytest.mark.parametrize("row", [GPU, NVIDIA, TINY_GPU], ids=lambda row: row.name)
def test_vectors_are_loaded_only_of_what_is_summed_as_it_is(row):
    """A vector is read as elements of the sum: nothing may have to be converted."""
    dtypes = [np.dtype(c) for c in "?bhilBHILefdFD"]
    tile = row.matmul.tiles[0]
    matrix = Matrix(256, 1, (), 0, 0)
    for one, other in itertools.product(dtypes, repeat=2):
        work = work_dtype(np.result_type(one, other))
        if choose_load(matrix, 256, one, work, tile, 2).lanes > 1:
            assert one.itemsize == work.itemsize
            assert one == work or {one.kind, work.kind} <= set("iu")


@given(
    extents,
    st.integers(1, 8),
    st.integers(1, 64),
    st.sampled_from(["?", "i1", "u8", "f2", "f4", "f8", "c8", "c16"]),
    st.booleans(),
)
def test_rows_of_a_narrow_product_are_whole_and_fit_the_registers(m, n, k, dtype, wide):
    policy, kind = CPU.matmul, np.dtype(dtype)
    assert is_narrow(policy, policy.narrow_work, n, k, kind)
    assert n * k == 1 or not is_narrow(policy, (policy.narrow_work - 1) // (n * k), n, k, kind)
    one, other = Matrix(k, 1, (), 0, kind.itemsize), Matrix(1, n, (), 0, kind.itemsize)
    plan = narrow_plan(Problem(m, n, k, ()), (one, other), (kind, kind, kind), policy, wide, True, 0)
    numbers = 2 if kind.kind == "c" else 1
    assert sum(map(sum, plan.pieces)) == n * numbers
    assert all(sum(pieces) <= plan.lanes for pieces in plan.pieces)
    assert plan.several == (m > plan.rows)
    assert plan.rows * -(-m // plan.rows) - m < plan.rows
    assert not plan.stream or n * numbers == plan.lanes * len(plan.pieces)
    panel_rows, vectors = policy.wide_panel if wide else policy.panel
    held = plan.rows * len(plan.pieces) * plan.lanes * plan.work.itemsize
    assert plan.rows == 1 or held <= panel_rows * vectors * policy.vector_bytes


@pytest.mark.parametrize(("n", "k", "offset", "step", "dtype", "aligned"), [
    (8, 8, 0, 8, "f4", (True, True)),
    (8, 8, 4, 12, "f4", (True, True)),
    (8, 8, 2, 12, "f4", (False, False)),
    (6, 8, 0, 8, "f4", (True, False)),
    (8, 8, 0, 9, "f4", (False, True)),
    (4, 4, 1, 5, "c8", (False, False)),
    (4, 4, 2, 6, "c8", (True, True)),
    (3, 4, 0, 3, "c16", (True, True)),
])  # fmt: skip
def test_vectors_of_a_gpu_begin_at_multiples(n, k, offset, step, dtype, aligned):
    kind = np.dtype(dtype)
    one, other = Matrix(k, 1, (), 0, kind.itemsize), Matrix(1, step, (), offset, kind.itemsize)
    plan = narrow_plan(Problem(100, n, k, ()), (one, other), (kind, kind, kind), GPU.matmul, False, False, offset)
    assert (plan.b_aligned, plan.out_aligned, plan.rows) == (*aligned, 1)


def test_rows_of_a_gpus_narrow_products_are_short():
    policy = GPU.matmul
    assert is_narrow(policy, 1 << 20, 16, 16, float32)
    assert not is_narrow(policy, 1 << 20, 17, 8, float32)
    assert not is_narrow(policy, 1 << 20, 2, 17, float32)
    assert not is_narrow(policy, 1 << 11, 8, 8, float32)


LAYOUTS = [(tile, along) for tile in (*LARGE.values(), *TINY_TENSOR, *TINY_STAGED) for along in (False, True)]


@pytest.mark.parametrize(("tile", "along"), LAYOUTS, ids=str)
def test_what_warps_take_from_local_memory_lies_in_banks_of_its_own(tile, along):
    """By the template's own formula: every element has a place, a vector's are neighbours, and no half-warp waits."""
    side = OperandLoad(np.dtype(np.float64), along, 2)
    plan = TiledPlan(
        tile=tile,
        work=side.dtype,
        a=side,
        b=side,
        out=side.dtype,
        out_vectors=True,
        lanes=2,
        rank=0,
        policy=NVIDIA.matmul,
    )
    text = tiled_source(plan, CAPABILITIES).text
    for name, extent in (("a", tile.rows), ("b", tile.columns)):
        formula = re.search(rf"#define PLACE_{name}\(i, d\) (.+)", text)[1].replace("/", "//")
        places = {(i, d): eval(formula, {"i": i, "d": d}) for i in range(extent) for d in range(tile.depth)}
        assert sorted(places.values()) == list(range(extent * tile.depth))
        for (i, d), place in places.items():
            if (i if along else d) % 2 == 0:
                assert places[(i + 1, d) if along else (i, d + 1)] == place + 1
        for i, d in itertools.product(range(0, extent, 4), range(0, tile.depth, 4)):
            taken = {places[i + g, d + t] % 16 for g in range(4) for t in range(4)}
            assert len(taken) == 16


TURNED = [(tile, dtype) for tile in NVIDIA.matmul.tiles for dtype in ("float32", "int32")] + [
    (tile, "float64") for tile in NVIDIA.matmul.wide_tiles
]


@pytest.mark.parametrize(("tile", "dtype"), TURNED, ids=str)
def test_what_work_items_store_down_columns_goes_to_banks_of_its_own(tile, dtype):
    """By the template's own formula: every element has a place, what is read together is a vector, none waits long."""
    work = np.dtype(dtype)
    lanes = min(16 // work.itemsize, tile.item_rows, tile.item_columns)
    side = OperandLoad(work, False, lanes)
    plan = TiledPlan(
        tile=tile, work=work, a=side, b=side, out=work, out_vectors=True, lanes=lanes, rank=0, policy=NVIDIA.matmul
    )
    text = tiled_source(plan, CAPABILITIES).text
    for name, extent in (("a", tile.rows), ("b", tile.columns)):
        formula = re.search(rf"#define TURNED_{name}\(i, d\) (.+)", text)[1].replace("/", "//")
        row = int(re.search(rf"__local \w+ {name}l\[(\d+)\]", text)[1]) // (2 * tile.depth)
        place = eval(f"lambda i, d: d * {row} + {formula}")
        places = [place(i, d) for i in range(extent) for d in range(tile.depth)]
        assert len(set(places)) == len(places)
        assert max(places) < tile.local_bytes(work.itemsize) // 2 // work.itemsize
        for i, d in itertools.product(range(0, extent, lanes), range(tile.depth)):
            assert [place(i + lane, d) for lane in range(lanes)] == [place(i, d) + lane for lane in range(lanes)]
        units, banks = tile.depth // lanes, 128 // work.itemsize
        assert banks // units >= lanes  # or vectors would be torn
        for first in range(0, extent * units, banks):  # vectors of neighbouring work-items, stored a lane at a time
            stored = {place(v // units, v % units * lanes) % banks for v in range(first, first + banks)}
            assert len(stored) == banks


@pytest.mark.parametrize("tile", [*LARGE.values(), *NVIDIA.matmul.warp_tiles, *TINY_TENSOR, *TINY_STAGED], ids=str)
def test_tiles_for_tensor_cores_are_divided_evenly(tile):
    one = tile.instruction
    assert tile.rows % 16 == tile.columns % 16 == 0
    assert tile.depth in (4, 8, 16, 32)
    assert tile.depth % one.depth == tile.warp_rows % one.rows == tile.warp_columns % one.columns == 0
    assert tile.rows % tile.warp_rows == tile.columns % tile.warp_columns == 0
    assert tile.work_items <= 1024
    assert tile.rows * tile.depth % tile.work_items == tile.columns * tile.depth % tile.work_items == 0
    assert tile.local_bytes(8) <= 48 << 10


@pytest.mark.parametrize(
    ("vendor", "capability", "instructions"),
    [
        ("NVIDIA Corporation", (9, 0), {"m16n8k4", "m8n8k4"}),
        ("NVIDIA Corporation", (8, 0), {"m8n8k4"}),
        ("NVIDIA Corporation", (8, 9), set()),
        ("NVIDIA Corporation", None, {"m16n8k4", "m8n8k4"}),
        ("Advanced Micro Devices, Inc.", None, set()),
    ],
)
def test_which_devices_try_tensor_cores(vendor, capability, instructions):
    capabilities = dataclasses.replace(CAPABILITIES, vendor=vendor, compute_capability=capability, local_bytes=48 << 10)
    capabilities = dataclasses.replace(capabilities, max_work_group=1024)
    cache = SimpleNamespace(device=object(), capabilities=capabilities, policies=NVIDIA)
    assert {t.instruction.name for t in tensor_tiles(cache)} == instructions
    cache.policies = GPU
    assert tensor_tiles(cache) == ()
    self_test._usable.clear()


def test_tiles_for_tensor_cores_are_chosen_among_themselves():
    tensor = NVIDIA.matmul.tensor_tiles
    large = choose_parts(Problem(4096, 4096, 4096, ()), 8, NVIDIA.matmul, H200, tensor=tensor)
    small = choose_parts(Problem(256, 256, 256, ()), 8, NVIDIA.matmul, H200, tensor=tensor)
    assert large.tile == tensor[0]
    assert small.tile in tensor[1:]
    portable = choose_parts(Problem(256, 256, 256, ()), 8, NVIDIA.matmul, H200)
    assert portable.tile in NVIDIA.matmul.wide_tiles
