"""Launches fill the arguments that kernels declare, and kernels use what they declare: nothing runs, no device."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clarray._engine.algorithms.fft.launch import transform
from clarray._engine.algorithms.gather.launch import gather_selection, resolve_indices, scatter_selection
from clarray._engine.algorithms.gather.selection import IndexSelection
from clarray._engine.algorithms.histogram.launch import count_values
from clarray._engine.algorithms.index_map.launch import index_map
from clarray._engine.algorithms.index_map.plan import CONSTANT, SAME, WRAP, Axis
from clarray._engine.algorithms.join.launch import join
from clarray._engine.algorithms.matmul.launch import matmul, scaled_product
from clarray._engine.algorithms.scan import launch_parallel
from clarray._engine.algorithms.scan.launch import reduce_segments, scan
from clarray._engine.algorithms.scatter.launch import scatter_update
from clarray._engine.algorithms.search.launch import search
from clarray._engine.algorithms.small_matrices.launch import factorize
from clarray._engine.algorithms.small_matrices.launch_teams import decompose
from clarray._engine.algorithms.sort import launch as sort_launch
from clarray._engine.algorithms.sort.launch import argsort_rows, sort_rows
from clarray._engine.algorithms.sort.launch_words import sort_by_reference
from clarray._engine.algorithms.unique.launch_hash_table import distinct_by_hash_table
from clarray._engine.algorithms.unique.launch_range_table import range_table
from clarray._engine.expr import build
from clarray._engine.expr.epilogues import Epilogue, find_epilogue
from clarray._engine.expr.graph import inputs_of
from clarray._engine.expr.node import Node, constant, leaf
from clarray._engine.expr.view import View, contiguous
from clarray._engine.fused.compact.launch import compact
from clarray._engine.fused.elementwise import launch_program as elementwise_program
from clarray._engine.fused.elementwise.launch import flat_launch, strided_launch
from clarray._engine.fused.elementwise.launch_program import plan_elementwise
from clarray._engine.fused.reduce import launch_program as reduce_program
from clarray._engine.fused.reduce.launch import any_length_limit, reduction_launches
from clarray._engine.fused.reduce.launch_program import plan_reduction
from clarray._engine.launch import kernel_cache
from clarray._engine.launch.kernel_cache import KernelCache
from clarray._engine.launch.operands import Operands
from clarray._engine.ops.monoids import Monoid, fold_monoid, reduction_op, statistic_monoid
from clarray._engine.ops.ufuncs import find_loop
from clarray._engine.runtime import Capabilities, steps
from clarray._engine.tuning.rows import ROWS

CAPABILITIES = Capabilities(
    kind="gpu",
    name="n",
    vendor="v",
    platform="p",
    platform_version="1",
    driver="d",
    compute_units=3,
    max_work_group=256,
    local_bytes=1 << 15,
    global_bytes=1 << 30,
    max_alloc_bytes=1 << 30,
    fp64=True,
    fp16=False,
    host_memory=True,
    clang_builtins=True,
    function_attribute="",
    little_endian=True,
)
CACHES: Any = kernel_cache._caches
F4, F8, I4, I8, U1, C8, BOOL = map(np.dtype, ("f4", "f8", "i4", "i8", "u1", "c8", "?"))


class Memory:
    """Memory of no device: it holds nothing."""

    def __init__(self, device: Device, nbytes: int) -> None:
        self.device, self.nbytes, self.buffer = device, nbytes, object()
        self.shared, self.writeable, self.cost = False, True, 1
        self.readers: list[Any] = []
        self.facts = self.mirror = None

    def forget(self) -> None:
        pass


class Device:
    """Takes launches, and reads zeros."""

    inline = None
    several = False

    def __init__(self) -> None:
        self.lock = nullcontext()
        self.capabilities = CAPABILITIES
        self.attached: dict[str, Any] = {}

    def allocate(self, nbytes: int) -> Memory:
        return Memory(self, nbytes)

    def upload(self, array: np.ndarray) -> Memory:
        return Memory(self, array.nbytes)

    def read(self, memory: Memory, at: int, out: np.ndarray) -> None:
        out[...] = 0

    def read_scalar(self, memory: Memory, at: int, dtype: np.dtype) -> Any:
        return dtype.type(0)

    def ignore(self, *args: Any) -> None:
        pass

    read_number = read_scalar
    write = fill_zero = synchronize = ignore


class Kernel:
    """Takes as many arguments as it declares."""

    arguments: Callable[..., list[Any]]

    def __init__(self, types: Sequence[str]) -> None:
        self.types = types

    def launch(self, groups: Any, local: Any, args: Sequence[Any], inline: bool = False, nbytes: int = 0) -> None:
        for value, kind in zip(args, self.types, strict=True):
            if kind == "buffer":
                assert type(value) is object
            else:
                types = (int, np.integer) if np.dtype(kind).kind in "iu" else (float, np.floating)
                assert isinstance(value, types), (value, kind)


class Program:
    def __init__(self, types: Mapping[str, Sequence[str]]) -> None:
        self._kernels = {name: Kernel(each) for name, each in types.items()}

    def kernel(self, name: str) -> Kernel:
        return self._kernels[name]


Seen = dict[str, tuple[set[str], set[str]]]  # by kernel: the names of declared arguments, and of those that are used


# Kernels of one declaration, of which each uses a part.
GATHERS = ("gather", "scatter", "own", "check", "mark", "claim", "settle", "resolve", "offer", "collect", "rise")
FAMILIES = dict.fromkeys(GATHERS, "gather")


# What only the last pass of a transform uses, which is launched when its result is evaluated.
LAST_PASS = {"fft": {"after_at", "inner", "limit", "scale"}}


def fake_device(row: str, monkeypatch: pytest.MonkeyPatch, seen: Seen) -> Device:
    """Make a device with the policies of a row, whose kernels only look at their arguments."""
    made, device = KernelCache.__new__(KernelCache), Device()
    given = {"device": device, "capabilities": CAPABILITIES, "policies": ROWS[row], "units": 3}
    for name, value in (given | {"prepared": {}, "rendered": {}, "_free_zeros": {}, "persistent": {}}).items():
        object.__setattr__(made, name, value)  # of no device that the compiled core could be told of

    def program(self: KernelCache, text: str, types: Mapping[str, Sequence[str]]) -> Any:
        for name in types:
            head = re.search(rf"void {name}\(([^{{]*)\) {{", text)
            assert head is not None
            rest = text[: head.start()] + text[head.end() :]
            names = [declared.split()[-1].lstrip("*") for declared in head[1].split(", ")]
            declared, used = seen[FAMILIES.get(name, re.sub("_(fl|f|m|l|keys)$", "", name))]
            declared.update(map(_plain, names))
            used.update(_plain(each) for each in names if re.search(rf"\b{each}\b", rest))
        return Program(types)

    monkeypatch.setattr(KernelCache, "_program", program)
    monkeypatch.setattr(sort_launch, "_copy_line", lambda *args: None)  # the compiled core would copy
    monkeypatch.setattr(launch_parallel, "passes_self_test", lambda cache: bool(cache.policies.scan.lookback))
    monkeypatch.setitem(CACHES, device, made)
    return device


def _plain(name: str) -> str:
    """The name without the number of its operand, axis or part."""
    return re.sub(r"\d+", "#", name)


def array(device: Device, shape: tuple[int, ...], dtype: np.dtype = F4, strides: Any = None, offset: int = 0) -> Node:
    memory: Any = device.allocate(1 << 20)
    return leaf(memory, shape, strides or contiguous(shape), offset, dtype)


def _scans(device: Device) -> None:
    plus, minus = fold_monoid(np.add, F4), fold_monoid(np.subtract, F4)
    shape: tuple[int, ...]
    for shape, strides in (((7, 5000), None), ((5000, 7), None), ((3, 4, 5000), (1, 90000, 5)), ((2, 500, 70), None)):
        for axis in range(len(shape)):
            scan(array(device, shape, strides=strides), plus, axis)
            scan(array(device, shape, strides=strides), minus, axis)
    for shape in ((50,), (9, 50), (50, 9, 4)):
        reduce_segments(array(device, shape), plus, 0, array(device, (4,), I8))


def _sorts(device: Device) -> None:
    for dtype in (F4, F8, U1, C8):
        for shape in ((9, 5), (3, 300), (70000,)):
            sort_rows(array(device, shape, dtype), len(shape) - 1)
            argsort_rows(array(device, shape, dtype), len(shape) - 1)
        sort_by_reference(CACHES[device], array(device, (3, 5), dtype))


def _indexing(device: Device) -> None:
    numbers, table = array(device, (40,), I8), array(device, (4, 10), I8, (30, 2))
    strided = View((3, 5), (1000, 100), 0)
    plain = IndexSelection(numbers, (40,), (30,), (1,), View((), (), 0), 0)
    rows = IndexSelection(numbers, (40,), (30,), (10,), View((9,), (1,), 0), 0)
    columns = IndexSelection(numbers, (40,), (30,), (3,), strided, 2)
    several = IndexSelection(table, (4, 10), (5, 6), (9000, 300), strided, 1)
    for mode in ("raise", "wrap", "clip"):
        for named in (each._replace(mode=mode) for each in (plain, rows, columns, several)):
            x = array(device, (90000,))
            gather_selection(x, named)
            for value in (array(device, named.result_shape), array(device, ())):
                scatter_selection(x, named, value)
            resolve_indices(named)
    for named, strides in ((plain, None), (rows, None), (several, (70, 4000, 300, 2))):
        value = array(device, named.result_shape, strides=strides)
        scatter_update(array(device, (90000,)), named, find_loop(np.add, (F4, F4), (F4,)), value)


def _moves(device: Device) -> None:
    for dtype in (U1, F4, C8, np.dtype("c16")):
        x = array(device, (6, 8), dtype)
        axes = [Axis(WRAP, 9, 8, 6, 2), Axis(CONSTANT, 12, 1, 8, 2, (0, 1))]
        index_map(x, View(x.shape, x.strides, 0), axes, array(device, (9, 12), dtype))
        index_map(x, View(x.shape, x.strides, 0), [Axis(SAME, 8, 1, 8, 0)], array(device, (8,), dtype))
        join([array(device, (6, n), dtype) for n in (1, 4, 7)], 6, array(device, (6, 12), dtype))


def _counts(device: Device) -> None:
    count_values(array(device, (900,), I4), None, 50, None)
    count_values(array(device, (900,), I4), array(device, (900,), F8), 50, 49)
    count_values(array(device, (30, 30), I4, (1, 60)), None, 1 << 17, 3)
    for sorter in (None, array(device, (50,), I8)):
        search(array(device, (50,)), array(device, (9, 4), strides=(8, 2)), sorter=sorter)
    search(array(device, (50,)), array(device, (9,)), membership=True)
    for strides in (None, (3,)):
        for dtype in (U1, I4):
            range_table(array(device, (900,), dtype, strides), 256, True)
        distinct_by_hash_table(array(device, (90000,), F4, strides), True)
        mask, value = array(device, (9000,), BOOL), array(device, (9000,), F4, strides)
        compact(CACHES[device], value, mask)


def _products(device: Device) -> None:
    for batch in ((), (3,)):
        for m, n, k in ((40, 50, 60), (400, 3, 20), (70, 64, 900)):
            for dtype in (F4, F8, C8, I4):
                a, b = array(device, (*batch, m, k), dtype), array(device, (*batch, k, n), dtype)
                matmul(a, b, array(device, (*batch, m, n), dtype))
        cache = CACHES[device]
        if not cache.policies.matmul.packed:
            a, b, c = (array(device, (*batch, 64, 64)) for _ in range(3))
            scaled_product(cache, a, b, c).run(a, b, c, 1.0, 0.0, c)


DECOMPOSITIONS = (("qr", "reduced"), ("qr", "r"), ("eigh", ""), ("svd", "reduced"), ("svd", "values"))


def _matrices(device: Device) -> None:
    for dtype in (F4, C8):
        for n in (3, 40):
            a, b = array(device, (70, n, n), dtype), array(device, (70, n, 2), dtype)
            for operation in ("det", "slogdet", "cholesky", "inv"):
                factorize(operation, a)
            factorize("solve", a, b)
            for operation, mode in DECOMPOSITIONS:
                decompose(operation, a, mode)


def _transforms(device: Device) -> None:
    for n in (16, 90, 1031, 70000):
        for shape, axis in (((n,), 0), ((3, n), 1), ((n, 5), 0)):
            transform(array(device, shape, C8), axis, n, "complex", inverse=False, scale=0.5)
            transform(array(device, shape, F4), axis, n, "rfft", inverse=False, scale=0.5)
            transform(array(device, shape, C8), axis, n - 3, "complex", inverse=True, scale=1.0)
            half = tuple(n // 2 + 1 if a == axis else extent for a, extent in enumerate(shape))
            transform(array(device, half, C8), axis, n, "irfft", inverse=True, scale=0.5)


def binary(function: np.ufunc, x: Node, y: Node) -> Node:
    dtype = function(np.ones((), x.dtype), np.ones((), y.dtype)).dtype
    return build.binary(find_loop(function, (x.dtype, y.dtype), (dtype,)), x, y)


LAYOUTS = [
    ((50,), None),
    ((50,), (2,)),
    ((50,), (-1,)),
    ((40, 50), None),
    ((40, 50), (1, 40)),
    ((3, 40, 50), (9000, 100, -1)),
    ((2, 3, 40, 50), (50000, 9000, 1, 40)),
]


def expressions(device: Device) -> list[Node]:
    """Sums of operands of several layouts, with arrays, single elements and constants."""
    sums = []
    for dtype in (F4, C8, U1):
        for shape, strides in LAYOUTS:
            x = array(device, shape, dtype, strides, 7)
            others = (x, array(device, shape, dtype), array(device, shape[-1:], dtype), array(device, (), dtype))
            sums += [binary(np.add, x, y) for y in (*others, constant(dtype.type(3), dtype))]
    return sums


def _elementwise(device: Device) -> None:
    cache = CACHES[device]
    for root in expressions(device):
        target = array(device, root.shape, root.dtype)
        flat = flat_launch(cache, root, target.memory, 5)
        if flat is not None:
            flat.run()
        for step in (1, 3):
            strides = tuple(step * stride for stride in target.strides)
            strided_launch(cache, root, target.memory, 5, strides).run()


MONOIDS = [fold_monoid(np.add, F4), fold_monoid(np.add, C8), statistic_monoid("argmax", F4)]
REDUCED = [
    ((5000,), (0,)),
    ((9000000,), (0,)),
    ((40, 50), (1,)),
    ((40, 50), (0,)),
    ((40, 50), (0, 1)),
    ((3, 90000), (1,)),
    ((90000, 3), (0,)),
    ((3, 90000, 2), (1,)),
    ((5, 60, 7), (0, 2)),
]


def reduction(monoid: Monoid, axes: tuple[int, ...], *args: Node) -> Node:
    shape = tuple(n for axis, n in enumerate(args[0].shape) if axis not in axes)
    return build.reduction(reduction_op(monoid, axes, len(args[0].shape), len(args) > 1), args, shape)


def _reductions(device: Device) -> None:
    for monoid in MONOIDS:
        for shape, axes in REDUCED:
            for step in (1, 2, -1):
                x = array(device, shape, monoid.in_dtype, tuple(step * n for n in contiguous(shape)))
                plain = reduction(monoid, axes, x)
                masked = reduction(monoid, axes, x, array(device, shape, BOOL))
                scaled = binary(np.multiply, plain, constant(plain.dtype.type(3), plain.dtype))
                for root in (plain, masked, scaled):
                    epilogue, target = find_epilogue(root), array(device, root.shape, root.dtype)
                    assert epilogue is not None
                    for launch in reduction_launches(CACHES[device], epilogue, target.memory, 5, target.strides):
                        launch.run()


SCENARIOS = [_elementwise, _reductions, _scans, _sorts, _indexing, _moves, _counts, _products, _matrices, _transforms]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__.strip("_"))
def test_launches_fill_what_kernels_declare_and_use(
    scenario: Callable[[Device], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan may leave an argument unused, but no argument is unused by all plans."""
    seen: Seen = defaultdict(lambda: (set(), set()))
    for row in ("cpu", "nvidia", "tiny-cpu", "tiny-gpu"):
        scenario(fake_device(row, monkeypatch, seen))
    unused = {kernel: declared - used - LAST_PASS.get(kernel, set()) for kernel, (declared, used) in seen.items()}
    assert not any(unused.values()), unused


