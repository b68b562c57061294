"""What fails in other people's suites and is not clarray's to mend: the test's id, why, and the line that shows it."""

from __future__ import annotations

_CONVERTED = (
    "np.asanyarray of a CuPy array raises, of clarray's it copies to the host: `with pytest.raises(TypeError)` in "
    "dask/array/tests/test_cupy_core.py, test_asanyarray"
)
_NUMPY_UNLESS_CUPY = (
    "an empty diagonal is NumPy's unless the blocks are CuPy's: `xp = np` in dask/array/creation.py, diagonal"
)
_SOLVED_BY_SCIPY = (
    "solve_triangular is SciPy's and gives ndarrays unless the blocks are CuPy's: `if is_cupy_type(a)` in "
    "dask/array/utils.py, scipy_linalg_safe"
)
_SUPPORTED = (
    "CuPy's generators have no permutation and no choice, clarray's have: `with pytest.raises(NotImplementedError)` in "
    "dask/array/tests/test_cupy_random.py, test_cupy_unsupported"
)
_FLOOR_DIVIDE = (
    "NumPy documents `floor_divide` as Python's `//`: `inf // x` is NaN, `1.0 // -inf` is -1.0; the special cases of "
    "`floor_divide` in array-api/src/array_api_stubs/_2025_12/elementwise_functions.py ask for others"
)
_QUOTIENTS = [
    *(
        f"x1_i is {a}infinity and isfinite(x2_i) and x2_i {b} 0) -> {c}infinity"
        for a, b, c in ("+>+", "+<-", "->-", "-<+")
    ),
    *(f"isfinite(x1_i) and x1_i {a} 0 and x2_i is {b}infinity) -> -0" for a, b in (">-", "<+")),
]
_SEQUENTIAL = (
    "rtol=1e-15 to NumPy's sums, one after the other, of terms that cancel; clarray's are nearer to the exact ones: "
    "`xp_assert_close(res, xp.asarray(ref), rtol=1e-15)` in scipy/integrate/tests/test_quadrature.py, test_nd"
)
_NOT_LAZY = (
    'for lazy libraries only, and every other one is left out by its name: `skip_xp_backends("cupy", '
    'reason="lazy backends only")` in scipy/_lib/tests/test__util.py, test_array_api_lazy'
)
_DEFAULT_DEVICE = (
    "SciPy's betainc puts its result on the library's default device; array_api_strict and PyTorch are skipped for it: "
    "`'harrell-davis' not currently supported on GPU` in scipy/stats/tests/test_device_dtype.py, test_quantile"
)
_FUSED = (
    "std of a selection, once fused and once stored, differs in its last bit: `xp_assert_equal(res.lower, ref.lower)` "
    "in scipy/stats/tests/test_stats.py, TestSigmaClip.test_nan_policy"
)

_DEVICE_IS_CPU = (
    'an array of Cubed\'s says that its device is the CPU, whatever its chunks are: `return "cpu"` in '
    "cubed/array_api/array_object.py, Array.device"
)
_EMPTY_GROUPS = (
    "numpy_groupies 0.16 takes no empty groups, with NumPy's chunks neither: `raise ValueError(EMPTY_GROUP_IDX)` in "
    "numpy_groupies/utils_np.py"
)
_NO_VIEW = (
    "SciPy writes to np.asarray(output), of clarray's a copy on every device: `output = np.asarray(output)` in "
    'scipy/ndimage/_ni_support.py, _get_output; Dask and JAX are skipped: "output=array requires buffer view"'
)
_UNWRITTEN = (
    "two outputs that nothing was written to are compared, see `output = np.asarray(output)` in "
    "scipy/ndimage/_ni_support.py, _get_output"
)
_OUTPUTS = {
    "test_filters.py::TestNdimageFilters": (
        *(f"test_correlate{case}" for case in ("01_overlap", "14", "20", "22", "23", "24", "25")),
        *("test_gauss_memory_overlap", "test_prewitt02", "test_sobel02", "test_laplace02", "test_gaussian_laplace02"),
        *("test_gaussian_gradient_magnitude02", "test_minimum_filter05_overlap", "test_rank06_overlap"),
        *(
            f"test_generic_laplace01[clarray-{dtype}]"
            for dtype in (*("uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64", "complex128"),)
        ),
    ),
    "test_interpolation.py::TestZoom": ("test_zoom_1_gh20999_output",),
    "test_morphology.py::TestNdimageMorphology": (
        *("test_grey_erosion01_overlap", "test_white_tophat01", "test_black_tophat01"),
    ),
}
_OTHER_WORDS = (
    "the words of the other libraries' errors are listed, `|Unsupported|The array_api_strict|new|Value 'a duck'`, in "
    "scipy/ndimage/tests/test_filters.py, TestVectorizedFilter.test_input_validation"
)

# What may pass: it compares memory that nobody has written.
UNDECIDED = {_UNWRITTEN}

