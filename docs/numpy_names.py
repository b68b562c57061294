"""Writes docs/numpy_names.rst: what clarray has of NumPy's public names, and why not the others.

``python docs/numpy_names.py`` writes the page; tests/test_numpy_names.py compares it with the package. A name that
clarray lacks, or takes from NumPy, must stand in exactly one of the tables below. No name of its own may stand there.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

import clarray
from clarray._api import host_names, late_names
from clarray._core import absent_names

PAGE = Path(__file__).parent / "reference" / "numpy_names.md"


class Place(NamedTuple):
    """Somewhere NumPy has public names, and where clarray has them."""

    title: str
    theirs: Any
    ours: Any
    names: list[str]


def _module(name: str) -> ModuleType:
    return importlib.import_module(name)


def public(owner: Any) -> list[str]:
    """The names that are for users: those listed, else those without an underscore."""
    listed = getattr(owner, "__all__", None) or dir(owner)
    return sorted({name for name in listed if not name.startswith("_")})


def places() -> dict[str, Place]:
    """Every namespace of the page, in its order."""
    return {
        "numpy": Place("The main namespace", np, clarray, public(np)),
        "ndarray": _methods("Methods and attributes of arrays", np.ndarray, clarray.DeviceArray),
        "linalg": _pair("linalg", "Linear algebra"),
        "fft": _pair("fft", "Fourier transforms"),
        "random": _pair("random", "Random numbers"),
        "Generator": _methods("Methods of `random.Generator`", np.random.Generator, clarray.random.Generator),
    }


def _methods(title: str, theirs: type, ours: type) -> Place:
    return Place(title, theirs, ours, public(theirs))


def _pair(name: str, title: str) -> Place:
    theirs = _module(f"numpy.{name}")
    return Place(f"{title} (`{name}`)", theirs, _module(f"clarray.{name}"), public(theirs))


# What is not there: for each namespace, reasons and the names that they hold for -------------------

PLANNED: dict[str, dict[str, str]] = {
    "numpy": {},
    "ndarray": {},
    "linalg": {},
    "fft": {},
    "random": {},
    "Generator": {},
}

OUT_OF_SCOPE: dict[str, dict[str, str]] = {
    "numpy": {reason: name for name, reason in absent_names.LEFT_OUT.items()},
    "ndarray": {
        "an address in host memory; if the device works there, use ``np.asarray(x, copy=False).ctypes``": "ctypes",
        "removed from NumPy 2: access raises an error": "itemset newbyteorder ptp tostring",
    },
    "linalg": {},
    "fft": {},
    "random": {
        "each number depends on the state after the previous number, so a device cannot draw the numbers in parallel": (
            "MT19937 PCG64 PCG64DXSM SFC64"
        ),
        "the C interface of NumPy's generators": "BitGenerator",
        "deprecated by NumPy; use the method ``integers`` of a generator": "random_integers",
    },
    "Generator": {},
}

# The names of the main namespace that clarray takes from NumPy: what each group is about.
NUMPYS: dict[str, str] = {
    "text": "bytes_ char character str_ strings",
    "dates": (
        "busday_count busday_offset busdaycalendar datetime64 datetime_as_string datetime_data is_busday isnat "
        "timedelta64"
    ),
    "objects and records": "flexible fromregex object_ rec recarray record void",
    "no device supports this dtype": "clongdouble complex256 float128 longdouble",
    "the matrix class": "asmatrix bmat matrix",
    "NumPy's installation, buffers and C interface": (
        "ctypeslib f2py get_include getbufsize info setbufsize show_runtime test"
    ),
    "an array in a file that is mapped into host memory": "memmap",
    "masked arrays": "ma",
    "classes for polynomials": "polynomial",
    "types for type annotations": "typing",
    "deprecated by NumPy": "in1d row_stack trapz",
}

# Functions of the main namespace that compute no elements: they do not count as numeric.
NOT_NUMERIC = {
    *("base_repr", "binary_repr", "format_float_positional", "format_float_scientific", "typename"),
    *("array2string", "array_repr", "array_str", "get_printoptions", "set_printoptions", "printoptions"),
    *("geterr", "geterrcall", "seterr", "seterrcall", "getbufsize", "setbufsize"),
    *("can_cast", "common_type", "isdtype", "issubdtype", "min_scalar_type", "mintypecode", "promote_types"),
    *("result_type", "iscomplexobj", "isrealobj", "isscalar", "iterable", "broadcast_shapes"),
    *("info", "get_include", "show_config", "show_runtime", "test", "nested_iters"),
    *("busday_count", "busday_offset", "datetime_as_string", "datetime_data", "is_busday", "isnat"),
    *("fromregex", "genfromtxt", "load", "loadtxt", "save", "savetxt", "savez", "savez_compressed"),
    *("asmatrix", "bmat", "ndim", "shape", "size", "isfortran", "may_share_memory", "shares_memory", "einsum_path"),
    *("frombuffer", "fromfile", "fromiter", "fromstring", "from_dlpack", "require"),
}

# Numeric functions that clarray has and that do their work on the host, as their documentation says.
ON_HOST = {"frompyfunc", "polyfit", "roots"}


def numpys() -> dict[str, str]:
    """The names that clarray takes from NumPy, and what they are about; KeyError for one that no group has."""
    about = {name: group for group, names in NUMPYS.items() for name in names.split()}
    own = {*clarray.__all__, *late_names.MODULES}
    return {name: about[name] for name in sorted(host_names.host_names(own)) if name in public(np)}


def missing(key: str, place: Place) -> dict[str, str]:
    """The names that clarray lacks and why; KeyError for one without a reason."""
    reasons = reasons_of(key)
    return {name: reasons[name] for name in place.names if not hasattr(place.ours, name)}


def reasons_of(key: str) -> dict[str, str]:
    """The reason of every name in a namespace's tables."""
    found: dict[str, str] = {}
    for what, table in (("planned", PLANNED), ("out of scope", OUT_OF_SCOPE)):
        for reason, names in table[key].items():
            for name in names.split():
                if name in found:
                    raise ValueError(f"{key}: {name} has two reasons")
                found[name] = f"{what}: {reason}"
    return found


