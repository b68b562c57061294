"""Names of NumPy, CuPy, SciPy, PyTorch and JAX that clarray lacks: why, and what to write instead."""

from __future__ import annotations

__all__ = ["LEFT_OUT", "absent", "has_advice"]

# Names of NumPy that clarray lacks.
LEFT_OUT = {"core": "numpy.core is private since NumPy 2"}

_PYTHONS = {"complex": "complex128", "float": "float64", "int": "int64", "object": "object_", "str": "str_"}
_SCIPYS = ("integrate", "interpolate", "optimize", "signal", "spatial", "stats")
_LARGE = "no device has numbers of more than 64 bits: use {}"
_FUSED = "expressions are fused and compiled without it"
_NO_GRADIENTS = "clarray computes no gradients"
_DEVICES = (
    "clarray.devices() lists devices, clarray.device(...) and clarray.set_device(...) choose one, and "
    "clarray.synchronize() waits; there are no streams"
)

_ADVICE: dict[str, str] = {
    **LEFT_OUT,
    # removed from NumPy
    "cumproduct": "NumPy has removed it: use clarray.cumprod",
    "in1d": "NumPy has removed it: use clarray.isin",
    "msort": "NumPy has removed it: use clarray.sort(x, axis=0)",
    "product": "NumPy has removed it: use clarray.prod",
    "row_stack": "NumPy has removed it: use clarray.vstack",
    "trapz": "NumPy has removed it: use clarray.trapezoid",
    **{name: f"NumPy has removed it: use Python's {name}, or clarray.{ours}" for name, ours in _PYTHONS.items()},
    # dtypes
    "bfloat16": "NumPy has no such dtype: use clarray.float16 or clarray.float32",
    "complex192": _LARGE.format("clarray.complex128"),
    "complex256": _LARGE.format("clarray.complex128"),
    "float96": _LARGE.format("clarray.float64"),
    "float128": _LARGE.format("clarray.float64"),
    # CuPy
    "cuda": _DEVICES,
    "cupyx": "use clarray.special, clarray.ndimage and clarray.add.at",
    "Device": _DEVICES,
    "Event": "with clarray.profile() as p: ... measures a block",
    "get_default_pinned_memory_pool": "clarray keeps no pinned memory",
    "memoize": "use functools.cache",
    "scatter_add": "use clarray.add.at(x, indices, values)",
    "scatter_max": "use clarray.maximum.at(x, indices, values)",
    "scatter_min": "use clarray.minimum.at(x, indices, values)",
    "Stream": "each device does in order what it is given: there are no streams",
    # SciPy
    "cumtrapz": "use scipy.integrate.cumulative_trapezoid(clarray.asnumpy(y))",
    "scipy": "clarray.special, clarray.ndimage, clarray.fft and clarray.linalg have functions of SciPy's",
    "sparse": "there are no sparse matrices on the device: scipy.sparse takes clarray.asnumpy(x)",
    **{name: f"scipy.{name} takes clarray.asnumpy(x)" for name in _SCIPYS},
    # PyTorch
    "cat": "use clarray.concatenate",
    "clamp": "use clarray.clip",
    "from_numpy": "use clarray.asarray",
    "no_grad": _NO_GRADIENTS,
    "permute": "use clarray.transpose",
    "scatter": "use clarray.put_along_axis",
    "sigmoid": "use clarray.special.expit",
    "tensor": "use clarray.array",
    "Tensor": "use clarray.DeviceArray",
    "topk": "use clarray.partition or clarray.argpartition",
    "unsqueeze": "use clarray.expand_dims",
    # JAX
    "Array": "use clarray.DeviceArray",
    "device_get": "use clarray.asnumpy(x)",
    "device_put": "use clarray.asarray(x, device=...)",
    "grad": _NO_GRADIENTS,
    "jit": _FUSED,
    "lax": "clarray.cumsum and its kin, and clarray.ScanKernel, go through elements one after another",
    "vmap": "use axes and broadcasting",
}


def has_advice(name: str) -> bool:
    """Return whether there is advice for a name that clarray lacks."""
    return name in _ADVICE


def absent(name: str, advice: str = "", module: str = "clarray") -> AttributeError:
    """Return the error for a name that a module of clarray lacks.

    Parameters
    ----------
    name : str
    advice : str, optional
        Advice for a name without its own advice.
    module : str, optional
    """
    known_advice = _ADVICE.get(name, advice) if module == "clarray" else advice
    return AttributeError(
        f"module {module!r} has no attribute {name!r}" + (f": {known_advice}" if known_advice else "")
    )
