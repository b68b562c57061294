"""The chapters of the API reference: a title, and the private modules whose public names each section has.

A section may list names instead, of modules that have other names besides.
"""

from __future__ import annotations

MAIN: dict[str, tuple[str, dict[str, str | tuple[str, ...]]]] = {
    "arrays": ("The array", {"": ("DeviceArray", "ndarray", "flatiter")}),
    "creation": (
        "Array creation",
        {
            "Arrays from shapes or values": "_core.creation",
            "Arrays with the shape of another array": "_core.creation_like",
            "Ranges and grids": "_numpy.creation.sequences",
            "Arrays from functions, iterators, buffers and text": "_numpy.creation.from_data",
            "Requirements on values and memory layout": "_numpy.creation.requiring",
        },
    ),
    "manipulation": (
        "Array manipulation",
        {
            "Shapes and views": "_numpy.manipulation.shapes",
            "Axes, broadcasting and dtype": "_numpy.manipulation.ranks",
            "Joining": "_numpy.manipulation.joining",
            "Blocks": "_numpy.manipulation.blocks",
            "Splitting": "_numpy.manipulation.splitting",
            "Repeating and rolling": "_numpy.manipulation.repeating",
            "Padding": "_numpy.manipulation.padding",
            "Inserting and trimming": "_numpy.manipulation.inserting",
        },
    ),
    "indexing": (
        "Indexing",
        {
            "Selecting and writing by position": "_numpy.indexing.gathering",
            "Selecting and writing by a mask": "_numpy.indexing.masking",
            "Conditions, limits and rounding": "_numpy.indexing.selecting",
            "Copying into an array": "_numpy.indexing.subscripts",
            "Diagonals and triangles": "_numpy.indexing.diagonals",
            "Arrays of indices": "_numpy.indexing.index_tables",
            "Indices of triangles and diagonals": "_numpy.indexing.triangles",
            "Ranges in index notation": "_numpy.indexing.index_tricks",
            "Iterators": "_numpy.indexing.iterating",
        },
    ),
    "ufuncs": ("Universal functions", {"": "_api.numpy_ufuncs"}),
    "reductions": (
        "Sums, products, extrema",
        {
            "Reductions": "_numpy.reduction.reductions",
            "Reductions that skip NaN": "_numpy.reduction.nanfunctions",
            "Cumulative sums, differences and integrals": "_numpy.reduction.scans",
        },
    ),
    "statistics": (
        "Statistics",
        {
            "Means and variances": "_numpy.reduction.moments",
            "Weighted means and covariances": "_numpy.statistics.averages",
            "Order statistics": "_numpy.statistics.quantiles",
            "Histograms": "_numpy.statistics.histograms",
            "Counting integers": "_numpy.statistics.counting",
        },
    ),
    "sorting": (
        "Sorting, searching and sets",
        {"Sorting and searching": "_numpy.sorting.sorting", "Sets": "_numpy.sorting.sets"},
    ),
    "logic": ("Comparing arrays and testing elements", {"": "_numpy.math.logic"}),
    "calculus": (
        "Calculus and signals",
        {
            "Differences and angles": "_numpy.math.calculus",
            "Interpolation": "_numpy.math.interpolation",
            "Convolution": "_numpy.math.convolution",
            "Window functions": "_numpy.math.window_functions",
        },
    ),
    "products": ("Products of vectors and matrices", {"": "_numpy.products.products"}),
    "polynomials": (
        "Polynomials",
        {
            "Functions of coefficients": "lib.polynomials",
            "Roots and fits": "lib.polynomial_roots",
            "Polynomial objects": "lib.polynomial_object",
        },
    ),
    "bits": ("Packing bits", {"": "_numpy.math.bits"}),
    "applying": ("Applying functions", {"": "_numpy.manipulation.applying"}),
    "custom_kernels": (
        "Kernels in C",
        {
            "Kernels from C expressions": "_numpy.kernels.kernels",
            "Kernels from complete C functions": "_numpy.kernels.raw",
            "Fused Python functions": ("fuse",),
        },
    ),
    "files": ("Files and text", {"Files": "_numpy.creation.files", "Arrays as text": "_core.printing"}),
    "sharing": (
        "Other libraries and the host",
        {
            "Device arrays and NumPy arrays": ("asnumpy", "get_array_module"),
            "Tests for shared memory": "_core.sharing",
            "DLPack": "_api.dlpack",
        },
    ),
    "settings": (
        "Devices, memory and settings",
        {
            "Devices": ("devices", "device", "set_device", "synchronize", "reset", "DeviceLostError"),
            "Memory": ("memory_info", "free_memory", "get_default_memory_pool", "MemoryPool"),
            "Settings": ("config", "show_config", "HostFallbackWarning"),
            "Profiles": ("profile",),
        },
    ),
    "dtypes": (
        "Dtypes and constants",
        {"Dtypes": "_api.dtype_functions", "NumPy's types, constants and settings": "_api.numpy_names"},
    ),
}

MODULES: dict[str, str] = {
    "linalg": "Linear algebra",
    "fft": "Fourier transforms",
    "random": "Random numbers",
    "ndimage": "Image filters",
    "special": "Special functions",
    "lib.scimath": "Functions with complex results",
    "lib.stride_tricks": "Views with strides",
    "testing": "Comparisons for tests",
    "run": "Running NumPy programs",
    "dask": "Dask arrays and clusters",
}

# Pages that say more about a chapter.
MORE: dict[str, str] = {
    "linalg": (
        "The page :doc:`/engineering/linalg` says which functions run on the device and which functions LAPACK "
        "computes on the host."
    ),
    "fft": "The page :doc:`/engineering/fft` says which transforms run on the device, and describes the algorithms.",
    "random": "The page :doc:`/engineering/random` describes the generator and the method of each distribution.",
    "ndimage": (
        "The functions of ``clarray.ndimage`` do not need SciPy to be installed. The page :doc:`/engineering/stencil` "
        "says how much the results may differ from SciPy's results."
    ),
    "run": "The page :doc:`/how-to/run` explains how clarray runs an unmodified NumPy program.",
    "dask": "The page :doc:`/how-to/dask` shows how to use Dask with device arrays.",
    "custom_kernels": "The page :doc:`/how-to/kernels` shows an example of each kernel class.",
    "settings": (
        "The page :doc:`/how-to/devices` shows how to choose a device. The page :doc:`/explanation/memory` explains "
        "how to limit the memory that a process uses. The page :doc:`/explanation/guarantees` says when clarray may "
        "copy device arrays to the host."
    ),
}

# Classes without a public name whose objects a chapter's functions return, and the members that its page describes.
RETURNED: dict[str, dict[str, str]] = {
    "settings": {
        "_core.host_policy.Config": "",
        "_engine.runtime.Device": "   :members: capabilities, synchronize\n",
        "_engine.runtime.Capabilities": "",
        "_engine.runtime.MemoryInfo": "",
        "_engine.runtime.Profile": "   :members:\n",
        "_engine.runtime.profiling.Record": "",
    },
}
