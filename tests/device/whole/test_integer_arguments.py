"""Every argument that is an integer, or several, in every form: the same outcome as NumPy's.

A call is that of `test_every_function`, but for one argument: an axis, axes, a shape, a number of repetitions and so
on. Its forms are an int, a NumPy integer, a range, a list, a tuple, an array of NumPy's and of clarray's, of either
sign, and bools, floats and others that NumPy may refuse. Where NumPy refuses a form, clarray raises an error of the
same class or of a subclass. REFUSED and TAKEN list the calls that differ, and each call listed there must differ.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

import numpy as np
import pytest

import clarray

from ..outcomes import difference, listed, outcome
from .test_every_function import KEYWORDS, sample
from .test_odd_arguments import NAMES, source

pytestmark = pytest.mark.usefixtures("quick_builds")

INTEGERS = frozenset(
    """
    axis axes axis1 axis2 axisa axisb axisc source destination start shape newshape new_shape dims repeats reps shift
    k n N M num minlength kth decimals offset pad_width indices_or_sections ddof count edge_order deg m ndmin
    """.split()  # noqa: SIM905
)
ONE = ["{0}", "np.int8({0})", "np.int64({0})", "np.array({0})", "xp.array({0})", "{0}.0", "np.float64({0})"]
OTHERS = ["True", "np.True_", "'1'", "None", "1j", "xp.array(True)", "np.array(1.0)", "slice(1)", "{{}}"]
SEVERAL = [
    *("({0},)", "[{0}]", "range({0}, {0} + 1)", "np.array([{0}])", "xp.array([{0}])", "({0}.0,)", "np.array([{0}.0])"),
    *("({0}, {1})", "[{0}, {1}]", "np.array([{0}, {1}])", "xp.array([{0}, {1}])", "(np.int64({0}), np.int8({1}))"),
    *("[xp.array({0}), {1}]", "[np.array({0}), np.array({1})]", "({0}.0, {1}.0)", "np.array([{0}.0, {1}])"),
    *("range({0}, {1}, 1 if {0} < {1} else -1)", "(({0},), ({1},))", "[[{0}], [{1}]]", "np.array([[{0}], [{1}]])"),
    *("[range({0}, {0} + 1), range({1}, {1} + 1)]", "(np.array([{0}]), xp.array([{1}]))", "({0}, [{1}])"),
]
FLAGS = ["(True,)", "(True, False)", "[np.True_, np.False_]", "np.array([True, False])", "()", "[]"]
FORMS = [
    *(form.format(number) for number in (1, -1) for form in ONE),
    *(form.format() for form in OTHERS),
    *(form.format(0, 1) for form in SEVERAL),
    *("(-1, -2)", "[-2, -1]", "np.array([-1, -2])", "range(-1, -3, -1)"),
    *FLAGS,
]
DETERMINED = "xp.array([[2, 1], [3, 4]])"  # no equal elements, and no more than two in a line
SEVERAL_NUMBERS = r"(\(|\[|range\(|(np|xp)\.array\(\[)"
# What clarray refuses by TypeError, while NumPy takes it or raises another error.
REFUSED = {
    r"\.(nan)?(std|var)\(.*ddof=(?!\(0, \[)" + SEVERAL_NUMBERS: "NumPy subtracts any array; it documents a number",
    r"\.(nan)?(std|var)\(.*ddof=1j": "NumPy subtracts a complex number; it documents a real one",
    r"\.(bartlett|blackman|hamming|hanning)\(1j": "NumPy makes a complex window of no elements",
}
# What clarray takes, while NumPy refuses it.
TAKEN = {
    r"\.tensordot\(.*\[(np|xp)\.array\(0\)": "NumPy hashes each axis, clarray reads it as an integer",
}
# Calls that `test_every_function` has no sample of, as the argument decides what else fits.
MORE = {
    "transpose": ("xp.ones((2, 3))", "axes"),
    "tensordot": ("xp.ones((3, 3)), xp.ones((3, 3))", "axes"),
    "squeeze": ("xp.ones((1, 1, 2))", "axis"),
    "expand_dims": ("xp.ones((2, 3))", "axis"),
    "fft.fftn": ("xp.ones((4, 6))", "axes"),
    "fft.rfft2": ("xp.ones((4, 6))", "s"),
    "fft.fft": ("xp.ones((4, 6))", "n"),
    "fft.ifft": ("xp.ones((4, 6))", "axis"),
    "fft.fftshift": ("xp.ones((4, 6))", "axes"),
    "fft.fftfreq": ("", "n"),
    "linalg.norm": ("xp.ones((2, 3))", "axis"),
    "linalg.matrix_power": ("xp.ones((2, 2))", "n"),
    "linalg.tensorsolve": ("xp.eye(6).reshape(2, 3, 6), xp.ones((2, 3))", "axes"),
    "linalg.tensorinv": ("xp.eye(4).reshape(2, 2, 4)", "ind"),
    "linalg.cross": ("xp.ones((3, 3)), xp.ones((3, 3))", "axis"),
    "linalg.vecdot": ("xp.ones((3, 3)), xp.ones((3, 3))", "axis"),
    "linalg.vector_norm": ("xp.ones((3, 3))", "axis"),
    "linalg.diagonal": ("xp.ones((3, 3))", "offset"),
    "linalg.trace": ("xp.ones((3, 3))", "offset"),
    "lib.stride_tricks.sliding_window_view": ("xp.ones((3, 3))", "window_shape"),
    "lib.stride_tricks.as_strided": ("xp.ones((3, 3))", "shape"),
    "add.reduce": ("xp.ones((3, 3))", "axis"),
    "add.accumulate": ("xp.ones((3, 3))", "axis"),
    "add.reduceat": ("xp.ones((3, 3)), [0, 1]", "axis"),
    "ones((3, 3)).sum": ("", "axis"),
    "ones((3, 3)).max": ("", "axis"),
    "ones((3, 3)).argmax": ("", "axis"),
    "ones((3, 3)).cumsum": ("", "axis"),
    "ones((3, 3)).sort": ("", "axis"),
    "ones((3, 3)).round": ("", "decimals"),
    "ones((3, 3)).repeat": ("", "repeats"),
    "ones((3, 3)).trace": ("", "offset"),
    "ones((3, 3)).squeeze": ("", "axis"),
}
POSITIONAL = ["ones((2, 3)).transpose({0})", "ones((2, 3)).reshape({0})", "zeros({0})", "ones((2, 3)).swapaxes({0}, 0)"]


def calls(name: str) -> list[str]:
    """The calls of a function with one argument in every form."""
    args = [source(each) for each in sample(name)]
    if name in ("argpartition", "argsort", "partition"):
        args[0] = DETERMINED
    given = {key: repr(value) for key, value in KEYWORDS.get(name, {}).items()}
    made = []
    for number, parameter in enumerate(inspect.signature(getattr(np, name)).parameters.values()):
        if parameter.name not in INTEGERS:
            continue
        for form in FORMS:
            if number < len(args):
                positional, named = [*args[:number], form, *args[number + 1 :]], given
            else:
                positional, named = args, {**given, parameter.name: form}
            words = ", ".join([*positional, *(f"{key}={value}" for key, value in named.items())])
            made.append(f"xp.{name}({words})")
    return made


def check(calls: Iterable[str]) -> None:
    """Compare results and types of errors. A call of REFUSED or TAKEN must differ as its row says."""
    found = {}
    for call in calls:
        unlike = difference(call)
        listed_in = [rows for rows in (REFUSED, TAKEN) if any(re.search(pattern, call) for pattern in rows)]
        if listed_in:
            unlike = unlike_its_row(call, unlike, listed_in[0])
        if unlike is not None:
            found[call] = unlike
    assert not found, listed(found)


def unlike_its_row(call: str, unlike: str | None, rows: dict[str, str]) -> str | None:
    """Return what is wrong with the row that lists a call, None if nothing is."""
    if unlike is None:
        return "agrees with NumPy: narrow the row that lists it"
    error = outcome(call, clarray)[1]
    if rows is TAKEN:
        return unlike if error is not None else None
    return None if type(error) is TypeError else f"{error!r} instead of TypeError"


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("name", [name for name in NAMES if calls(name)])
def test_functions(name: str) -> None:
    check(calls(name))


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("name", MORE)
def test_more(name: str) -> None:
    args, parameter = MORE[name]
    check(f"xp.{name}({args}{', ' if args else ''}{parameter}={form})" for form in FORMS)


@pytest.mark.parametrize("call", POSITIONAL)
def test_positional(call: str) -> None:
    check("xp." + call.format(form) for form in FORMS)
