"""Kernels written by the user: a snippet of C that becomes an operation on arrays."""

from __future__ import annotations

import math
from typing import Any

from clarray._core import ufunc_calls
from clarray._core.device_array import DeviceArray, wrap
from clarray._engine.algorithms import launchers
from clarray._engine.evaluate import evaluate
from clarray._engine.expr import build
from clarray._engine.expr.axes import normalize_axes, normalize_axis
from clarray._engine.expr.indexing import index
from clarray._engine.expr.node import MASKED, Node, leaf
from clarray._engine.expr.view import View, contiguous
from clarray._engine.ops.monoids import Monoid
from clarray._engine.ops.snippets import INDEX, SIZE, mentions, snippet_loop
from clarray._engine.runtime import Device
from clarray._engine.writing import write
from clarray._numpy.kernels.arguments import TypedParameters, Types, bind, parameter_dtype, typed_parameters
from clarray._numpy.kernels.base import (
    Kernel,
    add_index_inputs,
    apply_post_map,
    broadcast_node,
    check_c_text,
    parse_identity,
    require_single_output,
    run_snippet,
    write_or_wrap,
    write_result,
)
from clarray._numpy.reduction.reduce_calls import build_reduction, reduced_shape

__all__ = ["ElementwiseKernel", "ReductionKernel", "ScanKernel"]


