"""Kernels written by the user: a snippet of C that becomes an operation on arrays."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from clarray import ufunc_calls
from clarray.array import DeviceArray, wrap
from clarray.evaluate import evaluate, write
from clarray.evaluate.scan import scan
from clarray.evaluate.snippet import run
from clarray.expr import build
from clarray.expr.node import MASKED, Node, contiguous_leaf, index, leaf
from clarray.expr.view import View, broadcast_shapes, contiguous, normalize_axes, normalize_axis
from clarray.expr.view import index as window_of
from clarray.kernel_arguments import (
    Call,
    Declared,
    Signature,
    bind,
    checked,
    declared,
    dtype_of,
    shape_argument,
    type_named,
)
from clarray.operands import scalar_node
from clarray.ops.monoids import CText, Monoid, accumulator, snippet_monoid
from clarray.ops.snippets import (
    INDEX,
    SIZE,
    Snippet,
    check_kernel_name,
    mentions,
    snippet_loop,
)
from clarray.reduce_calls import kept_shape, reduced
from clarray.runtime import Device

__all__ = ["ElementwiseKernel", "ReductionKernel", "ScanKernel"]

_LONG = np.dtype(np.int64)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
Shape = tuple[int, ...]


class _Kernel:
    """What all kernels have: a name, parameters, a preamble."""

    def __init__(self, in_params: str, out_params: str, name: str, preamble: str, reserved: tuple[str, ...]) -> None:
        self.name = check_kernel_name(name)
        self._signature = Signature.parse(name, in_params, out_params, reserved)
        self._preamble = _text(preamble, "preamble")
        self._sound: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}{self._signature}>"

    def _snippet(
        self, call: Call, part: str, text: str, inputs: Declared, outputs: Declared = (),
        result: np.dtype | None = None,
    ) -> Snippet:  # fmt: skip
        """A part of the kernel at the call's dtypes, compiled once to see whether it can be."""
        types = tuple(sorted(call.types.items()))
        key = (part, call.device, types, inputs)
        found: Snippet | None = self._sound.get(key)
        if found is None:
            name = f"{self.name} {part}".strip()
            snippet = Snippet(name, text, inputs, outputs, types, self._preamble, result)
            found = self._sound[key] = checked(call.device, snippet, self.name)
        return found

    def _shape(self, call: Call, size: Any) -> Shape:
        """Over which positions the kernel runs: the inputs and outputs broadcast, or what ``size`` says."""
        signature = self._signature
        shapes = [n.shape for n, p in zip(call.nodes, signature.inputs, strict=True) if not p.raw]
        targets = [t for t, p in zip(call.targets, signature.outputs, strict=True) if not p.raw and t is not None]
        if size is not None:
            if any(shapes) or targets:
                raise ValueError(
                    f"kernel {self.name!r}: size= is for kernels whose arrays are all raw; the others have a size"
                )
            return shape_argument(size)
        raw = any(p.raw for p in (*signature.inputs, *signature.outputs))
        if not any(shapes) and not targets and (raw or not shapes):
            raise ValueError(f"kernel {self.name!r}: no argument tells how many elements there are; give size=")
        shape = broadcast_shapes([*shapes, *(t.shape for t in targets)])
        for t in targets:
            if t.shape != shape:
                raise ValueError(f"kernel {self.name!r}: the output has shape {t.shape}, where {shape} is computed")
        return shape

    def _mapped(self, call: Call, expression: str, result: np.dtype, size: Any) -> Node:
        """The elements that enter a reduction or scan: pending, unless arrays are passed whole."""
        signature = self._signature
        inputs = declared(signature.inputs, call.types, signature)
        whole = any(raw for _, _, raw in inputs)
        call.store_selections()
        shape = self._shape(Call(call.device, call.nodes, [None] * len(signature.outputs), call.types), size)
        if not whole and len(inputs) == 1 and expression.strip() == inputs[0][0] and inputs[0][1] == result:
            return call.nodes[0] if call.nodes[0].args or call.nodes[0].memory else _spread(call.nodes[0], shape)
        used, nodes = _positions(expression, inputs, call.nodes, shape)
        if not whole:
            snippet = self._snippet(call, "map", expression, used, result=result)
            return _spread(build.nary(snippet_loop(snippet), tuple(nodes)), shape)
        outputs = (("clarray_mapped", result, False),)
        snippet = self._snippet(call, "map", f"clarray_mapped = ({expression});", used, outputs)
        return _run(call.device, snippet, nodes, [None], shape)[0]._node

    def _monoid(self, call: Call, expression: str, dtype: np.dtype, identity: Any) -> Monoid:
        operands = (("a", dtype, False), ("b", dtype, False))
        snippet = self._snippet(call, "combine", expression, operands, result=dtype)
        if isinstance(identity, CText):
            identity = CText(f"{self._snippet(call, 'identity', identity, (), result=dtype).function}()")
        elif identity is not None and dtype.kind in "biu" and identity != int(identity):
            raise ValueError(f"kernel {self.name!r}: {dtype} does not hold the identity {identity!r}")
        return snippet_monoid(self.name, snippet_loop(snippet), identity)

    def _state(self, call: Call, given: str | None) -> np.dtype:
        """The dtype in which values are combined."""
        signature = self._signature
        if given is None:
            return accumulator(dtype_of(signature.outputs[0], call.types, signature))
        return type_named(given, call.types, f"kernel {self.name!r}: the state")


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string of C, not {type(value).__name__}")
    if "\0" in value:
        raise ValueError(f"{what} holds a null character")
    plain = re.sub(r"/\*.*?\*/|//[^\n]*|'[^'\n]*'|\"[^\"\n]*\"", " ", value, flags=re.DOTALL)
    open_ = []
    for character in plain:
        if character in "([{":
            open_.append(_CLOSING[character])
        elif character in ")]}" and (not open_ or open_.pop() != character):
            raise ValueError(f"{what} closes a {character!r} that is not open")
    if open_:
        raise ValueError(f"{what} lacks a {open_[-1]!r}")
    return value