def numeric_functions() -> list[str]:
    """The main namespace's functions that compute numbers, ufuncs included."""
    return [
        name
        for name in public(np)
        if callable(found := getattr(np, name)) and not inspect.isclass(found) and name not in NOT_NUMERIC
    ]


def on_device() -> list[str]:
    """Those of the numeric functions that clarray computes on the device."""
    host = {*ON_HOST, *numpys()}
    return [name for name in numeric_functions() if hasattr(clarray, name) and name not in host]


def page() -> str:
    """The page's text."""
    numeric, there = len(numeric_functions()), len(on_device())
    *most, last = (f"`{name}`" for name in sorted(ON_HOST))
    host = f"{', '.join(most)} and {last}"
    parts = [HEAD.format(numpy=numpy_series(), there=there, all=numeric, share=100 * there / numeric, host=host)]
    rows = []
    for key, place in places().items():
        lacking = missing(key, place)
        taken = numpys() if key == "numpy" else {}
        there = len(place.names) - len(lacking) - len(taken)
        more = f"; {len(taken)} other names refer to NumPy's own objects" if taken else ""
        parts.append(f"- {place.title}: clarray implements {there} of {len(place.names)} names{more}")
        rows += [_row(key, place, name, lacking.get(name), taken.get(name)) for name in place.names]
    return "\n".join([*parts, TABLE, *rows]).replace("``", "`") + "\n"


def numpy_series() -> str:
    return ".".join(np.__version__.split(".")[:2])


def _row(key: str, place: Place, name: str, reason: str | None, about: str | None) -> str:
    """Return one line of the table: the name, where it is, and what there is to say."""
    if about:
        return f"| `{PREFIXES[key]}.{name}` | NumPy's own | {about} |"
    if reason:
        return f"| `{PREFIXES[key]}.{name}` | no | {reason} |"
    where = "on the host" if key == "numpy" and name in ON_HOST else "yes"
    return f"| `{_owner(place)}.{name}` | {where} | |"


def _owner(place: Place) -> str:
    """Return the name of clarray's module or class."""
    if inspect.ismodule(place.ours):
        return place.ours.__name__
    return f"{OWNERS[place.ours.__name__]}.{place.ours.__name__}"


PREFIXES = {
    "numpy": "np",
    "ndarray": "np.ndarray",
    "linalg": "np.linalg",
    "fft": "np.fft",
    "random": "np.random",
    "Generator": "np.random.Generator",
}
OWNERS = {"DeviceArray": "clarray", "Generator": "clarray.random"}

HEAD = """\
# NumPy's names

This page lists every public name of NumPy {numpy}, and says for each name whether clarray implements it. The script
`python docs/numpy_names.py` writes this page, and a test compares the page with the package.

**clarray computes {share:.1f} % of the numeric functions of NumPy's main namespace on the device: {there} of {all}.**
A function that concerns only text, dates, files, settings, dtypes or shapes does not count as a numeric function.
{host} do all or a part of their work on the host. The pages
[Linear algebra](../engineering/linalg.md) and [Fourier transforms](../engineering/fft.md) each say which functions
run on the host.

clarray does not implement NumPy's names for text, dates, records and other data that no device holds. In clarray, each
of these names refers to NumPy's own object. For example, `clarray.datetime64` is `numpy.datetime64`, and
`import clarray.polynomial` imports `numpy.polynomial`. For a device array, most of these NumPy functions raise
TypeError, unless the setting `clarray.config.host_fallback` allows a copy to the host. NumPy's classes, and functions
such as `clarray.asmatrix`, always copy a device array to the host.

In the table at the end of this page, "NumPy's own" marks the names that refer to NumPy's objects. The remark
"out of scope" marks names that clarray leaves out intentionally.
"""

TABLE = """
| name | in clarray | remark |
| --- | --- | --- |"""


if __name__ == "__main__":
    PAGE.write_text(page())
