"""Nodes of lazy expressions.

A node is a *leaf* (a strided view of device memory), a *constant* (a scalar passed to the kernel
at run time), an *index* (the position itself) or *pending* (an operation on other nodes). Nodes never change
meaning. Evaluation turns a pending node into a leaf in place, so that every holder of the node
sees the memory.

Each pending node has two attributes so that evaluation need not walk the tree: ``sig``, the
interned structure (equal structures share one integer), and ``inputs``, the leaves and constants
in the order of the structure. Both follow from the operands, and change when an operand becomes
memory. Code that changes them holds `graph_lock`, and gives the node a new list of readers
afterwards. Growing an expression takes no lock: it compares the list of readers before and after,
and builds the node again if the list is another object.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from clarray._engine.expr.view import contiguous as contiguous_strides
from clarray._engine.expr.view import is_contiguous
from clarray._engine.speedups import reentrant_lock

if TYPE_CHECKING:
    from clarray._engine.runtime import Memory

# Flags of a node, inherited by the nodes grown from it.
EAGER = 1  # reads host memory that the user may change: must be evaluated at the call
SHARED = 2  # a node below has a second consumer: evaluation must look at the whole graph
REDUCES = 4  # has a reduction or a transform in its tree, which is a pass of its own
MASKED = 8  # the value is compressed by a mask, so its size is computed later
READONLY = 16  # of a leaf: a view that may not be written through, though its memory may
LARGE = 32  # has too many operations for attributes that describe all of them: no `sig` and no `inputs`

Shape = tuple[int, ...]
Function = TypeVar("Function", bound=Callable[..., Any])

graph_lock = reentrant_lock()  # taken after a device's lock, never before it


class Interner:
    """Map hashable structures to small integers: equal structures get equal integers."""

    def __init__(self) -> None:
        self._table: dict[Any, int] = {}
        self._numbers = itertools.count()

    def __call__(self, key: Any) -> int:
        number = self._table.get(key)
        if number is None:
            # setdefault and next are atomic: two threads agree on the integer, and never use one for two structures
            number = self._table.setdefault(key, next(self._numbers))
        return number


intern_structure = Interner()


class NodeEvaluated(Exception):
    """Raised when a re-entrant call evaluates a pending node while a kernel is rendered from the node.

    The re-entrant call runs in the thread that holds the device's lock: a signal handler, ``__del__`` or a callback of
    a weak reference, which Python runs between two bytecodes.
    """


def replanned(function: Function) -> Function:
    """Decorator for a function that plans and launches a pass: call it again if an operand was evaluated meanwhile."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        while True:
            try:
                return function(*args, **kwargs)
            except NodeEvaluated:  # raised before the launch
                continue

    return call  # type: ignore[return-value]


