"""The libraries that are measured, each behind the same few names, whichever can be imported.

A peer's `xp` holds what operations call: asarray, exp, log, sin, and the functions in `says`.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable
from importlib import metadata
from types import SimpleNamespace
from typing import Any

import numpy as np

from operations import Operation


def first(result: Any) -> Any:
    """The array that several results are compared by."""
    return result[0] if isinstance(result, tuple | list) else result


class Peer:
    """NumPy itself, and what the others have in common with it."""

    name = "numpy"

    def __init__(self, device: Any) -> None:
        self.module = importlib.import_module(self.name)
        self.version = getattr(self.module, "__version__", "")
        self.xp: Any = self.module

    def upload(self, host: np.ndarray) -> Any:
        """Give the peer's own array of these values."""
        return host

    def finish(self, result: Any) -> None:
        """Wait until the result is there."""

    def host(self, result: Any) -> np.ndarray:
        """Give the result, the first of several, as a NumPy array."""
        return np.asarray(first(result))

    def call(self, operation: Operation, inputs: list[Any]) -> Callable[[], Any] | None:
        """Give the operation as this peer runs it, or None where it cannot."""
        run = operation.says.get(self.name, operation.run)
        return None if run is None else functools.partial(run, self.xp, *inputs)


class Clarray(Peer):
    name = "clarray"

    def upload(self, host: np.ndarray) -> Any:
        # Memory of its own: what shares NumPy's is evaluated at each call and does not fuse.
        return self.module.array(host)

    def finish(self, result: Any) -> None:
        for value in result if isinstance(result, tuple) else (result,):
            if isinstance(value, self.module.DeviceArray):  # an element may be NumPy's scalar
                value.evaluate()
        self.module.synchronize()

    def host(self, result: Any) -> np.ndarray:
        return self.module.asnumpy(first(result))


class Numexpr(Peer):
    name = "numexpr"

    def call(self, operation: Operation, inputs: list[Any]) -> Callable[[], Any] | None:
        expression = operation.says.get(self.name)
        if expression is None:
            return None
        names = dict(zip(operation.inputs, inputs, strict=True))
        return functools.partial(self.module.evaluate, expression, local_dict=names)


class Torch(Peer):
    name = "torch"

    def __init__(self, device: Any) -> None:
        super().__init__(device)
        torch = self.module
        self.on_gpu = device.capabilities.kind == "gpu" and torch.cuda.is_available()
        self.place = "cuda" if self.on_gpu else "cpu"
        self.xp = SimpleNamespace(**{**vars(torch), "asarray": self.upload})

    def upload(self, host: np.ndarray) -> Any:
        return self.module.from_numpy(host).to(self.place)

    def finish(self, result: Any) -> None:
        if self.on_gpu:
            self.module.cuda.synchronize()

    def host(self, result: Any) -> np.ndarray:
        result = first(result)
        return np.asarray(result.cpu() if hasattr(result, "cpu") else result)


class Jax(Peer):
    name = "jax"

    def __init__(self, device: Any) -> None:
        super().__init__(device)
        self.xp = importlib.import_module("jax.numpy")

    def upload(self, host: np.ndarray) -> Any:
        return self.xp.asarray(host)

    def finish(self, result: Any) -> None:
        if hasattr(result, "block_until_ready"):
            result.block_until_ready()

    def call(self, operation: Operation, inputs: list[Any]) -> Callable[[], Any] | None:
        run = operation.says.get(self.name, operation.run)
        if run is None or operation.scalar:
            return super().call(operation, inputs)
        return functools.partial(self.module.jit(functools.partial(run, self.xp)), *inputs)


