"""Launches of elementwise kernels.

The flat path (all operands contiguous, or one element) is what small arrays take, so it makes its
key and its arguments in one walk over the inputs. Everything else goes by the strided path, whose loops
and arguments are prepared once per combination of shapes and strides.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate, chain
from typing import Any, NamedTuple

from clarray._engine.expr.layout import (
    ALIGNMENT,
    COUNT,
    INT_LIMIT,
    UNIT,
    ZERO,
    Shape,
    access,
    aligned,
    collapse,
    explicit_width,
    furthest,
    index_type,
    starts_aligned,
    vector_width,
)
from clarray._engine.expr.node import CONST, INDEX, Node, leaf
from clarray._engine.expr.view import contiguous
from clarray._engine.fused.elementwise.plan import STAGED_LIMIT, TILE, ElementwisePlan, groups, tile_axis
from clarray._engine.fused.elementwise.source import elementwise_source
from clarray._engine.launch.host_tier import Awaited, OnHost, are_used
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.launch.operands import Operands, inline_limit, operands_of, place, place_flat, stride_arguments
from clarray._engine.runtime import Kernel, Memory
from clarray._engine.values import dataclass


class Flat(NamedTuple):
    """A flat kernel, the bytes it moves per element, and those below which one work-group, and the caller, does all."""

    kernel: Kernel | Awaited
    vector: int
    element_bytes: int
    small: int
    inline_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Strided:
    """A strided kernel with what follows from shapes and strides."""

    kernel: Kernel | Awaited
    shifts: tuple[int, ...]
    out_shift: int
    sizes: tuple[int, ...]
    steps_at: tuple[int, ...]
    groups: tuple[int, ...]
    segment: int
    nbytes: int
    inline_bytes: int


def flat_launch(
    cache: KernelCache, root: Node, memory: Memory, offset: int, awaiting: bool = True
) -> Launch | OnHost | None:
    """What computes `root` into memory in C order, from the element `offset` on; None if it is not flat.

    Parameters
    ----------
    awaiting : bool
        NumPy may compute it, if the kernel is not there yet.
    """
    args: list[Any] = []
    found = flat_kernel(cache, root, offset, args)
    if found is None:
        return None
    awaited = _not_ready(found) if awaiting else None
    if awaited is not None:
        target = leaf(memory, root.shape, contiguous(root.shape), offset, root.dtype)
        if awaited.is_awaited(root, target, root.size):
            return OnHost(awaited, root, target, partial(flat_launch, cache, root, memory, offset, False))
    policy = cache.policies.elementwise
    size = root.size
    args.append(memory.buffer)
    args.append(offset)
    args.append(size)
    nbytes = size * found.element_bytes
    count = (1,) if nbytes < found.small else (groups(-(-size // found.vector), nbytes, cache.units, policy),)
    return _launch(
        awaited, kernel_of(found, root), count, (policy.work_group,), args, nbytes <= found.inline_bytes, nbytes
    )


def _not_ready(found: Flat | Strided) -> Awaited | None:
    """The first calls in whose place a kernel may be launched, if there still are any."""
    kernel = found.kernel
    return kernel if isinstance(kernel, Awaited) and not kernel.ready else None


def _launch(awaited: Awaited | None, *what: Any) -> Launch:
    """A launch, of which the first calls know, if there are any."""
    made = Launch(*what)
    if awaited is not None:
        awaited.launch(made)
    return made


def kernel_of(found: Flat | Strided, root: Node) -> Kernel:
    """The kernel itself."""
    kernel = found.kernel
    return kernel.kernel(root) if isinstance(kernel, Awaited) else kernel


def flat_kernel(cache: KernelCache, root: Node, offset: int, args: list[Any]) -> Flat | None:
    """The kernel of `flat_launch`; the arguments of the inputs are added to `args`."""
    policy = cache.policies.elementwise
    explicit = policy.explicit
    key: list[Any] = [root.sig]
    loose = place_flat(root.inputs or (root,), root.shape, key, args, not explicit, False)
    if loose is None:
        return None
    size = root.size
    if not explicit and offset * root.dtype.itemsize % ALIGNMENT:
        loose = True
    stream = 0 < policy.stream_bytes <= size * root.dtype.itemsize and offset * root.dtype.itemsize % 64 == 0
    key.append((stream, size < INT_LIMIT, loose))
    return cache.value_for(tuple(key), _prepare_flat, cache, root, not loose, stream)


def _flat_access(node: Node, shape: tuple[int, ...]) -> str:
    if node.memory is None:
        return "const" if node.op is CONST else COUNT
    return UNIT if node.shape == shape and node.contiguous else ZERO


def _prepare_flat(cache: KernelCache, root: Node, whole: bool, stream: bool) -> Flat:
    policy = cache.policies.elementwise
    operands = operands_of(root)
    accesses = tuple(_flat_access(n, root.shape) for n in operands.nodes)
    dtypes = operands.dtypes(root)
    vector = vector_width(dtypes, policy.vector_bytes, policy.max_width)
    explicit = explicit_width(dtypes, policy.explicit)
    plan = ElementwisePlan(
        accesses=accesses,
        out_access=UNIT,
        rank=0,
        vector=vector,
        explicit=explicit,
        index=index_type(root.size, policy.chunked),
        aligned=whole and not explicit and not policy.explicit,
        stream=stream and explicit and vector * root.dtype.itemsize == 64,
        policy=policy,
    )
    read = [n.dtype.itemsize for n, kind in zip(operands.nodes, accesses, strict=True) if kind == UNIT]
    small = 2 * policy.chunk_bytes if policy.chunked else 0
    return Flat(
        _kernel(cache, plan, root, operands),
        vector,
        root.dtype.itemsize + sum(read),
        small,
        inline_limit(policy.inline_bytes, root),
    )


def _kernel(cache: KernelCache, plan: ElementwisePlan, root: Node, operands: Operands) -> Kernel | Awaited:
    key = ("elementwise", root.sig, operands.pattern, plan)
    found: Kernel | Awaited | None = cache.rendered.get(key)
    if found is None and are_used(cache.capabilities, root):
        found = cache.keep_rendered(key, Awaited(partial(_rendered_kernel, cache, plan)))
    if found is not None:
        return found
    return cache.keep_rendered(key, _rendered_kernel(cache, plan, root))


def _rendered_kernel(cache: KernelCache, plan: ElementwisePlan, root: Node) -> Kernel:
    return cache.rendered_kernel(elementwise_source, plan, root, operands_of(root).nodes, cache.capabilities)


def strided_launch(
    cache: KernelCache, root: Node, memory: Memory, offset: int, strides: Shape, awaiting: bool = True
) -> Launch | OnHost:
    """What computes `root` into memory, from the element `offset` on, whatever the strides.

    Parameters
    ----------
    awaiting : bool
        As of `flat_launch`.
    """
    args: list[Any] = []
    found, nodes = strided_kernel(cache, root, offset, strides, args)
    awaited = _not_ready(found) if awaiting else None
    if awaited is not None:
        target = leaf(memory, root.shape, strides, offset, root.dtype)
        if awaited.is_awaited(root, target, root.size):
            return OnHost(awaited, root, target, partial(strided_launch, cache, root, memory, offset, strides, False))
    if found.shifts:
        args = Operands(list(nodes)).arguments(found.shifts)
    args.append(memory.buffer)
    args.append(offset + found.out_shift)
    args += found.sizes
    nbytes = found.nbytes
    local = (cache.policies.elementwise.work_group,)
    return _launch(awaited, kernel_of(found, root), found.groups, local, args, nbytes <= found.inline_bytes, nbytes)


def strided_kernel(
    cache: KernelCache, root: Node, offset: int, strides: Shape, args: list[Any]
) -> tuple[Strided, dict[Node, int]]:
    """The kernel of `strided_launch`, and the distinct inputs, whose arguments are added to `args`."""
    policy = cache.policies.elementwise
    key: list[Any] = [root.sig, root.shape, strides]
    if not policy.explicit:
        key.append(offset * root.dtype.itemsize % ALIGNMENT == 0)
    nodes = place(root.inputs or (root,), key, args, not policy.explicit)
    return cache.value_for(tuple(key), _prepare_strided, cache, root, offset, strides), nodes


def _prepare_strided(cache: KernelCache, root: Node, offset: int, out_strides: Shape) -> Strided:
    """The kernel of `strided_launch`, and what follows from shapes and strides."""
    policy = cache.policies.elementwise
    operands = operands_of(root)
    ndim = len(root.shape)
    space = collapse(root.shape, (aligned(root.shape, out_strides, ndim), *operands.strides(ndim)))
    whole = not policy.explicit and operands.are_aligned and starts_aligned(root.dtype, offset)
    dtypes = operands.dtypes(root)
    vector = vector_width(dtypes, policy.vector_bytes, policy.max_width)
    explicit = explicit_width(dtypes, policy.explicit)
    shape = space.shape or (1,)
    strides = [s or (0,) for s in space.strides]
    ours, theirs = strides[0], strides[1:]
    # the output's of its own: an in-place operation has the same node on both sides
    out_access = access(ours[-1])
    accesses = operands.accesses([s[-1] for s in theirs], explicit)
    every = (*accesses, out_access)
    axis, staged = _tiles(cache, operands, shape, theirs)
    kinds = [a for a in every if a != "const"]
    apart = any(kind == "strided" and s[-1] != -1 for kind, s in zip(kinds, (*theirs, ours), strict=True))
    if not explicit and (axis or apart):
        vector = 1  # neighbouring work-items take neighbouring elements
    index = index_type(furthest(shape, strides, root.size), policy.chunked)
    whole = whole and operands.rows_aligned(theirs, space.offsets[1:])
    whole = whole and (out_access != UNIT or starts_aligned(root.dtype, space.offsets[0], *ours[:-1]))
    plan = ElementwisePlan(
        accesses=accesses,
        out_access=out_access,
        rank=len(shape),
        vector=vector,
        explicit=explicit,
        index=index,
        aligned=whole,
        stream=False,
        policy=policy,
        tile_axis=axis,
        staged=staged,
    )
    rows = root.size // shape[-1]
    extents = (rows, *reversed(shape))
    steps = [stride_arguments((kind,), (each,)) for kind, each in zip(kinds, (*theirs, ours), strict=True)]
    segment = policy.segment or vector
    nbytes = operands.nbytes + root.size * root.dtype.itemsize
    return Strided(
        kernel=_kernel(cache, plan, root, operands),
        shifts=space.offsets[1:] if any(space.offsets) else (),
        out_shift=space.offsets[0],
        sizes=tuple(chain(extents, *steps)),
        steps_at=tuple(accumulate(map(len, steps[:-1]), initial=len(extents))),
        groups=(groups(_work(shape, rows, axis, segment, policy.work_group), nbytes, cache.units, policy),),
        segment=segment,
        nbytes=nbytes,
        inline_bytes=inline_limit(policy.inline_bytes, root),
    )


def _work(shape: tuple[int, ...], rows: int, axis: int, segment: int, work_group: int) -> int:
    """Work units of a strided kernel: segments of rows, or work-items for all tiles."""
    if not axis:
        return rows * -(-shape[-1] // segment)
    down, across = -(-shape[-1 - axis] // TILE), -(-shape[-1] // TILE)
    return rows // shape[-1 - axis] * down * across * work_group


def _tiles(cache: KernelCache, operands: Operands, shape: Shape, strides: list[Shape]) -> tuple[int, tuple[bool, ...]]:
    """The axis of a tiled kernel, or 0, and which inputs are staged in local memory."""
    policy = cache.policies.elementwise
    if not policy.chunked and policy.work_group < TILE:
        return 0, ()
    inside = [(n, s) for n, s in zip(operands.placed, strides, strict=True) if n.op is not INDEX]
    axis = tile_axis(shape, [s for _, s in inside])
    turned = [n for n, s in inside if axis and s[-1 - axis] == 1 and s[-1] not in (0, 1)]
    return axis, tuple(n in turned[:STAGED_LIMIT] for n in operands.nodes)


__all__ = ["INT_LIMIT", "flat_kernel", "flat_launch", "kernel_of", "strided_kernel", "strided_launch"]