def _positions(text: str, inputs: Declared, nodes: list[Node], shape: Shape) -> tuple[Declared, list[Node]]:
    """Inputs with the position and the number of elements, where the text mentions them."""
    more: list[tuple[str, Node]] = []
    if mentions(text, INDEX):
        more.append((INDEX, index(shape, contiguous(shape), _LONG)))
    if mentions(text, SIZE) or not (nodes or more):  # an operation has an operand
        more.append((SIZE, scalar_node(math.prod(shape), _LONG)))
    return (*inputs, *((name, _LONG, False) for name, _ in more)), [*nodes, *(node for _, node in more)]


def _spread(node: Node, shape: Shape) -> Node:
    return node if node.shape == shape else ufunc_calls.spread(node, shape)


def _given(target: DeviceArray | None, node: Node) -> DeviceArray:
    """A lazy result as a new array, or written to the one that was given."""
    if target is None:
        return ufunc_calls.settled(node)
    target.check_writeable("output array is read-only")
    ufunc_calls.assign(target, node)
    return target


def _run(
    device: Device, snippet: Snippet, nodes: list[Node], targets: list[DeviceArray | None], shape: Shape
) -> list[DeviceArray]:
    """Run a snippet at once; outputs that were not given are new arrays."""
    made = []
    for target, (_, dtype, _) in zip(targets, snippet.outputs, strict=True):
        if target is None:
            memory = device.allocate(math.prod(shape) * dtype.itemsize)
            target = wrap(contiguous_leaf(memory, shape, dtype))
        target.check_writeable("output array is read-only")
        made.append(target)
    run(device, snippet, nodes, [evaluate(t._node) for t in made], shape)
    return made


