"""Equations and inverses of tensors, reshaped to matrices."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray
from clarray._core.ufunc_calls import device_of_operands
from clarray._engine.speedups import captured
from clarray.linalg import on_device
from clarray.linalg.host_lapack import on_host

__all__ = ["tensorinv", "tensorsolve"]


@captured(operands=2)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> DeviceArray:
    """Solve ``tensordot(a, x, x.ndim) = b``.

    Parameters
    ----------
    a : array_like
        Has the shape ``b.shape + x.shape``. Both parts of the shape have the same number of elements.
    b : array_like
    axes : sequence of int, optional
        Axes of `a` that are moved to its end first.

    Returns
    -------
    DeviceArray
        `x`, in the shape of the last axes of `a`.

    Raises
    ------
    LinAlgError
        The parts do not have the same number of elements, or there is no unique solution.

    Examples
    --------
    >>> import clarray
    >>> a = 2 * clarray.eye(4).reshape(2, 2, 2, 2)
    >>> clarray.linalg.tensorsolve(a, [[2.0, 4.0], [6.0, 8.0]]).round(6).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    shape = list(np.shape(a))
    moved = [] if axes is None else list(axes)
    order = [axis for axis in range(len(shape)) if axis not in moved] + moved
    # NumPy raises the errors for other axes.
    if all(isinstance(axis, int | np.integer) for axis in order) and sorted(order) == list(range(len(shape))):
        solution_shape = tuple(shape[axis] for axis in order)[np.ndim(b) :]
        if prod(solution_shape) == np.size(b) and prod(shape) == prod(solution_shape) ** 2:
            device = device_of_operands((a, b))
            matrix = as_array(a, device).transpose(order).reshape(prod(solution_shape), prod(solution_shape))
            solution = on_device.solve(matrix, as_array(b, device).ravel())
            if solution is not None:
                return solution.reshape(solution_shape)
    solution = on_host("tensorsolve", (a, b), axes)
    return solution


@captured(operands=1)
def tensorinv(a: Any, ind: int = 2) -> DeviceArray:
    """Compute the inverse of a tensor with respect to `tensordot`.

    Parameters
    ----------
    a : array_like
        Its first `ind` axes have as many elements as its other axes.
    ind : int
        Number of the first axes, at least 1.

    Returns
    -------
    DeviceArray
        Has the shape ``a.shape[ind:] + a.shape[:ind]``.

    Raises
    ------
    LinAlgError
        The parts do not have the same number of elements, or the tensor is singular.

    Examples
    --------
    >>> import clarray
    >>> a = 2 * clarray.eye(4).reshape(2, 2, 4)
    >>> inverse = clarray.linalg.tensorinv(a)
    >>> inverse.shape, clarray.tensordot(inverse, [[2.0, 4.0], [6.0, 8.0]], 2).round(6).tolist()
    ((4, 2, 2), [1.0, 2.0, 3.0, 4.0])
    """
    shape = np.shape(a)
    if isinstance(ind, int) and ind > 0 and prod(shape[:ind]) == prod(shape[ind:]):
        array = as_array(a, device_of_operands((a,)))
        inverse = on_device.inv(array.reshape(prod(shape[:ind]), prod(shape[ind:])))
        if inverse is not None:
            return inverse.reshape(*shape[ind:], *shape[:ind])
    inverse = on_host("tensorinv", (a,), ind)
    return inverse
