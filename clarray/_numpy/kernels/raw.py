"""Kernels that a user has written completely in OpenCL C, with the names of CuPy's interface."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.device_array import DeviceArray, is_numpy_scalar
from clarray._engine.algorithms import launchers
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import Node
from clarray._engine.expr.view import as_count
from clarray._engine.runtime.includes import include_comment
from clarray._numpy.kernels.arguments import TOO_MANY_WORK_ITEMS

__all__ = ["RawKernel", "RawModule"]

_NUMPY_TYPES = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}
_MAX_DIMENSIONS = 3


class RawKernel:
    """Define a kernel of OpenCL C that is launched as it is written.

    Parameters
    ----------
    code : str
        OpenCL C with the kernel.
    name : str
        Name of the kernel.
    options : sequence of str
        Definitions of macros: ``('-DN=4',)``.

    Raises
    ------
    ValueError
        The source has no such kernel, its parameters cannot be read, or an option is unknown.
    TypeError
        `code` is not a string.

    See Also
    --------
    ElementwiseKernel, RawModule

    Examples
    --------
    >>> import clarray
    >>> saxpy = clarray.RawKernel('''
    ...     kernel void saxpy(float a, global const float *x, global float *y, int n) {
    ...         int i = get_global_id(0);
    ...         if (i < n)
    ...             y[i] += a * x[i];
    ...     }''', 'saxpy')
    >>> x, y = clarray.arange(5, dtype='float32'), clarray.ones(5, 'float32')
    >>> saxpy((2,), (4,), (2, x, y, x.size))
    >>> y.tolist()
    [1.0, 3.0, 5.0, 7.0, 9.0]
    """

    def __init__(self, code: str, name: str, options: Sequence[str] = ()) -> None:
        text = launchers.snippet_raw.macros(options) + _checked_text(code)
        self._source = launchers.snippet_raw.read_kernel(text + include_comment(text), name)
        self.code = code
        self.name = name
        self.options = tuple(options)
        if [p.space for p in self._source.parameters].count("local") > 1:
            raise ValueError(f"kernel {name!r}: one parameter may be local memory; declare the others in the kernel")

    def __repr__(self) -> str:
        return f"<RawKernel {self.name}({', '.join(p.text for p in self._source.parameters)})>"

    def __call__(self, grid: Any, block: Any, args: Sequence[Any], *, shared_mem: int = 0) -> None:
        """Launch the kernel with ``grid`` work-groups of ``block`` work-items each.

        Parameters
        ----------
        grid, block : tuple of int
            One to three extents. Missing extents are 1.
        args : sequence
            One argument for each parameter that is not in local memory: a C-contiguous array for a pointer, a Python or
            NumPy number for a value. Pending arrays are computed first. Python numbers are converted to the type of the
            parameter.
        shared_mem : int
            Size in bytes of the parameter in local memory.

        Raises
        ------
        TypeError
            The number of arguments is wrong, an argument does not fit its parameter, or an extent is not an integer.
        ValueError
            An array is not C-contiguous, or it is read-only and its pointer is not const. Or an extent is wrong, or the
            arrays are on two devices.
        RuntimeError
            The source does not compile. The message is the compiler's.
        """
        groups, local = _launch_sizes(self.name, grid, block)
        passed = [p for p in self._source.parameters if p.space != "local"]
        if len(args) != len(passed):
            raise TypeError(f"kernel {self.name!r} takes {len(passed)} arguments: {len(args)} were given")
        if bool(shared_mem) != (len(passed) < len(self._source.parameters)) or shared_mem < 0:
            raise ValueError(
                f"kernel {self.name!r}: shared_mem= tells the bytes of a parameter in local memory, where there is one"
            )
        device = ufunc_calls.device_of_operands(tuple(args))
        max_work_items = device.capabilities.max_work_group
        if math.prod(local) > max_work_items:
            raise ValueError(
                f"kernel {self.name!r}: {device} takes up to {max_work_items} work-items in a block, not {block}"
            )
        values = [self._argument(p, value) for p, value in zip(passed, args, strict=True)]
        if all(groups):
            launchers.snippet_raw.run_raw(device, self._source, groups, local, values, int(shared_mem))

    def _argument(self, p: launchers.snippet_raw.Parameter, value: Any) -> Node | np.generic:
        label = f"kernel {self.name!r}: {p.name}"
        if p.space:
            return _pointer_operand(label, p, value)
        numpy_type = _NUMPY_TYPES.get(type(value))
        if numpy_type is None and not is_numpy_scalar(value):
            raise TypeError(f"{label} is passed by value: a number is wanted, not {type(value).__name__}")
        if p.dtype is None:
            return value if numpy_type is None else numpy_type(value)
        expected = np.dtype(p.dtype)
        if numpy_type is None and value.dtype != expected:
            raise TypeError(f"{label} is {expected}, and {value.dtype} was given; Python's numbers take its type")
        try:
            return expected.type(value)
        except (TypeError, OverflowError) as error:
            raise type(error)(f"{label} is {expected}, which does not hold {value!r}") from None


class RawModule:
    """Define several kernels in one source.

    Parameters
    ----------
    code : str
        OpenCL C.
    options : sequence of str
        Definitions of macros: ``('-DN=4',)``.

    Raises
    ------
    ValueError
        An option is unknown.
    TypeError
        `code` is not a string.

    See Also
    --------
    RawKernel

    Examples
    --------
    >>> import clarray
    >>> module = clarray.RawModule(code='''
    ...     kernel void twice(global int *x) { x[get_global_id(0)] *= STEPS; }
    ...     kernel void next(global int *x) { x[get_global_id(0)] += 1; }''', options=('-DSTEPS=2',))
    >>> x = clarray.arange(3, dtype='int32')
    >>> module.get_function('twice')((3,), (1,), (x,))
    >>> module.get_function('next')((3,), (1,), (x,))
    >>> x.tolist()
    [1, 3, 5]
    """

    def __init__(self, *, code: str, options: Sequence[str] = ()) -> None:
        launchers.snippet_raw.macros(options)
        self.code = _checked_text(code)
        self.options = tuple(options)
        self._kernels: dict[str, RawKernel] = {}

    def get_function(self, name: str) -> RawKernel:
        """Return a kernel by its name.

        Parameters
        ----------
        name : str

        Returns
        -------
        RawKernel

        Raises
        ------
        ValueError
            The source has no such kernel.

        Examples
        --------
        >>> import clarray
        >>> module = clarray.RawModule(code="kernel void next(global int *x) { x[get_global_id(0)] += 1; }")
        >>> module.get_function("next")
        <RawKernel next(global int *x)>
        """
        kernel = self._kernels.get(name)
        return kernel or self._kernels.setdefault(name, RawKernel(self.code, name, self.options))


def _checked_text(code: Any) -> str:
    if not isinstance(code, str):
        raise TypeError(f"code must be a string of OpenCL C, not {type(code).__name__}")
    return code


def _launch_sizes(name: str, grid: Any, block: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the numbers of work-groups and of work-items in a group, padded to the same number of dimensions."""
    both_sizes = []
    for argument, lengths in (("grid", grid), ("block", block)):
        sizes = tuple(map(as_count, lengths)) if isinstance(lengths, tuple | list) else (as_count(lengths),)
        minimum = 0 if argument == "grid" else 1
        if not 1 <= len(sizes) <= _MAX_DIMENSIONS or min(sizes) < minimum:
            raise ValueError(
                f"kernel {name!r}: {argument} must be one to three numbers from {minimum} on, not {lengths!r}"
            )
        both_sizes.append(sizes)
    if math.prod(both_sizes[0]) * math.prod(both_sizes[1]) >= TOO_MANY_WORK_ITEMS:
        raise ValueError(
            f"kernel {name!r}: a grid of {grid!r} groups of {block!r} has 2**48 work-items or more, which no device "
            "computes in an hour"
        )
    ndim = max(map(len, both_sizes))
    groups, local = (sizes + (1,) * (ndim - len(sizes)) for sizes in both_sizes)
    return groups, local


def _pointer_operand(label: str, p: launchers.snippet_raw.Parameter, value: Any) -> Node:
    if not isinstance(value, DeviceArray):
        raise TypeError(f"{label} is a pointer: an array of clarray's is wanted, not {type(value).__name__}")
    pointed_dtypes = p.pointed
    if pointed_dtypes is not None and value.dtype.name not in pointed_dtypes:
        raise TypeError(
            f"{label} points to {p.type}, and the array is {value.dtype}: convert it with astype, or look at it as "
            "another dtype with view"
        )
    node = evaluate(value._node)
    if not node.contiguous:
        raise ValueError(
            f"{label}: the array of shape {value.shape} and strides {value.strides} is not C-contiguous, and a kernel "
            "sees memory as it lies; pass clarray.ascontiguousarray(x), or the x.T that is"
        )
    if not p.const:
        value.check_writeable(f"{label} is read-only, and its pointer is not const")
    return node