class ElementwiseKernel(_Kernel):
    """An operation on each element, written in C.

    Parameters
    ----------
    in_params, out_params : str
        Declarations such as ``'T x, float32 y, raw T table'``, separated by commas. A type is a dtype's name, or one
        letter that stands for the dtype of the array that is passed; the same letter is the same dtype. ``raw`` passes
        a whole array as a pointer to its elements in C order, with its size beside it: ``table[j]``, ``table_size``.
    operation : str
        Statements that assign the outputs, run once per element. Beside the parameters they may use the position ``i``
        in C order, the number of elements ``n``, and the letters as types. Outputs are zero until they are assigned.
    name : str
        An identifier; it stands in messages, profiles and the generated source.
    preamble : str
        Functions and macros that the operation uses.

    Raises
    ------
    ValueError
        A declaration cannot be read; the message says how one is written.
    TypeError
        An argument is no string.

    See Also
    --------
    ReductionKernel, ScanKernel

    Notes
    -----
    With one output and nothing raw the result is pending, as that of NumPy's functions: it becomes part of the kernel
    that needs it. Otherwise the kernel runs at once, and reads pending inputs while it computes them.

    In C a bool is a ``bool``, a float16 a ``float`` that is rounded when it is stored, a complex number a ``float2`` or
    ``double2`` of its parts. Raw arrays of bool are ``uchar``, those of float16 ``half`` (use ``vload_half``).

    Examples
    --------
    >>> import clarray
    >>> squared_difference = clarray.ElementwiseKernel(
    ...     "T x, T y", "T z", "z = (x - y) * (x - y)", "squared_difference")
    >>> x = clarray.arange(4, dtype="float32")
    >>> squared_difference(x, 1).tolist()
    [1.0, 0.0, 1.0, 4.0]
    """

    def __init__(
        self, in_params: str, out_params: str, operation: str, name: str = "elementwise_kernel", *, preamble: str = ""
    ) -> None:
        super().__init__(in_params, out_params, name, preamble, ())
        self._operation = _text(operation, "operation")

    def __call__(self, *args: Any, size: Any = None, out: Any = None) -> Any:
        """Apply the kernel to arrays and scalars, which broadcast.

        Parameters
        ----------
        *args : array_like
            The inputs, and perhaps the outputs after them. Arrays must have the declared dtypes; Python's numbers take
            the dtype that is wanted.
        size : int or tuple of int, optional
            The shape, where all arrays are raw.
        out : DeviceArray or tuple of DeviceArray, optional
            Where the outputs shall be written.

        Returns
        -------
        DeviceArray or tuple of DeviceArray
            One per output.

        Raises
        ------
        TypeError
            The number of arguments or a dtype is wrong.
        ValueError
            Shapes do not fit, or ``size`` is missing or not wanted.
        RuntimeError
            The operation does not compile; with the compiler's message at your own lines.
        """
        call = bind(self._signature, args, out)
        signature = self._signature
        inputs = declared(signature.inputs, call.types, signature)
        outputs = declared(signature.outputs, call.types, signature)
        lazy = len(outputs) == 1 and not any(raw for _, _, raw in (*inputs, *outputs))
        numbered = mentions(self._operation, INDEX) or mentions(self._operation, SIZE)
        if any(n.flags & MASKED for n in call.nodes):
            if lazy and not numbered and call.targets[0] is None and size is None:
                snippet = self._snippet(call, "", self._operation, inputs, outputs)
                return ufunc_calls.settled(build.nary(snippet_loop(snippet), tuple(call.nodes)))
            call.store_selections()
        shape = self._shape(call, size)
        used, nodes = _positions(self._operation, inputs, call.nodes, shape)
        snippet = self._snippet(call, "", self._operation, used, outputs)
        if lazy:
            node = build.nary(snippet_loop(snippet), tuple(nodes))
            return _given(call.targets[0], _spread(node, shape))
        made = _run(call.device, snippet, nodes, call.targets, shape)
        return made[0] if len(made) == 1 else tuple(made)