class Node:
    """A value of an expression.

    Attributes
    ----------
    op : object or None
        None for a leaf; otherwise the operation: an ``ops`` Loop, a ``Reduction``, a ``Transform``,
        ``CONST``, ``INDEX`` or ``COMPRESS``.
    args : tuple of Node
        Operands of the operation.
    shape, dtype, size
        As NumPy's. Reading shape or size of a `Selection` evaluates it.
    since : int
        Of a pending node: the weight of all that was grown before the oldest node of its graph. See `is_costly`.
    flags : int
        Union of EAGER, SHARED, REDUCES, MASKED and LARGE.
    sig : int
        Interned structure.
    inputs : tuple of Node
        Of a pending node: leaves, constants and indices in structural order, repeated if the
        structure repeats them. Empty for a leaf, a constant or an index: a node in its own
        ``inputs`` would be a reference cycle, and its memory would wait for the garbage collector.
    readers : list of weakref
        Nodes grown directly from this node, dead ones included. Leaves share the list of their memory.
    memory, offset, strides, contiguous
        Of a leaf: the location of its elements (offset and strides in elements), and whether they
        are C-contiguous.
    value : object
        Of a constant: the Python or NumPy scalar. Of a selection: the function that computes it.
    """

    __slots__ = (
        "op",
        "args",
        "shape",
        "dtype",
        "size",
        "since",
        "flags",
        "sig",
        "inputs",
        "readers",
        "memory",
        "offset",
        "strides",
        "contiguous",
        "value",
        "__weakref__",
    )

    op: Any
    args: tuple[Node, ...]
    shape: Shape
    dtype: np.dtype
    size: int
    since: int
    flags: int
    sig: int
    inputs: tuple[Node, ...]
    readers: Any
    memory: Memory | None
    offset: int
    strides: Shape
    contiguous: bool
    value: Any

    def __init__(
        self,
        op: Any,
        args: tuple[Node, ...],
        shape: Shape,
        dtype: np.dtype,
        size: int,
        sig: int = 0,
        inputs: tuple[Node, ...] = (),
    ) -> None:
        """Make a node without flags, which the caller sets before other threads may see the node."""
        self.op = op
        self.args = args
        self.shape = shape
        self.dtype = dtype
        self.size = size
        self.since = 0
        self.flags = 0
        self.sig = sig
        self.inputs = inputs
        self.readers = []
        self.memory = None

    def __repr__(self) -> str:
        kind = "leaf" if self.op is None else getattr(self.op, "name", str(self.op))
        shape = "masked" if self.op is COMPRESS else self.shape
        return f"<Node {kind} {self.dtype} {shape}>"

    def become_leaf(self, memory: Memory, offset: int, strides: Shape, contiguous: bool) -> None:
        """Turn a node without readers into a leaf; `build.notify_users` refreshes readers."""
        signature = leaf_signature(self.dtype)  # before any change: an interrupt may come at a call
        args, inputs = self.args, self.inputs  # dropped last: that may run Python
        if self.memory is not None:  # a re-entrant call has computed it
            return
        self.offset = offset
        self.strides = strides
        self.contiguous = contiguous
        # From here on other threads may read it as a leaf.
        self.memory = memory
        self.op = None
        self.args = ()
        self.flags = EAGER if memory.shared else 0
        self.sig = signature
        self.inputs = ()
        self.readers = memory.readers
        del args, inputs


def is_spent(reader: Any) -> bool:
    """Return whether a reader is dead or has been computed."""
    node = reader()
    return node is None or node.memory is not None


def pending_readers(readers: list) -> list:
    """Return the readers that are pending nodes."""
    return [reader for reader in readers if not is_spent(reader)]


def pending_users(readers: list) -> list[Node]:
    """Return the nodes of the readers that are pending."""
    nodes = [reader() for reader in tuple(readers)]
    return [node for node in nodes if node is not None and node.memory is None]


class Blank(Node):
    """A node whose attributes are not set yet: operators set them in place, in half the time of a constructor call."""

    __slots__ = ()
    __init__ = object.__init__


class Selection(Node):
    """The pending selection ``value[mask]``. Reading its shape or size evaluates it.

    Callers that keep it pending read its flag MASKED and its ``args`` before. Once evaluated it is a plain node.
    Its attribute ``value`` is the function that evaluates it, an argument of `build.compress`.
    """

    __slots__ = ()

    def become_selected(self, memory: Memory, count: int) -> None:
        """Turn into a leaf of one axis, with `count` elements from the start of memory."""
        if self.memory is not None:
            return
        _shape_slot.__set__(self, (count,))  # before other threads may read it as a leaf
        _size_slot.__set__(self, count)
        self.become_leaf(memory, 0, (1,), True)
        self.__class__ = Node  # type: ignore[assignment]

    @property
    def shape(self) -> Shape:
        self.value(self)
        shape: Shape = _shape_slot.__get__(self)
        return shape

    @shape.setter
    def shape(self, _: Shape) -> None:  # the shape of the operand `value`
        pass

    @property
    def size(self) -> int:
        self.value(self)
        size: int = _size_slot.__get__(self)
        return size

    @size.setter
    def size(self, _: int) -> None:
        pass


_shape_slot: Any = Node.__dict__["shape"]
_size_slot: Any = Node.__dict__["size"]


_leaf_signatures: dict[np.dtype, int] = {}


def leaf_signature(dtype: np.dtype) -> int:
    """Return the interned structure of a leaf: its dtype alone, as its layout is a run-time argument."""
    signature = _leaf_signatures.get(dtype)
    if signature is None:
        signature = _leaf_signatures[dtype] = intern_structure(("leaf", dtype.char))
    return signature


