"""Attach operators, methods and protocols to DeviceArray: functions of the modules of lower rank.

NumPy's chapters are built on DeviceArray, so its methods, which are built on the chapters, are attached afterwards. A
method with the signature of a function is the function. `clarray._api.ndarray_methods` has the other methods.
"""

from __future__ import annotations

import pickle
from types import FunctionType, GenericAlias, ModuleType
from typing import Any

import numpy as np

from clarray._api import dlpack, interactive, ndarray_methods, notebook, protocols
from clarray._api.explain import explain
from clarray._api.operator_table import operator_methods
from clarray._api.operators import short_calls
from clarray._api.small_functions import as_method
from clarray._core import construction, conversion, creation, layout_flags, pickling, printing, reinterpreting
from clarray._core.device_array import DeviceArray, is_scalar, preserve_scalars, view_as_subclass
from clarray._core.host_fallback import method_with_host_fallback
from clarray._core.numbers import SCALAR_ATTRIBUTES
from clarray._core.own_frames import boundary, hide_own_frames
from clarray._core.public_names import publish
from clarray._engine.speedups import accelerated, native
from clarray._numpy.creation import files
from clarray._numpy.indexing import gathering, masking, selecting, subscripts
from clarray._numpy.indexing.flat_iterator import flatiter
from clarray._numpy.manipulation import repeating, shapes
from clarray._numpy.products import products
from clarray._numpy.reduction import moments, reductions, scans
from clarray._numpy.sorting import sorting

__all__: list[str] = []

# Methods of Python's and NumPy's protocols ----------------------------------------------------------


@preserve_scalars
def __copy__(self: DeviceArray) -> DeviceArray:
    return creation.copy(self, "K")


@preserve_scalars
def __deepcopy__(self: DeviceArray, memo: Any) -> DeviceArray:
    return creation.copy(self, "K")


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
    return bytes(self.get())  # a 0-d array of integers gives a number of zeros, as Python's integers do


def __repr__(self: DeviceArray) -> str:
    if is_scalar(self):
        return repr(conversion.numpy_scalar(self._node))
    return printing.array_repr(self)


def __str__(self: DeviceArray) -> str:
    if is_scalar(self):
        return str(conversion.numpy_scalar(self._node))
    return printing.array_str(self)


@accelerated
def __array_ufunc__(self: DeviceArray, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    if not kwargs and method == "__call__":  # the most frequent calls
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
    array = construction.construct(shape, dtype, buffer, offset, strides, order, device)
    return array if cls is DeviceArray else view_as_subclass(array, cls, None)


def __reduce__(self: DeviceArray) -> Any:
    if is_scalar(self):
        return conversion.numpy_scalar(self._node).__reduce__()
    return protocols._rebuild, (conversion.pickled_array(self),)


def __reduce_ex__(self: DeviceArray, protocol: Any, /) -> Any:
    if int(protocol) < 5 or type(self).__reduce__ is not DeviceArray.__reduce__:  # a subclass pickles itself
        return self.__reduce__()
    if is_scalar(self):
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
    "compress": ndarray_methods.compress,
    "nonzero": masking.nonzero,
    "take": gathering.take,
    "put": ndarray_methods.put,
    "choose": ndarray_methods.choose,
    "sort": sorting.sort_in_place,
    "argsort": sorting.argsort,
    "partition": sorting.partition_in_place,
    "argpartition": sorting.argpartition,
    "searchsorted": sorting.searchsorted,
    "dot": products.dot,
    "trace": products.trace,
    "clip": ndarray_methods.clip,
    "round": selecting.round,
    "conj": ndarray_methods.conj,
    "conjugate": ndarray_methods.conj,
    "repeat": repeating.repeat,
    # shape and memory
    "reshape": ndarray_methods.reshape,
    "ravel": shapes.ravel,
    "flatten": shapes.flatten,
    "transpose": ndarray_methods.transpose,
    "swapaxes": shapes.swapaxes,
    "squeeze": shapes.squeeze,
    "diagonal": shapes.diagonal,
    "copy": ndarray_methods.copy,
    "astype": conversion.astype,
    "fill": ndarray_methods.fill,
    "view": reinterpreting.view,
    "getfield": reinterpreting.getfield,
    "setfield": ndarray_methods.setfield,
    "byteswap": reinterpreting.byteswap,
    "resize": ndarray_methods.resize,
    "setflags": layout_flags.setflags,
    "to_device": ndarray_methods.to_device,
    # to the host
    "get": conversion.asnumpy,
    "set": ndarray_methods.set_from_host,
    "to_numpy": ndarray_methods.to_numpy,
    "item": conversion.item,
    "tolist": ndarray_methods.tolist,
    "tobytes": ndarray_methods.tobytes,
    "tofile": files.tofile,
    "dump": files.dump,
    "dumps": ndarray_methods.dumps,
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
    "__hash__": conversion.scalar_hash,
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
    "__dlpack_device__": dlpack.dlpack_device,
    "__jax_array__": dlpack.to_jax,
}

# Properties -----------------------------------------------------------------------------------------


def _data(self: DeviceArray) -> memoryview:
    host: Any = conversion.asnumpy(self)  # before Python 3.12 no ndarray is a Buffer
    return memoryview(host).toreadonly()


