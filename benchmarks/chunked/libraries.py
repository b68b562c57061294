"""The libraries whose arrays are chunks: how each makes, finishes and counts them, in the process of a worker."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import dask.array as da
import numpy as np
from distributed import Nanny

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Library:
    """NumPy, and what others do as it does."""

    name = "numpy"
    on_device = False

    @property
    def module(self) -> ModuleType:
        return importlib.import_module(self.name)

    def there(self) -> bool:
        return importlib.util.find_spec(self.name) is not None

    def environment(self, device: int | None, cores: int) -> dict[str, str]:
        """What a worker's process starts with: on a GPU the one it has, on a CPU the cores that it may use."""
        threads = {name: str(cores) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
        return threads | ({} if device is None else {"CUDA_VISIBLE_DEVICES": str(device)})

    def register(self) -> None:
        """Dask's tables of functions for chunks, which hold NumPy's and CuPy's already."""

    def nanny(self, device_limit: int | None) -> tuple[type, dict[str, Any]]:
        """Give who starts and watches a worker, and what it is told beside Dask's own options."""
        return Nanny, {}

    def random(self, seed: list[int], shape: tuple[int, ...], dtype: str) -> Any:
        """Uniform numbers below one, drawn where the chunk lies."""
        return self.module.random.default_rng(seed).random(shape, dtype=dtype)

    def evaluated(self, chunk: Any) -> Any:
        """Nothing is pending in an ndarray."""
        return chunk

    def finish(self) -> None:
        """Wait for the device."""

    def to_host(self, array: Any) -> np.ndarray:
        return np.asarray(array)

    def reset_peak(self) -> None:
        CLEAR.write_text("5")  # Linux: the process's high-water mark becomes what it has now

    def peak(self) -> int:
        """Bytes of the process's memory at most since `reset_peak`; on a device of its own, of the device's."""
        found = re.search(r"VmHWM:\s+(\d+) kB", STATUS.read_text())
        return int(found[1]) * 1024 if found else 0


class Cupy(Library):
    """CuPy's pool tells what it has taken."""

    name = "cupy"
    on_device = True

    def there(self) -> bool:
        try:
            return super().there() and self.module.cuda.runtime.getDeviceCount() > 0
        except Exception:  # a CuPy without its driver is as good as none
            return False

    def random(self, seed: list[int], shape: tuple[int, ...], dtype: str) -> Any:
        return self.module.random.default_rng(np.random.SeedSequence(seed).generate_state(1)[0]).random(shape, dtype)

    def to_host(self, array: Any) -> np.ndarray:
        return self.module.asnumpy(array)

    def finish(self) -> None:
        self.module.cuda.get_current_stream().synchronize()

    def reset_peak(self) -> None:
        self.module.get_default_memory_pool().free_all_blocks()

    def peak(self) -> int:
        return int(self.module.get_default_memory_pool().total_bytes())


class Clarray(Library):
    """Expressions are evaluated where a task ends, and memory is the device's where that is not the host's."""

    name = "clarray"

    @property
    def on_device(self) -> bool:  # type: ignore[override]
        return not self.module._engine.runtime.current_device().capabilities.host_memory

    def environment(self, device: int | None, cores: int) -> dict[str, str]:
        pinned = {"POCL_MAX_PTHREAD_COUNT": str(cores), "DPCPP_CPU_NUM_CUS": str(cores)} if device is None else {}
        return super().environment(None, cores) | pinned  # the nanny names the GPU, by its place among all

    def register(self) -> None:
        importlib.import_module("clarray.dask")

    def nanny(self, device_limit: int | None) -> tuple[type, dict[str, Any]]:
        """As `LocalOpenCLCluster` has it: what is spilled goes from the device to the host, and from there to disk."""
        found = importlib.import_module("clarray.dask")
        limit = {} if device_limit is None else {"device_memory_limit": device_limit}
        return found.OpenCLNanny, {"devices": found.cluster.device_indices(None)} | limit

    def evaluated(self, chunk: Any) -> Any:
        return chunk.evaluate() if isinstance(chunk, self.module.DeviceArray) else chunk

    def finish(self) -> None:
        self.module.synchronize()

    def reset_peak(self) -> None:
        if self.on_device:
            self.module.free_memory()
        else:
            super().reset_peak()

    def peak(self) -> int:
        return int(self.module.memory_info().peak) if self.on_device else super().peak()


LIBRARIES: dict[str, Library] = {library.name: library for library in (Library(), Cupy(), Clarray())}


def block(name: str, seed: int, dtype: str, block_info: Any = None) -> Any:
    """Give one chunk; runs in a worker."""
    place = block_info[None]
    return LIBRARIES[name].random([seed, *place["chunk-location"]], place["chunk-shape"], dtype)


def uniform(name: str, shape: tuple[int, ...], chunks: Any, seed: int = 0, dtype: str = "float32") -> da.Array:
    """Give an array of uniform numbers whose chunks are the library's, made in the workers."""
    library = LIBRARIES[name]
    parts = da.core.normalize_chunks(chunks, shape, dtype=dtype)
    meta = library.module.empty((0,) * len(shape), dtype=dtype)
    return da.map_blocks(block, name, seed, dtype, chunks=parts, dtype=dtype, meta=meta)


def finished(array: da.Array, name: str) -> da.Array:
    """Give the same array, each chunk evaluated within the task that makes it."""
    return array.map_blocks(LIBRARIES[name].evaluated, dtype=array.dtype, meta=array._meta)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