def arguments_of(program: Any, root: Node, memory: Any, temporaries: Sequence[Any] = ()) -> list[Any]:
    """List the arguments that the native implementation gives the kernel of a program."""
    (step,) = program.steps
    args: list[Any] = []
    for letter, value in zip(step.letters, step.args, strict=True):
        if letter == steps.OPERANDS:
            args += Operands(inputs_of(root)).arguments(value)
        elif letter == steps.LOOPS:
            args += value[0]
        else:
            length = root.args[0].size if root.args else 0
            values = {
                steps.OUTPUT: memory.buffer,
                steps.OUTPUT_OFFSET: value,
                steps.SIZE: root.size,
                steps.NUMBER: value,
            }
            values |= {steps.LENGTH: length} if letter == steps.LENGTH else {}
            values |= {steps.PERSISTENT: value.buffer} if letter == steps.PERSISTENT else {}
            values |= {steps.TEMPORARY: temporaries[value]} if letter == steps.TEMPORARY else {}
            args.append(values[letter])
    return args


class Table:
    """Programs of no device."""

    def limit_reductions(self, length: int, to_number: int, to_numbers: int) -> None:
        pass


@pytest.mark.parametrize("row", ["cpu", "nvidia", "tiny-cpu", "tiny-gpu"])
def test_programs_give_the_arguments_of_launches(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    device: Any = fake_device(row, monkeypatch, defaultdict(lambda: (set(), set())))
    cache = CACHES[device]
    monkeypatch.setattr(elementwise_program, "use_programs", lambda cache: Table())
    for root in expressions(device):
        memory: Any = device.allocate(0)
        flat, launch = plan_elementwise(device, root, 0, None, True, False), flat_launch(cache, root, memory, 0)
        assert flat is None or launch is None or arguments_of(flat, root, memory) == launch.args
        for any_extent in (False, True):
            strides = contiguous(root.shape)
            strided = plan_elementwise(device, root, 0, strides, False, any_extent)
            assert arguments_of(strided, root, memory) == strided_launch(cache, root, memory, 0, strides).args


@pytest.mark.parametrize("row", ["cpu", "nvidia", "tiny-cpu", "tiny-gpu"])
def test_programs_give_the_arguments_of_reductions(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    device: Any = fake_device(row, monkeypatch, defaultdict(lambda: (set(), set())))
    monkeypatch.setattr(reduce_program, "use_programs", lambda cache: Table())
    cache, count = CACHES[device], 0
    for monoid in MONOIDS:
        for shape, axes in [((9,), (0,)), *REDUCED]:
            for step in (1, -1):
                x = array(device, shape, monoid.in_dtype, tuple(step * n for n in contiguous(shape)))
                root, memory = reduction(monoid, axes, x), device.allocate(0)
                launches = reduction_launches(cache, Epilogue(root, root, ()), memory, 0, contiguous(root.shape))
                for any_length in (False, x.size < any_length_limit(cache.policies.reduce) and step > 0):
                    program = plan_reduction(device, root, any_length and len(shape) == 1)
                    if program is not None:
                        states = [arg for arg in launches[0].args if type(arg) is object][1:]
                        assert arguments_of(program, root, memory, states) == launches[0].args
                        count += 1
    assert count > 20


def test_launches_list_no_arguments_by_position() -> None:
    """Users' kernels alone take theirs in order: nobody names them."""
    engine = Path(kernel_cache.__file__).parents[1]
    paths = {*engine.glob("algorithms/*/launch*.py"), *engine.glob("fused/*/launch*.py")}
    paths.remove(engine / "algorithms/snippet/launch_raw.py")
    listed = re.compile(r"^ *args(: list\[Any\])? (=|\+=) \[|\bargs\.append", re.MULTILINE)
    assert len(paths) > 30
    assert [str(path) for path in sorted(paths) if listed.search(path.read_text())] == []