def leaf(memory: Memory, shape: Shape, strides: Shape, offset: int, dtype: np.dtype) -> Node:
    """Return a strided view of memory, with strides and offset in elements."""
    node = Node(None, (), shape, dtype, math.prod(shape))
    node.become_leaf(memory, offset, strides, is_contiguous(shape, strides))
    return node


def memory_of(leaf: Node) -> Memory:
    """Return a leaf's memory, for type checkers: not None."""
    assert leaf.memory is not None
    return leaf.memory


def view_leaf(source: Node, shape: Shape, strides: Shape, offset: int) -> Node:
    """Return another strided view of a leaf's memory, with its dtype and flags (READONLY among them)."""
    node = Blank()
    node.op = None
    node.args = ()
    node.shape = shape
    node.dtype = source.dtype
    node.flags = source.flags
    node.sig = source.sig
    node.inputs = ()
    node.memory = memory = source.memory
    assert memory is not None
    node.readers = memory.readers
    node.offset = offset
    node.strides = strides
    if len(shape) == 1:
        node.size = size = shape[0]
        node.contiguous = strides[0] == 1 or size <= 1
    else:
        node.size = math.prod(shape)
        node.contiguous = is_contiguous(shape, strides)
    return node


def transposed_leaf(leaf: Node) -> Node:
    """Return a view of a leaf with its last two axes swapped."""
    shape, strides = ((*steps[:-2], steps[-1], steps[-2]) for steps in (leaf.shape, leaf.strides))
    return view_leaf(leaf, shape, strides, leaf.offset)


def contiguous_leaf(memory: Memory, shape: Shape, dtype: np.dtype) -> Node:
    """Return a C-contiguous leaf at the start of memory."""
    node = Blank()
    node.op = None
    node.args = ()
    node.shape = shape
    node.dtype = dtype
    node.size = math.prod(shape)
    node.flags = EAGER if memory.shared else 0
    node.sig = leaf_signature(dtype)
    node.inputs = ()
    node.readers = memory.readers
    node.memory = memory
    node.offset = 0
    node.strides = contiguous_strides(shape)
    node.contiguous = True
    return node


class Marker:
    """An operation without parameters, compared by identity."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


CONST = Marker("constant")
INDEX = Marker("index")
COMPRESS = Marker("compress")


UNREAD: Any = deque(maxlen=0)  # the readers of constants, always empty: nothing overwrites a constant


_const_signatures: dict[np.dtype, int] = {}


def constant_signature(dtype: np.dtype) -> int:
    """Return the interned structure of a constant."""
    signature = _const_signatures.get(dtype)
    if signature is None:
        signature = _const_signatures[dtype] = intern_structure(("const", dtype.char))
    return signature


def _set_constant(node: Node, value: Any, dtype: np.dtype) -> None:
    """Set the attributes of a constant, except its readers."""
    node.op = CONST
    node.args = ()
    node.shape = ()
    node.dtype = dtype
    node.size = 1
    node.flags = 0
    node.sig = constant_signature(dtype)
    node.inputs = ()
    node.memory = None
    node.value = value


def constant(value: Any, dtype: np.dtype) -> Node:
    """Return a node for a scalar argument of the kernel, broadcast to any shape."""
    node = Blank()
    _set_constant(node, value, dtype)
    node.readers = UNREAD
    return node


class HostScalar(Node):
    """The value of a 0-d array whose number the host has: a constant that belongs to a device."""

    __slots__ = ("device",)

    device: Any

    __init__ = object.__init__


def host_scalar(value: Any, dtype: np.dtype, device: Any) -> Node:
    """Return a constant as the value of a 0-d array of a device; `evaluate` writes it to memory."""
    node = HostScalar()
    _set_constant(node, value, dtype)
    node.readers = []
    node.device = device
    return node


def index(shape: Shape, strides: Shape, dtype: np.dtype, offset: int = 0) -> Node:
    """Return a node of value ``offset + sum(position * strides)`` at each position: an arange without memory."""
    sig = intern_structure(("index", dtype.char))
    node = Node(INDEX, (), shape, dtype, math.prod(shape), sig)
    node.strides = strides
    node.offset = offset
    return node