class ElementwiseKernel(Kernel):
    """Define an operation on each element, written in OpenCL C.

    Parameters
    ----------
    in_params, out_params : str
        Declarations such as ``'T x, float32 y, raw T table'``, separated by commas. A type is the name of a dtype or
        one capital letter. A letter stands for the dtype of the array that is passed, and the same letter for the same
        dtype. ``raw`` passes a whole array as a pointer to its elements in C order: ``table[j]``, with its size in
        ``table_size``.
    operation : str
        Statements that assign the outputs, run once per element. Besides the parameters they may use the position ``i``
        in C order, the number of elements ``n``, and the letters as types. Outputs are zero until they are assigned.
    name : str
        Identifier, used in messages, profiles and the generated source.
    preamble : str
        Functions and macros that the operation uses.

    Raises
    ------
    ValueError
        A declaration cannot be read. The message says how to write one.
    TypeError
        An argument is not a string.

    See Also
    --------
    ReductionKernel, ScanKernel

    Notes
    -----
    With one output and no ``raw``, the result is lazy like the results of NumPy's functions: the operation becomes part
    of the kernel that needs it. Otherwise the kernel runs at once, and computes pending inputs as it reads them.

    In C a bool is a ``bool``, a float16 is a ``float`` that is rounded when it is stored, and a complex number is a
    ``float2`` or ``double2`` of its parts. The elements of a raw array of bool are ``uchar``. The elements of a raw
    array of float16 are ``half`` (use ``vload_half``).

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
        self._loops: dict[Any, Any] = {}  # loops by device and dtypes, for calls with arrays only
        self._operation = check_c_text(operation, "operation")

    def __call__(self, *args: Any, size: Any = None, out: Any = None) -> Any:
        """Apply the kernel to arrays and scalars, which broadcast.

        Parameters
        ----------
        *args : array_like
            The inputs, optionally followed by the outputs. Arrays must have the declared dtypes. Python numbers are
            converted to them.
        size : int or tuple of int, optional
            Shape of the result, if all arrays are raw.
        out : DeviceArray or tuple of DeviceArray, optional
            Arrays for the outputs.

        Returns
        -------
        DeviceArray or tuple of DeviceArray
            One array per output.

        Raises
        ------
        TypeError
            The number of arguments or a dtype is wrong.
        ValueError
            Shapes do not fit, or `size` is missing or not allowed.
        RuntimeError
            The operation does not compile. The message is the compiler's, with line numbers of the operation.
        """
        key = None
        if out is None and size is None and args and all(isinstance(a, DeviceArray) for a in args):
            key = (args[0].device, *(a._node.dtype for a in args))
            loop = self._loops.get(key)
            if loop is not None:
                return ufunc_calls.evaluate_if_eager(build.nary(loop, tuple(a._node for a in args)))
        call = bind(self._signature, args, out)
        signature = self._signature
        inputs = typed_parameters(signature.inputs, call.types, signature)
        outputs = typed_parameters(signature.outputs, call.types, signature)
        lazy = len(outputs) == 1 and not any(raw for _, _, raw in (*inputs, *outputs))
        uses_position = mentions(self._operation, INDEX) or mentions(self._operation, SIZE)
        if any(n.flags & MASKED for n in call.nodes):
            if lazy and not uses_position and call.targets[0] is None and size is None:
                snippet = self._snippet(call, "", self._operation, inputs, outputs)
                return ufunc_calls.evaluate_if_eager(build.nary(snippet_loop(snippet), tuple(call.nodes)))
            call.store_selections()
        shape = self._shape(call, size)
        used, nodes = add_index_inputs(self._operation, inputs, call.nodes, shape)
        snippet = self._snippet(call, "", self._operation, used, outputs)
        if lazy:
            node = build.nary(snippet_loop(snippet), tuple(nodes))
            if key is not None and len(nodes) == len(args):
                self._loops[key] = snippet_loop(snippet)
            return write_or_wrap(call.targets[0], broadcast_node(node, shape))
        results = run_snippet(call.device, snippet, nodes, call.targets, shape)
        return results[0] if len(results) == 1 else tuple(results)


class ReductionKernel(Kernel):
    """Define a reduction over axes, written in OpenCL C.

    Parameters
    ----------
    in_params, out_params : str
        As in `ElementwiseKernel`, with exactly one output, which is not raw.
    map_expr : str
        Expression of the inputs (and of ``i`` and ``n``) that gives each value to combine.
    reduce_expr : str
        Expression that combines two values ``a`` and ``b``. It must be associative and commutative: the order differs
        between devices, and is the same in every run on one device.
    post_map_expr : str
        Statement that assigns the output from the combined value ``a``. ``''`` for the value itself.
    identity : scalar or str, optional
        Neutral element: a number, or C text such as ``'-INFINITY'``. Without it (None or ``''``) a reduction of no
        elements raises ValueError, as `numpy.max` does.
    name : str
        Identifier, used in messages, profiles and the generated source.
    reduce_type : str, optional
        Dtype (or letter) of the combined values. By default the dtype of the output, and float32 for float16.
    preamble : str
        Functions and macros that the expressions use.

    Raises
    ------
    ValueError
        A declaration cannot be read.
    TypeError
        An argument is not a string.

    See Also
    --------
    ElementwiseKernel, ScanKernel

    Notes
    -----
    The result is lazy: the reduction computes pending inputs as it reads them, and later operations on the result
    become part of its kernel.

    Examples
    --------
    >>> import clarray
    >>> norm = clarray.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", 0, "norm")
    >>> norm(clarray.asarray([3.0, 4.0])).item()
    5.0
    """

    def __init__(
        self,
        in_params: str,
        out_params: str,
        map_expr: str,
        reduce_expr: str,
        post_map_expr: str = "",
        identity: Any = None,
        name: str = "reduction_kernel",
        *,
        reduce_type: str | None = None,
        preamble: str = "",
    ) -> None:
        super().__init__(in_params, out_params, name, preamble, ("a", "b"))
        require_single_output(self._signature)
        self._map = check_c_text(map_expr, "map_expr")
        self._reduce = check_c_text(reduce_expr, "reduce_expr")
        self._post = check_c_text(post_map_expr, "post_map_expr")
        self._identity = parse_identity(identity)
        self._reduce_type = reduce_type

    def __call__(
        self, *args: Any, axis: Any = None, keepdims: bool = False, size: Any = None, out: Any = None
    ) -> DeviceArray:
        """Reduce arrays and scalars, which broadcast.

        Parameters
        ----------
        *args : array_like
            The inputs, optionally followed by the output.
        axis : int or tuple of int, optional
            Axes to reduce. All axes by default.
        keepdims : bool
            Keep the reduced axes, with an extent of one.
        size : int or tuple of int, optional
            Shape over which to reduce, if all inputs are raw.
        out : DeviceArray, optional
            Array for the result.

        Returns
        -------
        DeviceArray

        Raises
        ------
        TypeError, RuntimeError
            As `ElementwiseKernel`.
        ValueError
            Shapes do not fit, or there are no elements and no identity.
        """
        call = bind(self._signature, args, out)
        state = self._state_dtype(call, self._reduce_type)
        monoid = self._monoid(call, self._reduce, state, self._identity)
        mapped = self._mapped(call, self._map, state, size)
        axes = normalize_axes(axis, len(mapped.shape))
        shape = reduced_shape(mapped.shape, axes, keepdims)
        if any(mapped.shape[a] == 0 for a in axes):
            node = self._empty_reduction(call.types, self._identity, state, shape)
        else:
            node = build_reduction(monoid, mapped, None, axes, keepdims)
        node = apply_post_map(self, call, self._post, node, (("a", state, False),), [node])
        return write_result(self, call.targets[0], node)


class ScanKernel(Kernel):
    """Define a running reduction along an axis, written in OpenCL C.

    Parameters
    ----------
    in_params, out_params : str
        As in `ElementwiseKernel`, with exactly one output, which is not raw.
    map_expr : str
        Expression of the inputs (and of ``i`` and ``n``) that gives each value to combine.
    scan_expr : str
        Expression that combines ``a``, the value of earlier elements, with ``b``. It must be associative, but need not
        be commutative.
    post_map_expr : str
        Statement that assigns the output from the combined value ``a`` and from the inputs. ``''`` for the value
        itself.
    identity : scalar or str, optional
        Neutral element, as in `ReductionKernel`. An exclusive scan requires it.
    name : str
        Identifier, used in messages, profiles and the generated source.
    exclusive : bool
        Combine for each element only the elements before it.
    scan_type : str, optional
        Dtype (or letter) of the combined values. By default the dtype of the output, and float32 for float16.
    preamble : str
        Functions and macros that the expressions use.

    Raises
    ------
    ValueError
        A declaration cannot be read, or an exclusive scan has no identity.
    TypeError
        An argument is not a string.

    See Also
    --------
    ElementwiseKernel, ReductionKernel

    Notes
    -----
    The scan computes pending inputs as it reads them. Results have the same bits in every run.

    Examples
    --------
    >>> import clarray
    >>> offsets = clarray.ScanKernel("int32 count", "int64 start", "count", "a + b", identity=0, exclusive=True)
    >>> offsets(clarray.asarray([3, 0, 4], dtype="int32")).tolist()
    [0, 3, 3]
    """

    def __init__(
        self,
        in_params: str,
        out_params: str,
        map_expr: str,
        scan_expr: str,
        post_map_expr: str = "",
        identity: Any = None,
        name: str = "scan_kernel",
        *,
        exclusive: bool = False,
        scan_type: str | None = None,
        preamble: str = "",
    ) -> None:
        super().__init__(in_params, out_params, name, preamble, ("a", "b"))
        require_single_output(self._signature)
        self._map = check_c_text(map_expr, "map_expr")
        self._scan = check_c_text(scan_expr, "scan_expr")
        self._post = check_c_text(post_map_expr, "post_map_expr")
        self._identity = parse_identity(identity)
        self._exclusive = exclusive
        self._scan_type = scan_type
        if exclusive and self._identity is None:
            raise ValueError(f"kernel {name!r}: an exclusive scan starts with its identity, and has none")

    def __call__(self, *args: Any, axis: Any = None, size: Any = None, out: Any = None) -> DeviceArray:
        """Scan arrays and scalars, which broadcast.

        Parameters
        ----------
        *args : array_like
            The inputs, optionally followed by the output.
        axis : int, optional
            Axis to scan along. None scans all elements in C order, as `numpy.cumsum` does.
        size : int or tuple of int, optional
            Shape of the result, if all inputs are raw.
        out : DeviceArray, optional
            Array for the result.

        Returns
        -------
        DeviceArray

        Raises
        ------
        TypeError, ValueError, RuntimeError
            As `ElementwiseKernel`.
        """
        call = bind(self._signature, args, out)
        state = self._state_dtype(call, self._scan_type)
        monoid = self._monoid(call, self._scan, state, self._identity)
        post_inputs = [p.name for p in self._signature.inputs if mentions(self._post, p.name)]
        if post_inputs:  # the post_map reads these inputs again, so evaluate them once
            call.nodes = [evaluate(n) if n.args else n for n in call.nodes]
        mapped = self._mapped(call, self._map, state, size)
        shape = mapped.shape
        flat = axis is None
        if flat and len(shape) != 1:
            mapped = wrap(mapped).reshape(-1)._node
        scan_axis = 0 if flat else normalize_axis(axis, len(mapped.shape))
        node = self._states(call.device, call.types, mapped, monoid, scan_axis)
        inputs: TypedParameters = (("a", state, False),)
        nodes = [node]
        for p, n in zip(self._signature.inputs, call.nodes, strict=True):
            if p.name in post_inputs:
                if p.raw:
                    raise ValueError(f"kernel {self.name!r}: {p.name} is raw, and post_map_expr cannot use it")
                if flat and n.shape and n.shape != mapped.shape:
                    n = wrap(broadcast_node(n, shape)).reshape(-1)._node
                inputs += ((p.name, parameter_dtype(p, call.types, self._signature), False),)
                nodes.append(n)
        return write_result(self, call.targets[0], apply_post_map(self, call, self._post, node, inputs, nodes))

    def _states(self, device: Device, types: Types, mapped: Node, monoid: Monoid, axis: int) -> Node:
        """Scan the values. An exclusive scan is an inclusive one that is written one element later."""
        if not self._exclusive:
            return launchers.scan.scan(mapped, monoid, axis)
        shape = list(mapped.shape)
        length = shape[axis]
        shape[axis] += 1
        dtype = monoid.out_dtype
        memory = device.allocate(math.prod(shape) * dtype.itemsize)
        padded = View(tuple(shape), contiguous(tuple(shape)))

        def part(start: int, stop: int) -> Node:
            view = index(padded, (*[slice(None)] * axis, slice(start, stop)))
            return leaf(memory, view.shape, view.strides, view.offset, dtype)

        first = part(0, 1)
        write(first, self._empty_reduction(types, self._identity, dtype, first.shape))
        target = part(1, length + 1)
        scanned = launchers.scan.scan(mapped, monoid, axis, target)
        if scanned is not target:
            write(target, scanned)
        return part(0, length)
