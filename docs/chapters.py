"""The chapters of the API reference: a title, and the private modules whose public names each section has.

A section may list names instead, of modules that have other names besides.
"""

from __future__ import annotations

MAIN: dict[str, tuple[str, dict[str, str | tuple[str, ...]]]] = {
    "arrays": ("The array", {"": ("DeviceArray", "ndarray", "flatiter")}),
    "creation": (
        "Array creation",
        {
            "By shape and value": "_core.creation",
            "Like another array": "_core.creation_like",
            "Ranges and grids": "_numpy.creation.sequences",
            "From functions, iterators, buffers and text": "_numpy.creation.from_data",
            "With a layout": "_numpy.creation.requiring",
        },
    ),
    "manipulation": (
        "Array manipulation",
        {
            "Shapes and views": "_numpy.manipulation.shapes",
            "Axes, broadcasting and dtype": "_numpy.manipulation.ranks",
            "Joining": "_numpy.manipulation.joining",
            "Splitting": "_numpy.manipulation.splitting",
            "Repeating and rolling": "_numpy.manipulation.repeating",
            "Padding": "_numpy.manipulation.padding",
            "Inserting and trimming": "_numpy.manipulation.inserting",
        },
    ),
    "indexing": (
        "Indexing",
        {
            "By position": "_numpy.indexing.gathering",
            "By a mask": "_numpy.indexing.masking",
            "By conditions": "_numpy.indexing.selecting",
            "Writing": "_numpy.indexing.subscripts",
            "Diagonals and triangles": "_numpy.indexing.diagonals",
            "Arrays of indices": "_numpy.indexing.index_tables",
            "Indices of triangles and diagonals": "_numpy.indexing.triangles",
            "Ranges written as indices": "_numpy.indexing.index_tricks",
            "Iterators": "_numpy.indexing.iterating",
        },
    ),
    "ufuncs": ("Universal functions", {"": "_api.numpy_ufuncs"}),
    "reductions": (
        "Sums, products, extrema",
        {
            "Reductions": "_numpy.reduction.reductions",
            "Reductions that skip NaN": "_numpy.reduction.nanfunctions",
            "Running sums and differences": "_numpy.reduction.scans",
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
        {"Functions": "lib.polynomials", "Roots and fits": "lib.polynomial_roots", "Objects": "lib.polynomial_object"},
    ),
    "bits": ("Packing bits", {"": "_numpy.math.bits"}),
    "applying": ("Applying functions", {"": "_numpy.manipulation.applying"}),
    "custom_kernels": (
        "Kernels in C",
        {"Of expressions": "_numpy.kernels.kernels", "Of whole functions": "_numpy.kernels.raw", "Fusion": ("fuse",)},
    ),
    "files": ("Files and text", {"Files": "_numpy.creation.files", "Text": "_core.printing"}),
    "sharing": (
        "Other libraries and the host",
        {
            "The host": ("asnumpy", "get_array_module"),
            "Shared memory": "_core.sharing",
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
    "linalg": ":doc:`/engineering/linalg` says what the device computes and what LAPACK computes on the host.",
    "fft": ":doc:`/engineering/fft` says which transforms run on the device, and how.",
    "random": ":doc:`/engineering/random` describes the generator and the method of each distribution.",
    "ndimage": ":doc:`/engineering/stencil` says how closely the results are SciPy's. SciPy need not be installed.",
    "run": ":doc:`/how-to/run` says what these functions do to a program.",
    "dask": ":doc:`/how-to/dask` shows Dask with clarray's arrays.",
    "custom_kernels": ":doc:`/how-to/kernels` shows each class at work.",
    "settings": (
        ":doc:`/how-to/devices` shows how to choose a device. :doc:`/explanation/memory` explains limits of memory. "
        ":doc:`/explanation/guarantees` says when device arrays may be copied to the host."
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