class Pyopencl(Peer):
    """pyopencl.array on the OpenCL device that clarray uses."""

    name = "pyopencl"

    def __init__(self, device: Any) -> None:
        super().__init__(device)
        cl = self.module
        array, clmath = (importlib.import_module(f"pyopencl.{m}") for m in ("array", "clmath"))
        what = device.capabilities
        same = [d for p in cl.get_platforms() for d in p.get_devices() if d.name.strip() == what.name.strip()]
        if not same:
            raise ImportError(f"pyopencl shows no device named {what.name}")
        self.queue = cl.CommandQueue(cl.Context(same[-1:]))
        self.array = array
        self.xp = SimpleNamespace(
            asarray=self.upload,
            sum=array.sum,
            max=array.max,
            exp=clmath.exp,
            log=clmath.log,
            sin=clmath.sin,
        )

    def upload(self, host: np.ndarray) -> Any:
        return self.array.to_device(self.queue, host)

    def finish(self, result: Any) -> None:
        self.queue.finish()

    def host(self, result: Any) -> np.ndarray:
        return np.asarray(result.get() if hasattr(result, "get") else result)

    def copy_seconds(self, host: np.ndarray) -> Callable[[], None]:
        """Give a copy from buffer to buffer by the driver itself."""
        source, target = self.upload(host), self.array.empty(self.queue, host.shape, host.dtype)

        def copy() -> None:
            self.module.enqueue_copy(self.queue, target.data, source.data)
            self.queue.finish()

        return copy


class Cupy(Peer):
    name = "cupy"

    def upload(self, host: np.ndarray) -> Any:
        return self.module.asarray(host)

    def finish(self, result: Any) -> None:
        self.module.cuda.get_current_stream().synchronize()

    def host(self, result: Any) -> np.ndarray:
        return self.module.asnumpy(first(result))


class Scipy(Peer):
    """Functions that a row names; a transform's on as many threads as the machine has."""

    name = "scipy"

    def __init__(self, device: Any) -> None:
        super().__init__(device)
        self.xp = SimpleNamespace(fft=importlib.import_module("scipy.fft"), workers=os.cpu_count())

    def call(self, operation: Operation, inputs: list[Any]) -> Callable[[], Any] | None:
        return super().call(operation, inputs) if self.name in operation.says else None


class Reikna(Pyopencl):
    """Fourier transforms of complex numbers: of a row it is told the axes."""

    def __init__(self, device: Any) -> None:
        self.cluda, self.fft = (importlib.import_module(f"reikna.{m}") for m in ("cluda", "fft"))
        self.name = "pyopencl"  # whose device and arrays it has
        super().__init__(device)
        self.name, self.version = "reikna", metadata.version("reikna")
        self.thread = self.cluda.ocl_api().Thread(self.queue)

    def upload(self, host: np.ndarray) -> Any:
        return self.thread.to_device(host)

    def call(self, operation: Operation, inputs: list[Any]) -> Callable[[], Any] | None:
        axes = operation.says.get("reikna")
        if axes is None:
            return None
        (given,) = inputs
        plan = self.fft.FFT(given, axes=axes).compile(self.thread)

        def run() -> Any:
            made = self.thread.array(given.shape, given.dtype)
            plan(made, given)
            return made

        return run


class Pyvkfft(Pyopencl):
    """Fourier transforms by VkFFT: of a row it is told the axes."""

    def __init__(self, device: Any) -> None:
        self.bindings = importlib.import_module("pyvkfft.opencl")
        self.name = "pyopencl"
        super().__init__(device)
        self.name, self.version = "pyvkfft", metadata.version("pyvkfft")

    def call(self, operation: Operation, inputs: list[Any]) -> Callable[[], Any] | None:
        axes = operation.says.get("pyvkfft")
        if axes is None:
            return None
        (given,) = inputs
        real = given.dtype.kind == "f"
        shape = (*given.shape[:-1], given.shape[-1] // 2 + 1) if real else given.shape
        dtype = np.result_type(given.dtype, np.complex64)
        plan = self.bindings.VkFFTApp(given.shape, given.dtype, self.queue, inplace=False, r2c=real, axes=axes)

        def run() -> Any:
            return plan.fft(given, self.array.empty(self.queue, shape, dtype))

        return run


KINDS: dict[str, type[Peer]] = {
    **{kind.name: kind for kind in (Clarray, Peer, Scipy, Numexpr, Torch, Jax, Pyopencl, Cupy)},
    "reikna": Reikna,
    "pyvkfft": Pyvkfft,
}


def importable(names: list[str], device: Any) -> tuple[list[Peer], dict[str, str]]:
    """Give the peers that can be used here, and why each of the others cannot."""
    found, missing = [], {}
    for name in names:
        try:
            found.append(KINDS[name](device))
        except KeyError:
            raise SystemExit(f"no peer is named {name!r}; there are {', '.join(KINDS)}") from None
        except Exception as error:  # a broken peer must not keep the others from being measured
            missing[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    return found, missing