class ReductionKernel(_Kernel):
    """A reduction along axes, written in C.

    Parameters
    ----------
    in_params, out_params : str
        As in `ElementwiseKernel`; there is one output, and it is not raw.
    map_expr : str
        Expression of the inputs (and of ``i`` and ``n``): what is combined.
    reduce_expr : str
        Expression that combines ``a`` and ``b``. It must be associative and commutative: values are combined in an
        order that differs between devices, and is the same in every run on one.
    post_map_expr : str
        Statement that assigns the output from the combined value ``a``; ``''`` for the value itself.
    identity : scalar or str, optional
        What leaves every value as it is when it is combined with it: a number, or C text such as ``'-INFINITY'``.
        None (or ``''``) if there is none: then nothing can be reduced to nothing, as with `numpy.max`.
    name : str
        An identifier.
    reduce_type : str, optional
        Dtype (or letter) of what is combined; that of the output if it is None, and float32 for float16.
    preamble : str
        Functions and macros that the expressions use.

    Raises
    ------
    ValueError
        A declaration cannot be read.
    TypeError
        An argument is no string.

    Notes
    -----
    The reduction is pending as NumPy's are: inputs that are pending are computed while they are read, and what is done
    to the result becomes part of it.

    Examples
    --------
    >>> import clarray
    >>> norm = clarray.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", 0, "norm")
    >>> norm(clarray.asarray([3.0, 4.0])).item()
    5.0
    """

    def __init__(
        self, in_params: str, out_params: str, map_expr: str, reduce_expr: str, post_map_expr: str = "",
        identity: Any = None, name: str = "reduction_kernel", *, reduce_type: str | None = None, preamble: str = "",
    ) -> None:  # fmt: skip
        super().__init__(in_params, out_params, name, preamble, ("a", "b"))
        _one_output(self._signature)
        self._map = _text(map_expr, "map_expr")
        self._reduce = _text(reduce_expr, "reduce_expr")
        self._post = _text(post_map_expr, "post_map_expr")
        self._identity = _identity(identity)
        self._reduce_type = reduce_type

    def __call__(
        self, *args: Any, axis: Any = None, keepdims: bool = False, size: Any = None, out: Any = None
    ) -> DeviceArray:
        """Reduce arrays and scalars, which broadcast.

        Parameters
        ----------
        *args : array_like
            The inputs, and perhaps the output after them.
        axis : int or tuple of int, optional
            Reduced axes; all when None.
        keepdims : bool
            Whether reduced axes stay, with one element.
        size : int or tuple of int, optional
            The shape, where all inputs are raw.
        out : DeviceArray, optional
            Where the result shall be written.

        Returns
        -------
        DeviceArray

        Raises
        ------
        TypeError, RuntimeError
            As `ElementwiseKernel`.
        ValueError
            Shapes do not fit, or nothing is reduced without an identity.
        """
        call = bind(self._signature, args, out)
        state = self._state(call, self._reduce_type)
        monoid = self._monoid(call, self._reduce, state, self._identity)
        value = self._mapped(call, self._map, state, size)
        axes = normalize_axes(axis, len(value.shape))
        shape = kept_shape(value.shape, axes, keepdims)
        if self._identity is None and 0 in value.shape and 0 not in shape:
            raise ValueError(f"zero-size array to reduction operation {self.name} which has no identity")
        node = reduced(monoid, value, None, axes, keepdims)
        node = _finished(self, call, self._post, node, (("a", state, False),), [node])
        return _into(self, call.targets[0], node)


