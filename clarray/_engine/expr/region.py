"""Regions: the pending expressions below some nodes, divided into passes over memory.

A pass is one launch, or those of one reduction. It reads memory, computes in registers, and stores its outputs::

    t = x * y                       one pass: reads x and y, stores u and v; t stays in registers
    u = t + 1; v = t - 1

A region is cut where a value must be memory before it can be read: at reductions and transforms, and where it is
broadcast. Other cuts follow from costs: a value that several passes need is stored if it costs less to store and load
than to compute again, and a pass with too many operations or operands is cut where the fewest values are alive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from sys import getrefcount
from typing import Any

from clarray._engine.expr.build import NonConsumingRef
from clarray._engine.expr.graph import constant_key, inputs_of, live_readers, postorder
from clarray._engine.expr.node import COMPRESS, CONST, MASKED, Node, Shape, is_spent
from clarray._engine.ops.monoids import Reduction
from clarray._engine.ops.transforms import Transform
from clarray._engine.ops.ufuncs import CALL_WEIGHT, Loop

__all__ = [
    "LEAST_WEIGHT",
    "MOST_WEIGHT",
    "Pass",
    "below_views",
    "held_nodes",
    "keeps_heavy",
    "pending_below",
    "plan_passes",
    "with_siblings",
]

MOST_WEIGHT = 512  # of one pass: a compiler needs a second for more
LEAST_WEIGHT = 32  # of one pass, for a compiler that cannot do more
MOST_OPERANDS = 96  # inputs and outputs of one pass: each takes up to 40 of the 4,096 bytes of arguments NVIDIA has
MOST_SIBLINGS = 15
_LOAD = 2  # the weight of reading an operand, where an addition weighs 1
_STORED = 8  # a value that weighs more is stored rather than computed again
_HEAVIEST = 64  # weights are not told apart from here on

Pass = tuple[Node, ...]
FitsRows = Callable[[Sequence[Node], Sequence[Node]], bool]


def pending_below(*roots: Node) -> list[Node]:
    """Return the pending nodes of a graph, operands before their users, without the operands of transforms."""
    return postorder([root for root in roots if _is_pending(root)], _pending_operands)


def below_views(*roots: Node) -> list[Node]:
    """Return the same with what pending views look at."""
    return postorder([root for root in roots if _is_pending(root)], lambda node: _pending_operands(node, True))


def _is_pending(node: Node) -> bool:
    return node.memory is None and bool(node.args)


def _pending_operands(node: Node, of_views: bool = False) -> list[Node]:
    if isinstance(node.op, Transform) and not (of_views and node.op.take_view is not None):
        return []
    return [arg for arg in node.args if _is_pending(arg)]


def is_pass(node: Node) -> bool:
    """Return whether a node is a reduction or a transform, which is a pass of its own; not for a pending view."""
    return isinstance(node.op, Reduction) or (isinstance(node.op, Transform) and node.op.take_view is None)


def with_siblings(root: Node) -> Pass:
    """Return a node, and what is computed with it: other results that share its work and have arrays of their own.

    Such are the several results of one function. No pending node reads them, so something else keeps them alive. Those
    of the node's shape must share much of its work, single numbers any. With a reduction of the region others are
    returned that read what it reads, over the same axes.
    """
    order = pending_below(root)
    if root.flags & MASKED or isinstance(root.op, Transform):
        return (root,)
    inside = set(order)
    siblings: list[Node] = []
    reductions = [node for node in order if isinstance(node.op, Reduction) and not _reads_selection(node)]
    while reductions and len(siblings) < MOST_SIBLINGS:
        for user in _sibling_reductions(reductions.pop(), inside):
            siblings.append(user)
            reductions.append(user)
            inside.update(pending_below(user))
    roots = (root, *siblings)
    if root.size > 1 and (is_pass(root) or len(order) < 2):
        return roots
    return (*roots, *_siblings_of_shape(root, pending_below(*roots))[:MOST_SIBLINGS])


def _siblings_of_shape(root: Node, order: list[Node]) -> list[Node]:
    """Return other results of a node's shape that share the work of its region, and need no other passes."""
    inside = set(order)
    # a number that reads the number is not computed with it: the kernel that writes it to an array may do so
    later = set(live_readers(root.readers)) if root.size == 1 else set[Node]()
    read = [node for node in order if node is not root and (len(node.readers) > 1 or root.size == 1)]
    outside = live_readers([reader for node in read for reader in node.readers], set(map(id, (*order, *later))))
    found = [user for user in outside if _may_be_sibling(user) and user.shape == root.shape]
    siblings: list[Node] = []
    for user in found:
        own = pending_below(user)
        shared = sum(node in inside for node in own)
        is_much = root.size == 1 or shared >= 16 or 2 * shared >= len(own)
        if is_much and not any(is_pass(node) for node in own if node not in inside):
            siblings.append(user)
    return siblings


