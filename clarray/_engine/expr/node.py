"""Expression nodes: what an array's value is, before it is memory.

A node is a *leaf* (a strided view of device memory), a *constant* (a scalar passed to the kernel
at run time), an *index* (the position itself) or *pending* (an operation on other nodes). Nodes never change
meaning; evaluation turns a pending node into a leaf in place, so that everyone who holds it
sees the memory.

Two values are kept per pending node so that evaluation need not walk the tree: ``sig``, the
interned structure (equal structures share one integer), and ``inputs``, the leaves and constants
in the order in which the structure names them. Both follow from the operands, and change when one
of them becomes memory: whatever changes them holds `graph_lock` and gives the node a new list of
readers afterwards. Growing an expression takes no lock; it looks at the list of readers before and
after, and starts again if that is another one now.
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

# Flags of a node, inherited by what is grown from it.
EAGER = 1  # reads host memory that the user may change: must be evaluated at the call
SHARED = 2  # a node below has a second consumer: evaluation must look at the whole graph
REDUCES = 4  # a reduction or a transform stands somewhere below: it is a pass of its own
MASKED = 8  # the value is compressed by a mask, its size is not known yet
READONLY = 16  # of a leaf: a view that may not be written through, though its memory may

Shape = tuple[int, ...]
Function = TypeVar("Function", bound=Callable[..., Any])

graph_lock = reentrant_lock()  # taken after a device's lock, never before it


class Interner:
    """Small integers for hashable structures: equal structures get equal integers."""

    def __init__(self) -> None:
        self._table: dict[Any, int] = {}
        self._numbers = itertools.count()

    def __call__(self, key: Any) -> int:
        found = self._table.get(key)
        if found is None:
            # setdefault and next are atomic: two threads agree on one integer, and use none for two structures
            found = self._table.setdefault(key, next(self._numbers))
        return found


intern_structure = Interner()


class Changed(Exception):
    """A pending node has become a leaf while a kernel was rendered from it: a re-entrant call has computed it.

    Such a call is of the thread that holds the device's lock: a signal handler, ``__del__`` or a callback of a weak
    reference, which Python runs between two bytecodes.
    """


def replanned(function: Function) -> Function:
    """Decorator of what plans a pass over pending operands and launches it: call it again where they have changed."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        while True:
            try:
                return function(*args, **kwargs)
            except Changed:  # raised before the launch
                continue

    return call  # type: ignore[return-value]


class Node:
    """One value of an expression.

    Attributes
    ----------
    op : object or None
        None for a leaf; otherwise the operation: an ``ops`` Loop, a ``Reduction``, a ``Transform``,
        ``CONST``, ``INDEX`` or ``COMPRESS``.
    args : tuple of Node
        Operands of the operation.
    shape, dtype, size
        As NumPy's; of a `Selection` they are asked of its elements, which are computed then.
    cost : int
        Weight of the tree: nodes, and memory held alive, in 1/64 of the device's memory.
    flags : int
        Union of EAGER, SHARED, REDUCES and MASKED.
    sig : int
        Interned structure.
    inputs : tuple of Node
        Of a pending node: leaves, constants and indices in structural order, repeated where the
        structure repeats them. Empty for those themselves (a node naming itself would be a
        reference cycle, and its memory would wait for the garbage collector).
    readers : list of weakref
        Nodes grown from this one directly, dead ones included. Leaves share the list of their memory.
    memory, offset, strides, contiguous
        Of a leaf: where its elements are (offset and strides in elements), and whether they follow
        each other in C order.
    value : object
        Of a constant: the Python or NumPy scalar. Of a selection: the function that computes it.
    """

    __slots__ = (
        "op",
        "args",
        "shape",
        "dtype",
        "size",
        "cost",
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
    cost: int
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
        cost: int,
        flags: int,
        sig: int,
        inputs: tuple[Node, ...],
    ) -> None:
        self.op = op
        self.args = args
        self.shape = shape
        self.dtype = dtype
        self.size = size
        self.cost = cost
        self.flags = flags
        self.sig = sig
        self.inputs = inputs
        self.readers = []
        self.memory = None

    def __repr__(self) -> str:
        what = "leaf" if self.op is None else getattr(self.op, "name", str(self.op))
        shape = "masked" if self.op is COMPRESS else self.shape
        return f"<Node {what} {self.dtype} {shape}>"

    def become_leaf(self, memory: Memory, offset: int, strides: Shape, contiguous: bool) -> None:
        """Turn a node that nothing was grown from into memory; `build.pass_on` sees to others."""
        signature = leaf_signature(self.dtype)  # first: an interrupt may come where something is called
        args, inputs = self.args, self.inputs  # dropped last: that may run Python
        if self.memory is not None:  # a re-entrant call has computed it
            return
        self.offset = offset
        self.strides = strides
        self.contiguous = contiguous
        # From here on others may take it for memory; its operands are let go.
        self.memory = memory
        self.op = None
        self.args = ()
        self.cost = memory.cost
        self.flags = EAGER if memory.shared else 0
        self.sig = signature
        self.inputs = ()
        self.readers = memory.readers
        del args, inputs


class Blank(Node):
    """A node without values yet: the operators fill it in place, in half the time of a call."""

    __slots__ = ()
    __init__ = object.__init__