FAILURES: dict[str, dict[str, str]] = {
    "scipy": {
        f"scipy/integrate/tests/test_quadrature.py::TestCumulativeSimpson::test_nd[clarray-{case}]": _SEQUENTIAL
        for dx in (None, True)
        for case in (f"{dx}-None-7-3-axis0", f"{dx}-None-7-3-axis3", f"{dx}-0-7-3-axis1", f"{dx}-0-7-3-axis4")
    }
    | {f"scipy/ndimage/tests/{place}::{test}": _NO_VIEW for place, tests in _OUTPUTS.items() for test in tests}
    | {
        "scipy/ndimage/tests/test_filters.py::TestThreading": _UNWRITTEN,
        "scipy/ndimage/tests/test_filters.py::TestVectorizedFilter::test_input_validation": _OTHER_WORDS,
    }
    | {"scipy/_lib/tests/test__util.py::TestContainsNaN::test_array_api_lazy[clarray]": _NOT_LAZY}
    | {
        f"scipy/stats/tests/test_stats.py::TestSigmaClip::test_nan_policy[clarray-{dtype}]": _FUSED
        for dtype in (None, "float64")
    },
    "dask": {
        "test_clarray_core.py::test_asanyarray[like0-arr1]": _CONVERTED,
        "test_clarray_core.py::test_asanyarray[like0-arr3]": _CONVERTED,
        "test_clarray_creation.py::test_diagonal": _NUMPY_UNLESS_CUPY,
        "test_clarray_linalg.py::test_lstsq": _SOLVED_BY_SCIPY,
        "test_clarray_random.py::test_clarray_unsupported": _SUPPORTED,
    },
    "cubed": {
        "cubed/tests/test_inspection.py::test_default_device": _DEVICE_IS_CPU,
        "cubed/tests/test_groupby.py::test_groupby_blockwise_axis1": _EMPTY_GROUPS,
    },
    "array-api": {
        f"array_api_tests/test_special_cases.py::{test}({case}]": _FLOOR_DIVIDE
        for test in ("test_binary[floor_divide", "test_binary[__floordiv__", "test_iop[__ifloordiv__")
        for case in _QUOTIENTS
    },
    "sklearn": {},
    "numpy": {},  # by what a test ends with: numpy_backend.py
}

_DEVICE_LOST = (
    "SciPy makes arrays on the default device and not on its argument's: `return xp.asarray(out)` in "
    "scipy/special/_support_alternative_backends.py, `xp.asarray(array, dtype=dtype, copy=copy)` in "
    "scipy/_lib/_array_api.py, _asarray; array-api-strict's second device is skipped there for it"
)
SEVERAL_DEVICES = {
    f"scipy/stats/tests/test_device_dtype.py::{test}[clarray-{dtype}-{name}]": _DEVICE_LOST
    for dtype in ("float32", "float64")
    for test, names in {
        "test_hypothesis_tests": (
            *("ttest_1samp", "ttest_rel", "ttest_ind", "normaltest", "jarque_bera", "bartlett", "pearsonr"),
            *("chisquare", "power_divergence"),
        ),
        "test_combine_pvalues": ("fisher", "pearson", "tippett", "stouffer", "mudholkar_george"),
    }.items()
    for name in names
} | {
    f"scipy/stats/tests/test_device_dtype.py::test_quantile[clarray-{dtype}-harrell-davis]": _DEFAULT_DEVICE
    for dtype in ("float32", "float64")
}

_FOUR_ULPS = (
    "Intel's runtime takes the four last places that OpenCL grants sin and cos, the test none: "
    "`xp_assert_close(angles, angles_quat, atol=0, rtol=1.1e-13)` in "
    "scipy/spatial/transform/tests/test_rotation.py, test_as_euler_symmetric_axes"
)
INTEL = {"scipy/spatial/transform/tests/test_rotation.py::test_as_euler_symmetric_axes": _FOUR_ULPS}

_NOT_EXPORTED = (
    "the memory of a device that does not work in the host's is exported to nobody: no other library takes OpenCL's, "
    "and to the host it is copied where `dl_device=(1, 0)` asks for that: `x.__dlpack__(**copy_kw` in "
    "array_api_tests/test_dlpack.py, test_dunder_dlpack"
)
OWN_MEMORY = {"array_api_tests/test_dlpack.py::test_dunder_dlpack": _NOT_EXPORTED}


def failures(suite: str) -> dict[str, str]:
    """What is expected of a suite on the device and beside the devices that there are."""
    import clarray
    from clarray._engine.runtime import current_device

    found = dict(FAILURES[suite])
    if suite == "scipy" and len(clarray.devices()) > 1:
        found |= SEVERAL_DEVICES
    if suite == "scipy" and "Intel" in str(current_device()):
        found |= INTEL
    if suite == "array-api" and not current_device().capabilities.host_memory:
        found |= OWN_MEMORY
    return found