class ScanKernel(_Kernel):
    """A running reduction along an axis, written in C.

    Parameters
    ----------
    in_params, out_params : str
        As in `ElementwiseKernel`; there is one output, and it is not raw.
    map_expr : str
        Expression of the inputs (and of ``i`` and ``n``): what is combined.
    scan_expr : str
        Expression that combines ``a``, of earlier elements, and ``b``. It must be associative; it need not be
        commutative.
    post_map_expr : str
        Statement that assigns the output from the combined value ``a``, and from the inputs; ``''`` for the value
        itself.
    identity : scalar or str, optional
        As in `ReductionKernel`; an exclusive scan needs it.
    name : str
        An identifier.
    exclusive : bool
        Whether each element gets what is before it, without itself.
    scan_type : str, optional
        Dtype (or letter) of what is combined; that of the output if it is None, and float32 for float16.
    preamble : str
        Functions and macros that the expressions use.

    Raises
    ------
    ValueError
        A declaration cannot be read, or an exclusive scan has no identity.
    TypeError
        An argument is no string.

    Notes
    -----
    Pending inputs are computed while they are read. Results are the same bits in every run.

    Examples
    --------
    >>> import clarray
    >>> offsets = clarray.ScanKernel("int32 count", "int64 start", "count", "a + b", identity=0, exclusive=True)
    >>> offsets(clarray.asarray([3, 0, 4], dtype="int32")).tolist()
    [0, 3, 3]
    """

    def __init__(
        self, in_params: str, out_params: str, map_expr: str, scan_expr: str, post_map_expr: str = "",
        identity: Any = None, name: str = "scan_kernel", *, exclusive: bool = False, scan_type: str | None = None,
        preamble: str = "",
    ) -> None:  # fmt: skip
        super().__init__(in_params, out_params, name, preamble, ("a", "b"))
        _one_output(self._signature)
        self._map = _text(map_expr, "map_expr")
        self._scan = _text(scan_expr, "scan_expr")
        self._post = _text(post_map_expr, "post_map_expr")
        self._identity = _identity(identity)
        self._exclusive = exclusive
        self._scan_type = scan_type
        if exclusive and self._identity is None:
            raise ValueError(f"kernel {name!r}: an exclusive scan starts with its identity, and has none")

    def __call__(self, *args: Any, axis: Any = None, size: Any = None, out: Any = None) -> DeviceArray:
        """Scan arrays and scalars, which broadcast.

        Parameters
        ----------
        *args : array_like
            The inputs, and perhaps the output after them.
        axis : int, optional
            The axis along which is scanned; None scans all elements in C order, as `numpy.cumsum` does.
        size : int or tuple of int, optional
            The shape, where all inputs are raw.
        out : DeviceArray, optional
            Where the result shall be written.

        Returns
        -------
        DeviceArray

        Raises
        ------
        TypeError, ValueError, RuntimeError
            As `ElementwiseKernel`.
        """
        call = bind(self._signature, args, out)
        state = self._state(call, self._scan_type)
        monoid = self._monoid(call, self._scan, state, self._identity)
        names = [p.name for p in self._signature.inputs if mentions(self._post, p.name)]
        if names:  # read twice: what is pending is computed once
            call.nodes = [evaluate(n) if n.args else n for n in call.nodes]
        value = self._mapped(call, self._map, state, size)
        shape = value.shape
        flat = axis is None
        if flat and len(shape) != 1:
            value = wrap(value).reshape(-1)._node
        along = 0 if flat else normalize_axis(axis, len(value.shape))
        node = self._states(call.device, value, monoid, along)
        inputs: Declared = (("a", state, False),)
        nodes = [node]
        for p, n in zip(self._signature.inputs, call.nodes, strict=True):
            if p.name in names:
                if p.raw:
                    raise ValueError(f"kernel {self.name!r}: {p.name} is raw, and post_map_expr cannot use it")
                if flat and n.shape and n.shape != value.shape:
                    n = wrap(_spread(n, shape)).reshape(-1)._node
                inputs += ((p.name, dtype_of(p, call.types, self._signature), False),)
                nodes.append(n)
        return _into(self, call.targets[0], _finished(self, call, self._post, node, inputs, nodes))

    def _states(self, device: Device, value: Node, monoid: Monoid, axis: int) -> Node:
        """The scanned values; an exclusive scan is an inclusive one, written one element further along."""
        if not self._exclusive:
            return scan(value, monoid, axis)
        shape = list(value.shape)
        length = shape[axis]
        shape[axis] += 1
        dtype = monoid.out_dtype
        memory = device.allocate(math.prod(shape) * dtype.itemsize)
        whole = View(tuple(shape), contiguous(tuple(shape)))

        def part(start: int, stop: int) -> Node:
            view = window_of(whole, (*[slice(None)] * axis, slice(start, stop)))
            assert view is not None
            return leaf(memory, view.shape, view.strides, view.offset, dtype)

        first = part(0, 1)
        write(first, _spread(self._first(dtype, first.shape), first.shape))
        target = part(1, length + 1)
        found = scan(value, monoid, axis, target)
        if found is not target:
            write(target, found)
        return part(0, length)

    def _first(self, dtype: np.dtype, shape: Shape) -> Node:
        if not isinstance(self._identity, CText):
            return ufunc_calls.filled(scalar_node(self._identity, dtype), shape)
        count = scalar_node(1, _LONG)
        inputs = ((SIZE, _LONG, False),)
        snippet = Snippet(f"{self.name} identity", str(self._identity), inputs, (), (), self._preamble, dtype)
        return build.nary(snippet_loop(snippet), (count,))


def _one_output(signature: Signature) -> None:
    if len(signature.outputs) != 1 or signature.outputs[0].raw:
        raise ValueError(f"kernel {signature.name!r}: out_params must be one output, not raw")


def _identity(value: Any) -> Any:
    """A number, C text or None."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if not isinstance(value, str):
        return value
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return CText(_text(value, "identity"))


def _finished(
    kernel: _Kernel, call: Call, text: str, node: Node, inputs: Declared, nodes: list[Node]
) -> Node:
    """What a statement makes of combined values, or these themselves in the output's dtype."""
    outputs = declared(kernel._signature.outputs, call.types, kernel._signature)
    if not text.strip():
        return ufunc_calls.cast(node, outputs[0][1])
    used, operands = _positions(text, inputs, nodes, node.shape)
    snippet = kernel._snippet(call, "post_map", text, used, outputs)
    return build.nary(snippet_loop(snippet), tuple(operands))


def _into(kernel: _Kernel, target: DeviceArray | None, node: Node) -> DeviceArray:
    if target is not None and target.shape != node.shape:
        raise ValueError(f"kernel {kernel.name!r}: the output has shape {target.shape}, where {node.shape} is computed")
    return _given(target, node)