class Selection(Node):
    """What a mask selects, ``value[mask]``: who asks for its shape has it computed, and nobody sees another one.

    Whoever wants it to stay pending looks at its flag MASKED and at ``args`` before. Once computed it is a plain node.
    Nothing here knows how: a selection carries the function that makes it memory, as `build.compress` was given it.
    """

    __slots__ = ()

    def become_selected(self, memory: Memory, count: int) -> None:
        """Turn into what was found: a leaf of one axis, as many elements at the start of memory."""
        if self.memory is not None:
            return
        _shape_of.__set__(self, (count,))  # before others may take it for memory
        _size_of.__set__(self, count)
        self.become_leaf(memory, 0, (1,), True)
        self.__class__ = Node  # type: ignore[assignment]

    @property
    def shape(self) -> Shape:
        self.value(self)
        found: Shape = _shape_of.__get__(self)
        return found

    @shape.setter
    def shape(self, _: Shape) -> None:  # that of `value`: not this node's
        pass

    @property
    def size(self) -> int:
        self.value(self)
        found: int = _size_of.__get__(self)
        return found

    @size.setter
    def size(self, _: int) -> None:
        pass


_shape_of: Any = Node.__dict__["shape"]
_size_of: Any = Node.__dict__["size"]


_leaf_signatures: dict[np.dtype, int] = {}


def leaf_signature(dtype: np.dtype) -> int:
    """Interned structure of a leaf: only its dtype; where it lies is a run-time matter."""
    found = _leaf_signatures.get(dtype)
    if found is None:
        found = _leaf_signatures[dtype] = intern_structure(("leaf", dtype.char))
    return found


def leaf(memory: Memory, shape: Shape, strides: Shape, offset: int, dtype: np.dtype) -> Node:
    """A strided view of memory; strides and offset in elements."""
    node = Node(None, (), shape, dtype, math.prod(shape), 0, 0, 0, ())
    node.become_leaf(memory, offset, strides, is_contiguous(shape, strides))
    return node


def memory_of(leaf: Node) -> Memory:
    """The memory of a leaf, which has one."""
    assert leaf.memory is not None
    return leaf.memory


def view_leaf(of: Node, shape: Shape, strides: Shape, offset: int) -> Node:
    """Another strided view of a leaf's memory, of its dtype, written through no more freely than the leaf."""
    made = Blank()
    made.op = None
    made.args = ()
    made.shape = shape
    made.dtype = of.dtype
    made.flags = of.flags
    made.sig = of.sig
    made.inputs = ()
    made.memory = memory = of.memory
    assert memory is not None
    made.cost = memory.cost
    made.readers = memory.readers
    made.offset = offset
    made.strides = strides
    if len(shape) == 1:
        made.size = size = shape[0]
        made.contiguous = strides[0] == 1 or size <= 1
    else:
        made.size = math.prod(shape)
        made.contiguous = is_contiguous(shape, strides)
    return made


def transposed_leaf(of: Node) -> Node:
    """A leaf with its last two axes turned round."""
    shape, strides = ((*steps[:-2], steps[-1], steps[-2]) for steps in (of.shape, of.strides))
    return view_leaf(of, shape, strides, of.offset)


def contiguous_leaf(memory: Memory, shape: Shape, dtype: np.dtype) -> Node:
    """A C-contiguous leaf at the start of memory."""
    made = Blank()
    made.op = None
    made.args = ()
    made.shape = shape
    made.dtype = dtype
    made.size = math.prod(shape)
    made.cost = memory.cost
    made.flags = EAGER if memory.shared else 0
    made.sig = leaf_signature(dtype)
    made.inputs = ()
    made.readers = memory.readers
    made.memory = memory
    made.offset = 0
    made.strides = contiguous_strides(shape)
    made.contiguous = True
    return made


class Marker:
    """An operation without parameters, compared by identity."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


CONST = Marker("constant")
INDEX = Marker("index")
COMPRESS = Marker("compress")


UNREAD: Any = deque(maxlen=0)  # takes readers and keeps none: nothing overwrites a constant


_const_signatures: dict[np.dtype, int] = {}


def constant_signature(dtype: np.dtype) -> int:
    """The structure of a constant."""
    found = _const_signatures.get(dtype)
    if found is None:
        found = _const_signatures[dtype] = intern_structure(("const", dtype.char))
    return found


def _fill_in(node: Node, value: Any, dtype: np.dtype) -> None:
    """Make a blank node a constant."""
    node.op = CONST
    node.args = ()
    node.shape = ()
    node.dtype = dtype
    node.size = 1
    node.cost = 1
    node.flags = 0
    node.sig = constant_signature(dtype)
    node.inputs = ()
    node.memory = None
    node.value = value


def constant(value: Any, dtype: np.dtype) -> Node:
    """A scalar that is passed to the kernel at run time, broadcast to any shape."""
    node = Blank()
    _fill_in(node, value, dtype)
    node.readers = UNREAD
    return node


class Known(Node):
    """A constant that an array may be: it was read from a device's memory, and that device's it stays."""

    __slots__ = ("device",)

    device: Any

    __init__ = object.__init__


def known(value: Any, dtype: np.dtype, device: Any) -> Node:
    """A constant as the value of an array: whoever needs it in memory has it written there."""
    node = Known()
    _fill_in(node, value, dtype)
    node.readers = []
    node.device = device
    return node


def index(shape: Shape, strides: Shape, dtype: np.dtype, offset: int = 0) -> Node:
    """The value ``offset + sum(position * strides)`` at each position: an arange without memory."""
    sig = intern_structure(("index", dtype.char))
    node = Node(INDEX, (), shape, dtype, math.prod(shape), 1, 0, sig, ())
    node.strides = strides
    node.offset = offset
    return node
