"""DeviceArray's operators, methods and protocols: functions of the modules below, which here become its own.

The array itself stands at the bottom, and all of NumPy's chapters are built on it; so its methods come last. Where a
method has the function's signature it is the function; the others are written out here.
"""

from __future__ import annotations

import pickle
from types import FunctionType, GenericAlias, ModuleType
from typing import Any

import numpy as np

from clarray._api import dlpack, interactive, notebook, protocols
from clarray._api.explain import explain
from clarray._api.operator_table import operator_methods
from clarray._api.operators import short_calls
from clarray._api.small_functions import as_method
from clarray._core import construction, conversion, creation, layout_flags, pickling, printing, reinterpreting
from clarray._core.device_array import DeviceArray, is_number, seen_as
from clarray._core.host_fallback import method_with_host_fallback
from clarray._core.numbers import NUMBER_ATTRIBUTES
from clarray._core.own_frames import boundary, hide_own_frames
from clarray._engine.expr.view import check_order
from clarray._engine.speedups import accelerated, core
from clarray._numpy.creation import files
from clarray._numpy.indexing import gathering, masking, selecting, subscripts
from clarray._numpy.indexing.flat_iterator import flatiter
from clarray._numpy.manipulation import repeating, shapes
from clarray._numpy.products import products
from clarray._numpy.reduction import moments, reductions, scans
from clarray._numpy.sorting import sorting

__all__: list[str] = []

# Methods whose signature is not the function's ------------------------------------------------------


def reshape(self: DeviceArray, *shape: Any, order: str = "C", copy: bool | None = None) -> DeviceArray:
    """Another shape, as a view where possible; see `clarray.reshape`."""
    wanted = shape[0] if len(shape) == 1 else shape
    return shapes.reshape(self, wanted, order, copy=copy)


def transpose(self: DeviceArray, *axes: Any) -> DeviceArray:
    """Permuted axes, as a view."""
    wanted = axes[0] if len(axes) == 1 else (axes or None)
    return shapes.transpose(self, wanted)


def to_numpy(self: DeviceArray, dtype: Any = None, copy: bool = True) -> np.ndarray:
    """The values on the host, by the name that pandas, Polars and matplotlib know; always a copy. See `asnumpy`."""
    found = conversion.asnumpy(self)
    return found if dtype is None else found.astype(dtype, copy=False)


def set_from_host(self: DeviceArray, arr: Any) -> None:
    """Take the values of an ndarray of the same shape, by CuPy's name for ``x[...] = arr``."""
    if np.shape(arr) != self.shape:
        raise ValueError(f"shape mismatch: an array of {self.shape} takes no values of {np.shape(arr)}")
    subscripts.setitem(self, ..., arr)


def copy(self: DeviceArray, order: str = "C") -> DeviceArray:
    """A copy with memory of its own; a number, which nothing changes, is its own copy."""
    if not self._node.shape and is_number(self):
        return self
    return creation.copy(self, check_order(order))


def __copy__(self: DeviceArray) -> DeviceArray:
    return creation.copy(self, "K")


def __deepcopy__(self: DeviceArray, memo: Any) -> DeviceArray:
    return creation.copy(self, "K")


def fill(self: DeviceArray, value: Any) -> None:
    """Set every element to one number."""
    if np.ndim(value):  # NumPy says which error that is, or whether it is none
        cell = np.empty((), self.dtype)
        cell.fill(np.empty(value.shape) if isinstance(value, DeviceArray) else value)
        value = cell
    subscripts.setitem(self, ..., value)


def compress(self: DeviceArray, condition: Any, axis: Any = None, out: Any = None) -> DeviceArray:
    """The elements, or the slices along an axis, where a condition holds; see `clarray.compress`."""
    return masking.compress(condition, self, axis, out)


def put(self: DeviceArray, indices: Any, values: Any, mode: str = "raise") -> None:
    """Write values at positions that count all elements in C order; see `clarray.put`.

    Parameters
    ----------
    indices : array_like of int
    values : array_like
        Repeated where there are fewer than positions; of positions that repeat the last one counts.
    mode : {'raise', 'wrap', 'clip'}
        For positions out of bounds.
    """
    gathering.put(self, indices, values, mode)