def _transposed(self: DeviceArray) -> DeviceArray:
    return self if is_scalar(self) else shapes.transpose(self)


def _set_flat(self: DeviceArray, value: Any) -> None:
    flatiter(self)[...] = value


_PROPERTIES: dict[str, tuple[Any, Any, str]] = {
    "T": (
        _transposed,
        None,
        """A view with the axes in reverse order.

        Examples
        --------
        >>> import clarray
        >>> clarray.asarray([[1, 2], [3, 4]]).T.tolist()
        [[1, 3], [2, 4]]
        """,
    ),
    "mT": (
        shapes.matrix_transpose,
        None,
        """A view with the last two axes exchanged.

        Examples
        --------
        >>> import clarray
        >>> clarray.zeros((5, 2, 3)).mT.shape
        (5, 3, 2)
        """,
    ),
    "real": (
        shapes.real,
        shapes.set_real,
        """The real parts: a view of a complex array, or the array itself if it is not complex. Can be set.

        Examples
        --------
        >>> import clarray
        >>> clarray.asarray([1 + 2j, 3 + 4j]).real
        array([1., 3.])
        """,
    ),
    "imag": (
        shapes.imag,
        shapes.set_imag,
        """The imaginary parts: a view of a complex array, which can be set, or read-only zeros if it is not complex.

        Examples
        --------
        >>> import clarray
        >>> clarray.asarray([1 + 2j, 3 + 4j]).imag
        array([2., 4.])
        """,
    ),
    "flat": (
        flatiter,
        _set_flat,
        """A view of the elements along one axis in C order, to index, to write and to iterate over.

        Examples
        --------
        >>> import clarray
        >>> x = clarray.asarray([[1, 2], [3, 4]])
        >>> x.flat[1:3] = 0
        >>> x.tolist()
        [[1, 0], [0, 4]]
        """,
    ),
    "flags": (
        layout_flags.Flags,
        None,
        """The memory layout, and whether the elements may be written. See `numpy.ndarray.flags`.

        Examples
        --------
        >>> import clarray
        >>> flags = clarray.zeros((2, 3)).T.flags
        >>> flags.c_contiguous, flags.f_contiguous, flags.writeable
        (False, True, True)
        """,
    ),
    "data": (
        _data,
        None,
        """A copy of the elements on the host, as a read-only memoryview.

        Examples
        --------
        >>> import clarray
        >>> clarray.asarray([[1, 2], [3, 4]]).data.tolist()
        [[1, 2], [3, 4]]
        """,
    ),
    "__array_interface__": (conversion.array_interface, None, conversion.array_interface.__doc__ or ""),
}


_DEPEND_ON_CALLER = frozenset(
    ("__array__", "__array_interface__")
)  # read the frame of their caller, so no wrapper may come between

# Calls of these take less than a microsecond, which a boundary would slow down. They hide frames themselves.
_WITHOUT_BOUNDARY = frozenset(
    (
        *("__neg__", "__pos__", "__abs__", "__invert__", "__pow__", "__ipow__", "__matmul__"),
        *("sum", "prod", "max", "min", "any", "all", "copy", "conj", "conjugate"),
        "__iter__",
    )
)


def _with_boundary(name: str, method: Any) -> Any:
    """Wrap a method: its errors show no frames of clarray's, and NumPy computes a call that raises `HostOnly`."""
    without = name in _DEPEND_ON_CALLER or (native is not None and name in _WITHOUT_BOUNDARY)
    if without or isinstance(method, staticmethod | classmethod):
        return method
    if hasattr(np.ndarray, name) and not name.startswith("__"):
        return method_with_host_fallback(name, method)
    return boundary(method) if type(method) is FunctionType else method


def attached() -> dict[str, Any]:
    """Return the functions and properties that `DeviceArray` gets from other modules."""
    attributes: dict[str, Any] = operator_methods()
    attributes |= {name: as_method(name, function) for name, function in _METHODS.items()}
    attributes = {name: _with_boundary(name, method) for name, method in attributes.items()}
    for name, (read, write, text) in _PROPERTIES.items():
        attributes[name] = property(_with_boundary(name, read), write and boundary(write), doc=text)
    return attributes | SCALAR_ATTRIBUTES


for _name, _attribute in attached().items():
    setattr(DeviceArray, _name, _attribute)
    if not isinstance(_attribute, property | classmethod | staticmethod):
        publish(_attribute, "clarray", f"DeviceArray.{_name}")
for _name, _write in {
    "shape": construction.set_shape,
    "dtype": construction.set_dtype,
    "strides": construction.set_strides,
}.items():
    setattr(DeviceArray, _name, vars(DeviceArray)[_name].setter(boundary(_write)))


def namespace_methods(namespace: ModuleType) -> dict[str, Any]:
    """Return the methods that look up clarray's functions in `namespace`."""

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
    """Attach the methods that look up clarray's functions in `namespace`, which is clarray."""
    for name, function in namespace_methods(namespace).items():
        setattr(DeviceArray, name, function)
        publish(function, "clarray", f"DeviceArray.{name}")
