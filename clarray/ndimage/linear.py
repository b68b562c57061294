"""Filters that weigh and sum: correlation and convolution."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray
from clarray._core.host_data import device_dtype
from clarray._core.ufunc_calls import host_numbers
from clarray._engine.algorithms import launchers
from clarray._engine.algorithms.stencil.plan import EVEN, LINE, ODD, TABLE
from clarray.ndimage import arguments
from clarray.ndimage.arguments import Boundary, Image, Pass, Target, per_axis, resolve_mode, resolve_target

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_EPSILON = np.finfo(np.float64).eps  # SciPy's tolerance for weights of zero and for symmetric weights


def _exact_in_float32(dtype: np.dtype, weights: np.ndarray, cval: Any) -> bool:
    """Return whether every partial sum, in any order, is an integer that float32 represents exactly."""
    if dtype.kind not in "biu" or dtype.itemsize > 2:
        return False
    largest = max(1 if dtype.kind == "b" else 2 ** (8 * dtype.itemsize), abs(cval))
    total = float(np.abs(weights).sum()) * largest
    return total < 2**24 and float(cval).is_integer() and bool((weights == np.rint(weights)).all())


def _work_dtype(image: Image, weights: np.ndarray, cval: Any) -> np.dtype:
    """Return the dtype of the computation of a weighted sum: SciPy's double, or float32 if that is enough.

    SciPy truncates its double to an integer output. So integer sums are computed in double and in SciPy's order, unless
    every partial sum is an integer.
    """
    narrow = image.dtype.itemsize <= 2 or image.dtype == _FLOAT32
    narrow_output = image.output.kind == "f" and image.output.itemsize <= 4
    if (narrow and narrow_output) or _exact_in_float32(image.dtype, weights, cval):
        return _FLOAT32
    return device_dtype(_FLOAT64, image.device)


def _symmetry(weights: np.ndarray) -> str:
    """Return the form of the sum that SciPy uses for a line of weights: even, odd or neither."""
    if weights.size % 2:
        if (np.abs(weights - weights[::-1]) <= _EPSILON).all():
            return EVEN
        if (np.abs(weights + weights[::-1]) <= _EPSILON).all():
            return ODD
    return LINE


class Line(NamedTuple):
    """Weights along one axis. The weighted sums are divided by the divisor."""

    axis: int
    weights: np.ndarray
    mode: Any
    origin: int = 0
    divisor: float | None = None


def line_pass(image: Image, line: Line, cval: Any) -> Pass:
    """Return the pass of a line of weights. Equal lines share one cached pass, and so its cached launch."""
    weights = np.ascontiguousarray(line.weights, np.float64).tobytes()
    number = cval if isinstance(cval, int) else float(cval)
    cached = _build_line_pass(
        image, weights, line.axis, int(line.origin), line.divisor, resolve_mode(line.mode), number
    )
    return cached.with_zero_sign(number)


@lru_cache(maxsize=1024)
def _build_line_pass(
    image: Image, line: bytes, axis: int, origin: int, divisor: float | None, mode: str, cval: Any
) -> Pass:
    weights = np.frombuffer(line)
    taps = weights.size
    low = -(taps // 2 + origin)
    spans = tuple((low, low + taps - 1) if a == axis else (0, 0) for a in range(image.ndim))
    work: np.dtype
    integral = image.output.kind != "f" and image.dtype.kind != "f"
    if divisor is not None and integral and not image.device.capabilities.fp64:
        work = np.dtype(np.int64)  # gives SciPy's quotient as long as its sums have at most 53 bits
    else:
        scaled = weights if divisor is None else weights / divisor  # sums may be integers, means are not
        work = _work_dtype(image, scaled, cval)
    exact = work.kind == "i" or work == _FLOAT64
    form = _symmetry(weights) if exact and divisor is None else LINE
    if divisor is not None and not exact:
        weights, divisor = weights / divisor, None
    window = launchers.stencil.Window(
        form=form,
        spans=spans,
        shifts=(),
        weights=weights.astype(work),
        taps=taps,
        axis=axis,
        rank=0,
        divisor=divisor,
        exact=exact,
    )
    return Pass(window, tuple(mode if a == axis else "nearest" for a in range(image.ndim)), cval, work)


def correlate1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> DeviceArray:
    """Correlate with weights along one axis: each result is the weighted sum of its neighbours.

    Parameters
    ----------
    input : array_like
    weights : (N,) array_like
    axis : int
    output : DeviceArray or dtype, optional
        Array that receives the result, or the dtype of the result. None takes the dtype of the input.
    mode : {'reflect', 'constant', 'nearest', 'mirror', 'wrap', 'grid-mirror', 'grid-constant', 'grid-wrap'}
        Values beyond the ends of the axis; see Notes.
    cval : scalar
        Value beyond the ends with mode 'constant'.
    origin : int
        Shift of the window. 0 centres it, and a positive number moves it to lower indices.

    Returns
    -------
    DeviceArray
        Has the same shape as the input.

    Raises
    ------
    RuntimeError
        There are no weights, or no such mode.
    ValueError
        The origin lies outside the window.

    Notes
    -----
    An axis of the values ``a b c d`` continues like this: 'reflect' ``d c b a | a b c d | d c b a``, 'mirror'
    ``d c b | a b c d | c b a``, 'nearest' ``a a a | a b c d | d d d``, 'wrap' ``b c d | a b c d | a b c``.
    'grid-mirror' is another name for 'reflect', 'grid-constant' for 'constant', and 'grid-wrap' for 'wrap'.

    Examples
    --------
    >>> import clarray
    >>> clarray.ndimage.correlate1d(clarray.asarray([1, 2, 4]), [-1, 0, 1], mode="nearest").tolist()
    [1, 3, 2]
    """
    x = as_array(input)
    w = host_numbers(weights, x)
    if x.dtype.kind == "c" or w.dtype.kind == "c":
        if w.dtype.kind == "c":
            w = w.conj().astype(np.complex128, copy=False)
        target = resolve_target(output, x, complex_=True)
        return arguments.filter_complex(
            lambda part, real, dtype, c: correlate1d(part, real, axis, dtype, mode, c, origin), x, w, target, cval
        )
    target = resolve_target(output, x)
    w = np.asarray(w, np.float64)
    if w.ndim != 1 or w.size < 1:
        raise RuntimeError("no filter weights given")
    axis = normalize_axis_index(axis, x.ndim)
    _check_origin(origin, w.size, "len(weights)", "origin")
    image = Image(x.ndim, x.device, x.dtype, target.dtype)
    return arguments.run_passes(x, [line_pass(image, Line(axis, w, mode, origin), cval)], target)


def _check_origin(origin: int, size: int, extent_text: str, name: str) -> None:
    if not -(size // 2) <= origin <= (size - 1) // 2:
        raise ValueError(
            f"Invalid origin; origin must satisfy -({extent_text} // 2) <= {name} <= ({extent_text}-1) // 2"
        )


def convolve1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> DeviceArray:
    """Convolve with weights along one axis: `correlate1d` with the weights in reverse order.

    The parameters, the result and the errors are as in `correlate1d`. A positive `origin` moves the window to higher
    indices.

    Examples
    --------
    >>> import clarray
    >>> clarray.ndimage.convolve1d(clarray.asarray([0, 0, 1, 0, 0]), [1, 2, 3]).tolist()
    [0, 1, 2, 3, 0]
    """
    w = host_numbers(weights, input)[::-1]
    if w.dtype.kind == "c":
        w = w.conj()  # `correlate1d` conjugates the weights once more
    return correlate1d(input, w, axis, output, mode, cval, -origin - (1 - w.shape[0] % 2))


# Windows of any shape -----------------------------------------------------------------------------


def _correlate(
    input: Any, weights: Any, output: Any, boundary: Boundary, origin: Any, axes: Any, convolution: bool
) -> DeviceArray:
    mode, cval = boundary
    x = as_array(input)
    w = host_numbers(weights, x)
    if x.dtype.kind == "c" or w.dtype.kind == "c":
        if w.dtype.kind == "c" and not convolution:
            w = w.conj()
        target = resolve_target(output, x, complex_=True)
        return arguments.filter_complex(
            lambda part, real, dtype, c: _correlate(part, real, dtype, Boundary(mode, c), origin, axes, convolution),
            x,
            w,
            target,
            cval,
        )
    axes = arguments.resolve_axes(axes, x.ndim)
    w = np.asarray(w, np.float64)
    if w.ndim != len(axes) and len(axes) < x.ndim:
        raise RuntimeError(f"weights.ndim ({w.ndim}) must match len(axes) ({len(axes)})")
    w = expand_window(w, axes, x.ndim)
    origins = [0] * x.ndim
    for axis, o in zip(axes, per_axis(origin, len(axes)), strict=True):
        origins[axis] = o
    if w.ndim != x.ndim or 0 in w.shape:
        raise RuntimeError(f"weights.ndim ({w.ndim}) must match len(axes) ({len(axes)})")
    if convolution:
        w = np.flip(w)
        origins = [-o - (1 - n % 2) for o, n in zip(origins, w.shape, strict=True)]
    for o, n in zip(origins, w.shape, strict=True):
        _check_origin(o, n, "weights.shape[k]", "origin[k]")
    target = resolve_target(output, x)
    if not isinstance(mode, str) and isinstance(mode, Iterable):
        raise RuntimeError("A sequence of modes is not supported")
    modes = (resolve_mode(mode),) * x.ndim
    return arguments.run_passes(x, [window_pass(x, w, origins, target, modes, cval)], target)


def expand_window(w: np.ndarray, axes: tuple[int, ...], ndim: int) -> np.ndarray:
    """Expand a window over some axes to a window over all axes."""
    if len(axes) == ndim or w.ndim != len(axes):
        return w
    return np.expand_dims(w, tuple(a for a in range(ndim) if a not in axes))


def window_pass(
    x: DeviceArray, w: np.ndarray, origins: list[int], target: Target, modes: tuple[str, ...], cval: Any
) -> Pass:
    """Return the pass of a window of weights over all axes. As in SciPy, weights of zero are skipped."""
    image = Image(x.ndim, x.device, x.dtype, target.dtype)
    cells = np.ascontiguousarray(w, np.float64).tobytes()
    number = cval if isinstance(cval, int) else float(cval)
    return _build_window_pass(image, w.shape, cells, tuple(origins), modes, number).with_zero_sign(number)


@lru_cache(maxsize=256)
def _build_window_pass(
    image: Image, shape: tuple[int, ...], cells: bytes, origins: tuple[int, ...], modes: tuple[str, ...], cval: Any
) -> Pass:
    w = np.frombuffer(cells).reshape(shape)
    used = np.argwhere(np.abs(w) > _EPSILON)
    before = np.array([n // 2 + o for n, o in zip(shape, origins, strict=True)], int)
    shifts = used - before
    work = _work_dtype(image, w, cval)
    spans = tuple((int(s.min()), int(s.max())) if s.size else (0, 0) for s in shifts.T)
    taps = tuple(tuple(s) for s in shifts.tolist()) or ((0,) * w.ndim,)
    weights = w[tuple(used.T)] if len(used) else np.zeros(1)
    window = launchers.stencil.Window(
        form=TABLE, spans=spans, shifts=taps, weights=weights.astype(work), taps=len(taps), exact=work == _FLOAT64
    )
    return Pass(window, modes, cval, work)


def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> DeviceArray:
    """Correlate with a window of weights: each result is the weighted sum of its neighbours.

    Parameters
    ----------
    input : array_like
    weights : array_like
        As many axes as the input, or as `axes`.
    output, mode, cval
        As in `correlate1d`. All axes have one mode.
    origin : int or sequence of int
        Shift of the window along each axis.
    axes : int or tuple of int, optional
        Axes of the window. None takes all.

    Returns
    -------
    DeviceArray
        Has the same shape as the input.

    Raises
    ------
    RuntimeError
        The weights have another number of axes, or there is no such mode.
    ValueError
        An origin lies outside the window, or there are no such axes.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([[0, 0, 0], [0, 1, 0], [0, 0, 0]])
    >>> clarray.ndimage.correlate(x, [[1, 2, 3], [4, 5, 6], [7, 8, 9]]).tolist()
    [[9, 8, 7], [6, 5, 4], [3, 2, 1]]
    """
    return _correlate(input, weights, output, Boundary(mode, cval), origin, axes, False)


def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> DeviceArray:
    """Convolve with a window of weights: `correlate` with the weights in reverse order along each axis.

    The parameters, the result and the errors are as in `correlate`. A positive `origin` moves the window to higher
    indices.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([[0, 0, 0], [0, 1, 0], [0, 0, 0]])
    >>> clarray.ndimage.convolve(x, [[1, 2, 3], [4, 5, 6], [7, 8, 9]]).tolist()
    [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    """
    return _correlate(input, weights, output, Boundary(mode, cval), origin, axes, True)