def _sibling_reductions(reduced: Node, inside: Set[Node]) -> list[Node]:
    """Return pending reductions over the same axes that share an input of full size with one of a region."""
    value = reduced.args[0]
    shared = [node for node in inputs_of(reduced) if node.memory is not None and node.size == value.size]
    shared += [node for node in pending_below(*reduced.args) if isinstance(node.op, Loop) and node.size == value.size]
    readers = [reader for operand in shared for reader in operand.readers]
    users = live_readers(readers, set(map(id, inside)))
    return [user for user in users if isinstance(user.op, Reduction) and _is_sibling_reduction(user, reduced, inside)]


def _reads_selection(node: Node) -> bool:
    return any(arg.flags & MASKED for arg in node.args)


def _is_sibling_reduction(node: Node, reduced: Node, inside: Set[Node]) -> bool:
    """Return whether a reduction may share the pass of another one: nothing else has to be computed for it before."""
    if _reads_selection(node):  # whose shape is not known yet
        return False
    if node.op.axes != reduced.op.axes or node.args[0].shape != reduced.args[0].shape:
        return False
    return not any(is_pass(below) for below in pending_below(*node.args) if below not in inside)


def _may_be_sibling(node: Node) -> bool:
    """Return whether a pending node is elementwise, and read by no pending node; if it is a number, by no number."""
    if not isinstance(node.op, Loop) or node.flags & MASKED:
        return False
    users = [reader() for reader in list(node.readers)]
    waiting = [user for user in users if user is not None and user.memory is None]
    return not waiting if node.size > 1 else all(user.flags & MASKED or user.size > 1 for user in waiting)


def plan_passes(
    roots: Sequence[Node],
    fused: Node | None = None,
    most_weight: int = MOST_WEIGHT,
    *,
    store_roots: bool = True,
    held: Set[Node] = frozenset(),
    fits_rows: FitsRows | None = None,
    reasons: dict[Node, str] | None = None,
) -> list[Pass]:
    """Divide the region below `roots` into passes, in the order in which they run.

    Parameters
    ----------
    roots : sequence of Node
        Pending nodes.
    fused : Node, optional
        A reduction or a transform whose pass can compute the single root, too.
    most_weight : int
        Of the operations of one pass, where an addition weighs 1.
    store_roots : bool
        Whether the last passes store the roots. If not, another kernel computes them while it reads the region.
    held : set of Node, optional
        The nodes that something outside the region keeps alive, as `held_nodes` finds them.
    fits_rows : callable, optional
        Returns whether one pass can compute reductions along rows, and elementwise nodes of the rows' shape.
    reasons : dict, optional
        Is filled with the reason why each node is stored.

    Returns
    -------
    list of tuple of Node
        The outputs of each pass: elementwise nodes of one shape, reductions over the same axes of one shape, such
        reductions and then elementwise nodes that read them, or one node of another kind.
    """
    order = pending_below(*roots)
    if fused in held and fused not in roots and _needs_own_pass(fused):
        fused = None
    planner = _Planner(order, roots, fused, most_weight, {} if reasons is None else reasons)
    if fits_rows is not None and fused is None:
        reductions, outputs = planner.rows(held)
        if outputs and fits_rows(reductions, outputs):
            planner.store([*reductions, *outputs], "in one launch with its row, which is read once")
            return [(*reductions, *outputs)]
    return planner.passes(held, store_roots)