def choose(self: DeviceArray, *choices: Any, out: Any = None, mode: str = "raise") -> DeviceArray:
    """What each element chooses of the choices, given one after another or as one sequence; see `clarray.choose`."""
    return selecting.choose(self, choices[0] if len(choices) == 1 else choices, out, mode)


def clip(self: DeviceArray, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> DeviceArray:
    """Values limited to an interval; see `clarray.clip`."""
    return selecting.clip(self, min, max, out, **kwargs)


def conj(self: DeviceArray) -> DeviceArray:
    """Complex conjugates; of real numbers the array itself."""
    array: Any = self
    return np.conjugate(array) if array.dtype.kind == "c" else array


def tolist(self: DeviceArray) -> Any:
    """Nested lists of Python scalars."""
    return conversion.asnumpy(self).tolist()


def tobytes(self: DeviceArray, order: Any = "C") -> bytes:
    """The elements' bytes, copied to the host."""
    if order in ("A", "a"):  # of the array, not of its copy, which lies closer
        order = "F" if self.flags.fnc else "C"
    return np.asarray(self).tobytes(order)


def dumps(self: DeviceArray) -> bytes:
    """The array's pickle."""
    return pickle.dumps(self)


def setfield(self: DeviceArray, val: Any, dtype: Any, offset: int = 0) -> None:
    """Write to the part of every element that `getfield` gives.

    Parameters
    ----------
    val : array_like
        Broadcast to the array's shape.
    dtype : dtype
        Of the part.
    offset : int, optional
        Where it begins in the element, in bytes.

    Raises
    ------
    ValueError
        The part lies outside the element, or where a device cannot read such elements.
    """
    subscripts.setitem(reinterpreting.getfield(self, dtype, offset), ..., val)


def resize(self: DeviceArray, *new_shape: Any, refcheck: bool = True) -> None:
    """Another shape and size in place, zeros at the end; views of the array keep the memory it had.

    Parameters
    ----------
    *new_shape : int, or sequence of int
    refcheck : bool, optional
        Accepted for NumPy's sake.

    Raises
    ------
    ValueError
        An extent is negative, or the array does not own its memory, or has gaps in it.
    """
    reinterpreting.resize(self, new_shape)


def to_device(self: DeviceArray, device: Any, /, *, stream: None = None) -> DeviceArray:
    """The array on another device, or itself where it is there; see the Array API standard.

    Parameters
    ----------
    device : Device, str or int
    stream : None

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        There is no such device, or a stream is given: clarray orders the work of a device itself.
    """
    if stream is not None:
        raise ValueError("stream must be None: clarray orders the work of a device itself")
    return creation.asarray(self, device=device)


def __delitem__(self: DeviceArray, key: Any) -> None:
    raise ValueError("cannot delete array elements")


def __contains__(self: DeviceArray, value: Any) -> bool:
    return bool((self == value).any())


@accelerated
def __float__(self: DeviceArray) -> float:
    return float(conversion.scalar(self, "float"))


def __int__(self: DeviceArray) -> int:
    return int(conversion.scalar(self, "int"))


def __complex__(self: DeviceArray) -> complex:
    return complex(conversion.scalar(self, "complex"))


def __bytes__(self: DeviceArray) -> bytes:
    return bytes(self.get())  # of a 0-d array of integers so many zeros, as Python makes of what is an index


def __repr__(self: DeviceArray) -> str:
    if is_number(self):
        return repr(conversion.numpy_scalar(self._node))
    return printing.array_repr(self)


def __str__(self: DeviceArray) -> str:
    if is_number(self):
        return str(conversion.numpy_scalar(self._node))
    return printing.array_str(self)


@accelerated
def __array_ufunc__(self: DeviceArray, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    if not kwargs and method == "__call__":  # what most calls are
        short = short_calls.get(ufunc)
        if short is not None and len(inputs) == ufunc.nin:
            if len(inputs) == 1:
                return short[0](inputs[0])
            a, b = inputs
            return short[0](a, b) if type(a) is DeviceArray else short[1](b, a)
    return protocols.array_ufunc(ufunc, method, inputs, kwargs)


def _new(
    cls: type,
    shape: Any,
    dtype: Any = float,
    buffer: Any = None,
    offset: int = 0,
    strides: Any = None,
    order: str | None = None,
    *,
    device: Any = None,
) -> Any:
    made = construction.construct(shape, dtype, buffer, offset, strides, order, device)
    return made if cls is DeviceArray else seen_as(made, cls, None)


def __reduce__(self: DeviceArray) -> Any:
    if is_number(self):
        return conversion.numpy_scalar(self._node).__reduce__()
    return protocols._rebuild, (conversion.portable(self),)


def __reduce_ex__(self: DeviceArray, protocol: Any, /) -> Any:
    if int(protocol) < 5 or type(self).__reduce__ is not DeviceArray.__reduce__:  # a subclass has its own way
        return self.__reduce__()
    if is_number(self):
        return conversion.numpy_scalar(self._node).__reduce_ex__(protocol)
    host, layout = pickling.outgoing(self)
    return protocols._adopt, (pickle.PickleBuffer(host), layout)  # type: ignore[arg-type] # in 3.11 no Buffer


_METHODS: dict[str, Any] = {
    # reductions and scans
    "sum": reductions.sum,
    "prod": reductions.prod,
    "max": reductions.max,
    "min": reductions.min,
    "any": reductions.any,
    "all": reductions.all,
    "mean": moments.mean,
    "var": moments.var,
    "std": moments.std,
    "argmax": reductions.argmax,
    "argmin": reductions.argmin,
    "cumsum": scans.cumsum,
    "cumprod": scans.cumprod,
    # choosing, sorting, products, values
    "compress": compress,
    "nonzero": masking.nonzero,
    "take": gathering.take,
    "put": put,
    "choose": choose,
    "sort": sorting.sort_in_place,
    "argsort": sorting.argsort,
    "partition": sorting.partition_in_place,
    "argpartition": sorting.argpartition,
    "searchsorted": sorting.searchsorted,
    "dot": products.dot,
    "trace": products.trace,
    "clip": clip,
    "round": selecting.round,
    "conj": conj,
    "conjugate": conj,
    "repeat": repeating.repeat,
    # shape and memory
    "reshape": reshape,
    "ravel": shapes.ravel,
    "flatten": shapes.flatten,
    "transpose": transpose,
    "swapaxes": shapes.swapaxes,
    "squeeze": shapes.squeeze,
    "diagonal": shapes.diagonal,
    "copy": copy,
    "astype": conversion.astype,
    "fill": fill,
    "view": reinterpreting.view,
    "getfield": reinterpreting.getfield,
    "setfield": setfield,
    "byteswap": reinterpreting.byteswap,
    "resize": resize,
    "setflags": layout_flags.setflags,
    "to_device": to_device,
    # to the host
    "get": conversion.asnumpy,
    "set": set_from_host,
    "to_numpy": to_numpy,
    "item": conversion.item,
    "tolist": tolist,
    "tobytes": tobytes,
    "tofile": files.tofile,
    "dump": files.dump,
    "dumps": dumps,
    "explain": explain,
    # Python's protocols
    "__getitem__": subscripts.getitem,
    "__setitem__": subscripts.setitem,
    "__delitem__": __delitem__,
    "__iter__": subscripts.iterate,
    "__contains__": __contains__,
    "__copy__": __copy__,
    "__deepcopy__": __deepcopy__,
    "__float__": __float__,
    "__int__": __int__,
    "__complex__": __complex__,
    "__bool__": conversion.truth,
    "__hash__": conversion.number_hash,
    "__index__": conversion.as_index,
    "__round__": conversion.round_scalar,
    "__format__": conversion.format_array,
    "__repr__": __repr__,
    "__str__": __str__,
    "__bytes__": __bytes__,
    "__reduce__": __reduce__,
    "__reduce_ex__": __reduce_ex__,
    "__new__": staticmethod(_new),
    "__class_getitem__": classmethod(GenericAlias),  # annotations such as ndarray[tuple[int, int], dtype]
    "_repr_inline_": printing.inline,
    "_repr_html_": notebook.html,
    "_repr_pretty_": interactive.pretty,
    # NumPy's, the Array API's, DLPack's, JAX's
    "__array__": conversion.to_ndarray,
    "__array_ufunc__": __array_ufunc__,
    "__dlpack__": dlpack.export,
    "__dlpack_device__": dlpack.place_of,
    "__jax_array__": dlpack.to_jax,
}

# Properties -----------------------------------------------------------------------------------------


def _data(self: DeviceArray) -> memoryview:
    """A copy of the elements on the host as a read-only memoryview; `clarray.asarray` shares memory."""
    host: Any = conversion.asnumpy(self)  # before Python 3.12 no ndarray is a Buffer
    return memoryview(host).toreadonly()


def _transposed(self: DeviceArray) -> DeviceArray:
    return self if is_number(self) else shapes.transpose(self)


def _set_flat(self: DeviceArray, value: Any) -> None:
    flatiter(self)[...] = value


_PROPERTIES: dict[str, tuple[Any, Any, str]] = {
    "T": (_transposed, None, "The transpose, as a view."),
    "mT": (shapes.matrix_transpose, None, "The transpose of the last two axes, as a view."),
    "real": (shapes.real, shapes.set_real, "The real part, as a view."),
    "imag": (shapes.imag, shapes.set_imag, "The imaginary part: a view, or of reals read-only zeros."),
    "flat": (flatiter, _set_flat, "The elements on one axis, in C order: to be indexed, written and gone through."),
    "flags": (layout_flags.Flags, None, "Memory layout and whether it may be written, as NumPy's ``flags``."),
    "data": (_data, None, _data.__doc__ or ""),
    "__array_interface__": (conversion.array_interface, None, conversion.array_interface.__doc__ or ""),
}


_ASK_THEIR_CALLER = frozenset(("__array__", "__array_interface__"))  # by its frame, which is the next

# Calls of these take less than a microsecond, so a boundary would be felt: they hide frames themselves, or show one.
_WITHOUT_BOUNDARY = frozenset(
    (
        *("__neg__", "__pos__", "__abs__", "__invert__", "__pow__", "__ipow__", "__matmul__"),
        *("sum", "prod", "max", "min", "any", "all", "copy", "conj", "conjugate"),
        "__iter__",
    )
)


def _with_boundary(name: str, method: Any) -> Any:
    """Return a method whose errors have no frames of clarray's, and that NumPy computes if it raises `HostOnly`."""
    without = name in _ASK_THEIR_CALLER or (core is not None and name in _WITHOUT_BOUNDARY)
    if without or isinstance(method, staticmethod | classmethod):
        return method
    if hasattr(np.ndarray, name) and not name.startswith("__"):
        return method_with_host_fallback(name, method)
    return boundary(method) if type(method) is FunctionType else method


def attached() -> dict[str, Any]:
    """What `DeviceArray` has beside its own: functions, and properties."""
    found: dict[str, Any] = operator_methods()
    found |= {name: as_method(name, function) for name, function in _METHODS.items()}
    found = {name: _with_boundary(name, method) for name, method in found.items()}
    for name, (read, write, text) in _PROPERTIES.items():
        found[name] = property(_with_boundary(name, read), write and boundary(write), doc=text)
    return found | NUMBER_ATTRIBUTES


for _name, _found in attached().items():
    setattr(DeviceArray, _name, _found)
for _name, _write in {
    "shape": construction.set_shape,
    "dtype": construction.set_dtype,
    "strides": construction.set_strides,
}.items():
    setattr(DeviceArray, _name, vars(DeviceArray)[_name].setter(boundary(_write)))


def of_namespace(namespace: ModuleType) -> dict[str, Any]:
    """The methods that look for clarray's functions, in `namespace`."""

    def __array_function__(self: DeviceArray, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        try:
            return protocols.array_function(self, func, types, args, kwargs, namespace)
        except Exception as error:
            hide_own_frames(error)
            raise

    def __array_namespace__(self: DeviceArray, *, api_version: str | None = None) -> ModuleType:
        protocols.check_version(api_version)
        return namespace

    return {"__array_function__": __array_function__, "__array_namespace__": __array_namespace__}


def attach_namespace(namespace: ModuleType) -> None:
    """Let arrays find their functions: `namespace` is clarray itself, which has them all."""
    for name, function in of_namespace(namespace).items():
        setattr(DeviceArray, name, function)
