"""Explain the plan of an evaluation without running it.

The pending graph is copied, and the copy is planned as in an evaluation, with memory that is not allocated.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any
from weakref import ref

from clarray._api.explanation import Box, Explanation
from clarray._core.device_array import DeviceArray
from clarray._engine.evaluate import device_of, fits_rows, kernel_cache_of, prepare_pass, region_passes, region_roots
from clarray._engine.expr.build import NonConsumingRef, notify_users, selected
from clarray._engine.expr.graph import graph_of, postorder
from clarray._engine.expr.memory_views import viewed_value
from clarray._engine.expr.node import COMPRESS, CONST, EAGER, INDEX, MASKED, Node, index
from clarray._engine.expr.region import Pass, below_views, held_nodes
from clarray._engine.fused.reduce.products import is_product
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.ops.monoids import Reduction
from clarray._engine.ops.transforms import Transform
from clarray._engine.tuning.search_space import ALGORITHMS

__all__ = ["explain"]


def explain(array: DeviceArray) -> Explanation:
    """Return the plan of an evaluation without running it: expression, passes over memory, OpenCL source.

    Parameters
    ----------
    array : DeviceArray
        The array to explain. It stays pending.

    Returns
    -------
    Explanation
        Text, as a `str`. Notebooks show a picture of the expression, which the method ``picture()`` returns as SVG. The
        attributes ``launches``, ``policies`` and ``sources`` have the parts of the text.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.zeros(4, clarray.float32)
    >>> (x + 1).explain()
    float32 4 on ...
    """
    node = array._node
    device = device_of(node)
    with device.lock:
        lines = [f"{_dtype_and_shape(node)} on {device}", "", "expression", *_tree_lines(node)]
        reason = _reason_without_plan(node)
        if reason:
            return Explanation("\n".join([*lines, "", reason]), _boxes(node, set()), [], {}, [])
        cache = kernel_cache_of(device)
        dry_run = _DryRun(cache)
        passes = dry_run.run(viewed_value(node))
        boxes = _boxes(node, dry_run.written())
    launches = [launch for _, group in passes for launch in group]
    descriptions = [_describe_launch(launch) for launch in launches]
    number = 0
    for count, (outputs, group) in enumerate(passes, 1):
        operations = dry_run.operations[outputs]
        lines += ["", f"pass {count} of {len(passes)}: {operations} operation{'s' * (operations != 1)}, which store"]
        for output in outputs:
            reason = dry_run.reasons.get(output, "it is asked for")
            lines.append(f"  {dry_run.descriptions[output]}: {reason}")
        for _ in group:
            number += 1
            lines.append(f"  {number}. {descriptions[number - 1]}")
    policies = _policies(cache, node, launches)
    lines += ["", f"policies ({cache.policies.name})", *(f"  {name}: {policy}" for name, policy in policies.items())]
    launches_by_source: dict[str, list[str]] = {}
    for number, launch in enumerate(launches, 1):
        launches_by_source.setdefault(launch.kernel.source.rstrip(), []).append(f"{number}")
    for source, numbers in launches_by_source.items():
        lines += ["", f"OpenCL source of launch {', '.join(numbers)}", source]
    return Explanation("\n".join(lines), boxes, descriptions, policies, list(launches_by_source))


def _reason_without_plan(node: Node) -> str:
    """Return the reason why a node has no plan of launches, or '' if it has a plan."""
    if node.memory is not None:
        return "in memory: nothing is left to run"
    if node.op is CONST:
        return "a number: nothing is left to run"
    if node.flags & MASKED:
        return "a selection by a mask: its reductions are one masked pass each"
    return ""


# The expression -----------------------------------------------------------------------------------


def _dtype_and_shape(node: Node) -> str:
    parts = selected(node)
    extents = node.shape if parts is None else parts[1].shape
    shape = "x".join(map(str, extents)) if extents else "0-d"
    return f"{node.dtype.name} {shape}"


def _tree_lines(root: Node) -> list[str]:
    """Return one line per node, with operands below their users. Nodes with several users have a number."""
    nodes = postorder([root], lambda node: node.args)
    uses = Counter(id(arg) for node in nodes for arg in node.args)
    names: dict[int, str] = {}
    lines: list[str] = []
    below = [(root, 1)]
    while below:
        node, depth = below.pop()
        indent = "  " * depth
        if id(node) in names:
            lines.append(f"{indent}{names[id(node)]}, again")
            continue
        name = names[id(node)] = f"#{len(names) + 1}"
        label = f"  {name}" if uses[id(node)] > 1 else ""
        lines.append(f"{indent}{_describe_node(node)}{label}")
        below += [(arg, depth + 1) for arg in reversed(node.args)]
    return lines


def _describe_node(node: Node) -> str:
    if node.memory is not None:
        shared = ", shared with the host" if node.flags & EAGER else ""
        order = "contiguous" if node.contiguous else f"strides {node.strides}"
        return f"array {_dtype_and_shape(node)}, {order} from element {node.offset}{shared}"
    if node.op is CONST:
        return f"scalar {node.dtype.name} {node.value}"
    if node.op is INDEX:
        return f"position {_dtype_and_shape(node)}, steps {node.strides} from {node.offset}"
    if node.op is COMPRESS:
        return f"selection by a mask: {node.dtype.name}, of {_dtype_and_shape(node)}"
    axes = f" over axes {node.op.axes}" if hasattr(node.op, "axes") else ""
    return f"{node.op.name}{axes} -> {_dtype_and_shape(node)}"


def _boxes(root: Node, written: set[int]) -> list[Box]:
    """Return the expression for a picture, its result first."""
    numbers: dict[int, int] = {}
    nodes: list[Node] = []
    stack = [root]
    while stack:  # no recursive closure: it would keep the nodes alive until the garbage collector runs
        node = stack.pop()
        if id(node) not in numbers:
            numbers[id(node)] = len(nodes)
            nodes.append(node)
            stack.extend(reversed(node.args))
    return [
        Box(_title(node), _dtype_and_shape(node), _kind(node, written), tuple(numbers[id(arg)] for arg in node.args))
        for node in nodes
    ]


def _title(node: Node) -> str:
    if node.memory is not None:
        return "array"
    if node.op is CONST:
        return str(node.value)
    if node.op is INDEX:
        return "position"
    return "selection" if node.op is COMPRESS else str(node.op.name)


def _kind(node: Node, written: set[int]) -> str:
    if node.memory is not None:
        return "memory"
    if id(node) in written:
        return "pass"
    return "fused" if node.args else "number"


# The passes ---------------------------------------------------------------------------------------


class _PlannedMemory:
    """Placeholder of the memory that an evaluation would allocate."""

    shared = False
    views = None
    writeable = True
    is_host = False
    buffer = None
    cost = 1

    def __init__(self, device: Any, nbytes: int) -> None:
        self.device = device
        self.nbytes = nbytes
        self.readers: list[Any] = []

    def elements(self, dtype: Any) -> None:
        """Return None, as memory outside of the host does."""


class _DryRun:
    """Plan the evaluation of a copy of a graph."""

    def __init__(self, cache: KernelCache) -> None:
        self._state = cache
        self._copies: dict[int, Node] = {}
        self._passes: list[tuple[Pass, list[Launch]]] = []
        self.reasons: dict[Node, str] = {}
        self.descriptions: dict[Node, str] = {}  # of what is stored
        self.operations: dict[Pass, int] = {}

    def run(self, root: Node) -> list[tuple[Pass, list[Launch]]]:
        """Return the outputs of each pass that would run, in order, with its launches."""
        if not root.args:
            self._compute(index(root.shape, root.strides, root.dtype, root.offset))
            return self._passes
        originals = region_roots(root)
        held = {id(node) for node in held_nodes(below_views(*originals))}  # before anything else refers to them
        order = graph_of(*originals).pending
        for node in order:
            self._copies[id(node)] = self._copy(node)
        for node in order:
            self._copies[id(node)].readers = [self._copy_user(r) for r in list(node.readers)]
        roots = [self._copies[id(node)] for node in originals]
        held_copies = {copied for original, copied in self._copies.items() if original in held}
        rows = partial(fits_rows, self._state)
        for outputs in region_passes(roots, self._compute, held=held_copies, fits_rows=rows, reasons=self.reasons):
            self._compute(*outputs)
        return self._passes

    def written(self) -> set[int]:
        """Return the identities of the original graph's nodes that a pass writes."""
        results = {id(result) for outputs, _ in self._passes for result in outputs}
        return {original for original, copied in self._copies.items() if id(copied) in results}

    def _copy(self, node: Node) -> Node:
        """Return a copy of a pending node whose operands have been copied."""
        args = tuple([self._copies.get(id(arg), arg) for arg in node.args])
        copied = Node(node.op, args, node.shape, node.dtype, node.size, node.sig, node.inputs)
        copied.since = node.since
        copied.flags = node.flags
        return copied

    def _copy_user(self, reader: Any) -> Any:
        """Return a reference to the copy of a user. A user outside the graph counts as dead memory."""
        kind = NonConsumingRef if type(reader) is NonConsumingRef else ref
        copied = self._copies.get(id(reader()))
        return kind(_PlannedMemory(None, 0) if copied is None else copied)  # the placeholder dies at once

    def _compute(self, *outputs: Node) -> None:
        pending = tuple([node for node in outputs if node.memory is None])
        if not pending:
            return
        self.descriptions |= {node: _describe_node(node) for node in pending}
        self.operations[pending] = len(graph_of(*pending).pending)
        leaves, launches = prepare_pass(self._state, pending, self._allocate)
        # placeholders are not host memory, so the plan has no steps by NumPy
        self._passes.append((pending, [launch for launch in launches if isinstance(launch, Launch)]))
        for node, out in zip(pending, leaves, strict=True):
            assert out.memory is not None
            readers = node.readers
            node.become_leaf(out.memory, out.offset, out.strides, out.contiguous)
            notify_users(readers, out.memory)

    def _allocate(self, nbytes: int) -> Any:
        return _PlannedMemory(self._state.device, nbytes)


def _describe_launch(launch: Launch) -> str:
    groups = "x".join(map(str, launch.groups))
    local = "x".join(map(str, launch.local))
    thread = "on the calling thread" if launch.inline else "on the device's threads"
    return f"{launch.kernel.name}: {groups} groups of {local}, {launch.nbytes:,} bytes, {thread}"


def _policies(cache: KernelCache, root: Node, launches: list[Launch]) -> dict[str, str]:
    """Return the policies that shape the launches, by the name of the algorithm."""
    used = {name for launch in launches for name in ALGORITHMS if launch.kernel.name.startswith(name)} - {"reduce"}
    for node in graph_of(root).pending:
        if isinstance(node.op, Reduction):
            used.add("products" if is_product(node.args[0]) else "reduce")
        elif isinstance(node.op, Transform):
            used.add(node.op.launch.__module__.split(".")[-2])  # the folder of its algorithm
        if node.flags & MASKED or node.op is COMPRESS:
            used.add("compact")
    return {name: str(getattr(cache.policies, name)) for name in ALGORITHMS if name in used}