def _needs_own_pass(node: Node | None) -> bool:
    """Return whether a pass that something keeps alive is stored: its value is small, or others have read it."""
    if node is None:
        return False
    return isinstance(node.op, Reduction) or any(map(is_spent, list(node.readers)))


class _Planner:
    """Decides which nodes of a region become memory, and which of them one pass stores."""

    def __init__(
        self,
        order: list[Node],
        roots: Sequence[Node],
        fused: Node | None,
        most_weight: int,
        reasons: dict[Node, str],
    ) -> None:
        self._order = order
        self._roots = roots
        self._most_weight = most_weight
        self._inside = set(order)
        self._stored: set[Node] = set()
        self._reasons = reasons
        for node in order:
            if is_pass(node) and node is not fused:
                self.store([node], "all of its operand is needed for one of its elements")
        self._weights: dict[Node, int] = {}
        self._fused = fused

    def store(self, nodes: Iterable[Node], reason: str) -> None:
        """Decide that nodes are stored, each for the first reason that is given."""
        for node in nodes:
            self._stored.add(node)
            self._reasons.setdefault(node, reason)

    def passes(self, held: Set[Node], store_roots: bool) -> list[Pass]:
        """Return the outputs of each pass. `held` are the nodes that something outside the region keeps alive."""
        if store_roots:
            self.store(self._roots[:1], "it is asked for")
            self.store(self._roots[1:], "it has an array, and shares work or memory with what is asked for")
        self._store_held(held)
        self._store_broadcast()
        self._store_repeated()
        if not store_roots and not self._is_small(self._computed_by(self._roots), self._roots):
            self.store(self._roots, "the kernel that reads it would have too many operations or operands")
        return [part for outputs in self._groups() for part in self._cut(outputs)]

    def rows(self, held: Set[Node]) -> tuple[list[Node], list[Node]]:
        """Return the reductions and the elementwise results of a region that has one reduced space; else no results.

        Elementwise values that several of the reductions read are computed again for each.
        """
        reductions = [node for node in self._order if isinstance(node.op, Reduction)]
        others = [node for node in self._order if not isinstance(node.op, Reduction)]
        if not reductions or any(is_pass(node) or node.op is COMPRESS for node in others):
            return [], []
        space = reductions[0].op.axes, reductions[0].args[0].shape
        shape = space[1]
        if any((node.op.axes, node.args[0].shape) != space or node.size == node.args[0].size for node in reductions):
            return [], []
        if any(root.shape != shape for root in self._roots if not isinstance(root.op, Reduction)):
            return [], []
        self._weigh()
        outputs = [
            node
            for node in others
            if node in self._roots or (node in held and node.shape == shape and self._weights[node] > _STORED)
        ]
        weight = len(reductions) * sum(map(_operation_weight, self._order))
        return (reductions, outputs) if weight <= self._most_weight else ([], [])

    def _weigh(self) -> None:
        """Find the weight of computing each node from memory and from what is stored."""
        for node in self._order:
            self._weigh_node(node)

    def _weigh_node(self, node: Node) -> None:
        weight = _operation_weight(node)
        for arg in node.args:
            if arg in self._stored or arg.memory is not None:
                weight += _LOAD if arg.size > 1 else 0
            else:
                weight += self._weights.get(arg, 0)
        self._weights[node] = min(weight, _HEAVIEST)

    def _store_held(self, held: Set[Node]) -> None:
        """Store heavy values that something else keeps alive, if that takes no pass of its own or others read them."""
        self._weigh()
        in_registers: set[Node] = set()
        of_numbers: set[Node] = set()
        for outputs in self._groups():
            if not is_pass(outputs[0]) and self._fused is None:
                in_registers.update(self._computed_by(outputs))
                if outputs[0].size == 1:
                    of_numbers.update(self._computed_by(outputs))
        for node in self._order:
            self._weigh_node(node)  # what it reads may be stored by now
            if node not in held or node in self._stored or node is self._fused:
                continue
            if node in of_numbers:
                self.store([node], "it has an array, and takes next to nothing")
            elif self._weights[node] > _STORED:
                has_others = any(self._is_outside(reader) for reader in list(node.readers))
                if has_others or (node in in_registers and self._weights[node] >= CALL_WEIGHT):
                    self.store([node], "it has an array, and costs more to compute again than to load")

    def _is_outside(self, reader: Any) -> bool:
        user = reader()
        return (user is None or user not in self._inside) and type(reader) is not NonConsumingRef

    def _store_broadcast(self) -> None:
        """Store heavy values that are read by several elements each."""
        for node in self._order:
            for arg in node.args:
                if (
                    arg in self._inside
                    and 0 < 4 * arg.size <= node.size
                    and not is_pass(node)
                    and self._weights[arg] >= CALL_WEIGHT
                ):
                    self.store([arg], "it is broadcast: several elements would compute it again")

    def _store_repeated(self) -> None:
        """Store heavy values that several passes would compute."""
        for _ in range(4):
            counts: dict[Node, int] = {}
            for outputs in self._groups():
                for node in self._computed_by(outputs):
                    counts[node] = counts.get(node, 0) + 1
            self._weigh()
            before = len(self._stored)
            covered: set[Node] = set()
            for node in reversed(self._order):
                if node in self._stored or node is self._fused or node in covered:
                    continue
                if counts.get(node, 0) > 1 and self._weights[node] > _STORED:
                    self.store([node], "several passes read it, and it costs more to compute again than to load")
                    covered.update(self._computed_by((node,)))
            if len(self._stored) == before:
                return

    def _computed_by(self, outputs: Iterable[Node]) -> list[Node]:
        """Return the nodes that a pass computes in registers, operands first; its outputs among them."""
        roots = set(outputs)

        def operands(node: Node) -> list[Node]:
            return [arg for arg in node.args if arg in self._inside and (arg not in self._stored or arg in roots)]

        return postorder([root for root in outputs if root in self._inside], operands)

    def _groups(self) -> list[Pass]:
        """Return the outputs of each pass: stored nodes that need the same passes before.

        They are elementwise nodes of one shape, or reductions over the same axes of one shape.
        """
        levels: dict[Node, int] = {}
        groups: dict[tuple[int, int, int, Shape], list[Node]] = {}
        passes: list[tuple[tuple[int, int, int], Pass]] = []
        reductions: dict[tuple[int, Shape, Shape], tuple[int, list[Node]]] = {}
        for number, node in enumerate(self._order):
            level = 0
            for arg in node.args:
                if arg in levels:
                    ends_pass = is_pass(arg) or (self._fused is not None and arg is self._roots[0])
                    after = arg in self._stored and (ends_pass or arg.shape != node.shape)
                    level = max(level, levels[arg] + after)
            levels[node] = level
            if node not in self._stored:
                continue
            reduced = self._fused if node is self._roots[0] and self._fused is not None else node
            if isinstance(reduced.op, Reduction):
                space = level, reduced.op.axes, reduced.args[0].shape
                reductions.setdefault(space, (number, []))[1].append(node)
            elif is_pass(reduced) or node.op is COMPRESS:
                passes.append(((level, 1, number), (node,)))
            else:
                groups.setdefault((level, 0, node.size, node.shape), []).append(node)
        passes += [(key[:3], tuple(nodes)) for key, nodes in groups.items()]
        passes += [((level, 1, first), tuple(nodes)) for (level, *_), (first, nodes) in reductions.items()]
        passes.sort(key=lambda each: each[0])
        return [outputs for _, outputs in passes]

    def _cut(self, outputs: Pass) -> list[Pass]:
        """Cut a pass that is too large where the fewest values are alive. Return the outputs of its parts."""
        parts: list[Pass] = []
        shape = outputs[-1].shape
        while True:
            nodes = self._computed_by(outputs)
            last_use = {arg: number for number, node in enumerate(nodes) for arg in node.args}
            end = self._end_of_part(nodes, outputs, last_use)
            if end == len(nodes):
                return [*parts, outputs]
            alive = [node for node in nodes[:end] if node in outputs or last_use[node] >= end]
            self.store(alive, "the pass is cut here: it would have too many operations or operands")
            parts += [(node,) for node in alive if node.shape != shape]
            parts += [together] if (together := tuple([node for node in alive if node.shape == shape])) else []
            outputs = tuple([node for node in outputs if node not in alive])

    def _operands(self, nodes: list[Node]) -> dict[Node, Any]:
        """Return what some nodes read from outside their pass, with a key that is the same for equal constants."""
        read = {arg for node in nodes for arg in node.args if arg not in self._inside or arg in self._stored}
        return {arg: constant_key(arg) if arg.op is CONST else arg for arg in read}

    def _is_small(self, nodes: list[Node], outputs: Sequence[Node]) -> bool:
        """Return whether one kernel may have these operations and outputs."""
        count = len(set(self._operands(nodes).values())) + len(outputs)
        return sum(map(_operation_weight, nodes)) <= self._most_weight and count <= MOST_OPERANDS

    def _end_of_part(self, nodes: list[Node], outputs: Pass, last_use: dict[Node, int]) -> int:
        """Return how many of a pass's nodes, in order, its next part computes: all of them if these are few."""
        if self._is_small(nodes, outputs):
            return len(nodes)
        operands = self._operands(nodes)
        alive: set[Node] = set()
        read: set[Any] = set()
        counts: list[int] = []  # of values alive after each node
        weight = 0
        for number, node in enumerate(nodes):
            read.update(operands[arg] for arg in node.args if arg in operands)
            alive.difference_update([arg for arg in node.args if last_use[arg] == number and arg not in outputs])
            alive.add(node)
            counts.append(len(alive))
            weight += _operation_weight(node)
            if weight > self._most_weight or len(read) + len(alive) > MOST_OPERANDS:
                break
        half = len(counts) // 2
        fewest = min(counts[half:-1], default=0)
        return max([number for number in range(half, len(counts) - 1) if counts[number] == fewest], default=half) + 1


def _operation_weight(node: Node) -> int:
    """Return the weight of one operation, where an addition weighs 1."""
    return node.op.weight if isinstance(node.op, Loop) else 1


def keeps_heavy(root: Node) -> bool:
    """Return whether something else keeps a heavy value alive that a pending node reads."""
    order = pending_below(root)
    return any(_operation_weight(node) > 1 for node in order) and any(
        node is not root and any(_operation_weight(below) > 1 for below in pending_below(node))
        for node in held_nodes(order)
    )


def held_nodes(nodes: list[Node]) -> list[Node]:
    """Return the nodes that something else than the operands of these nodes keeps alive, such as an array.

    References are counted: those of the operands, one of the list, and one of the call that counts. There must be no
    others to the nodes.
    """
    counts = dict.fromkeys(map(id, nodes), 2)
    for k in range(len(nodes)):
        for number in map(id, nodes[k].args):
            if number in counts:
                counts[number] += 1
    return [nodes[k] for k in range(len(nodes)) if getrefcount(nodes[k]) > counts[id(nodes[k])]]
