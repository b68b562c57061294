"""The ufunc table: complete, interned, and rendered for every dtype NumPy has a loop for."""

import re

import numpy as np
import pytest

from clarray._engine.ops.ctype import Dialect
from clarray._engine.ops.dtypes import DTYPES
from clarray._engine.ops.helpers import helpers_in
from clarray._engine.ops.ufuncs import CALL_WEIGHT, emit, find_loop, helpers, supported_ufuncs, unsupported

NUMPY_UFUNCS = {u for u in vars(np).values() if isinstance(u, np.ufunc)}
DIALECTS = [
    Dialect(1),
    Dialect(4),
    Dialect(8, clang=True),
    Dialect(16, clang=True),
    Dialect(16, clang=True, fp64=False),
]


def loops(ufunc):
    """Every loop of NumPy's over supported dtypes."""
    seen = set()
    for types in ufunc.types:
        ins, outs = (tuple(np.dtype(c) for c in part) for part in types.split("->"))
        if (ins, outs) in seen or any(d not in DTYPES for d in ins + outs):
            continue
        seen.add((ins, outs))
        yield from (find_loop(ufunc, ins, outs, i) for i in range(ufunc.nout))


def has_complex(loop):
    return any(d.kind == "c" for d in (*loop.in_dtypes, loop.out_dtype))


def names(loop):
    return [f"x{i}" for i in range(len(loop.in_dtypes))]


def test_every_ufunc_of_numpy_is_supported_or_named_with_a_reason():
    known = supported_ufuncs.keys() | {getattr(np, name) for name in unsupported}
    assert {u.__name__ for u in NUMPY_UFUNCS - known} == set()
    assert not {u.__name__ for u in supported_ufuncs} & unsupported.keys()
    assert all(unsupported.values())


@pytest.mark.parametrize("ufunc", supported_ufuncs, ids=lambda u: u.__name__)
def test_every_loop_of_numpy_renders(ufunc):
    found = list(loops(ufunc))
    assert found
    for loop in found:
        for dialect in DIALECTS:
            if dialect.width > 1 and has_complex(loop):
                continue
            text = emit(loop, names(loop), dialect)
            assert text.count("(") == text.count(")")
            defined = set()
            for key, body in helpers(loop, dialect):
                called = set(re.findall(r"\bca_\w+", body)) - {key}
                assert called <= defined, f"{key} stands before what it calls"
                assert body.count("{") == body.count("}")
                assert "HELPER" in body
                defined.add(key)
            assert set(re.findall(r"\bca_\w+", text)) <= defined


def test_a_device_without_float64_meets_no_double():
    single = np.dtype(np.float32)
    dialect = Dialect(16, clang=True, fp64=False)
    for ufunc in supported_ufuncs:
        for loop in loops(ufunc):
            if {d.itemsize for d in loop.in_dtypes} == {4} and not has_complex(loop):
                if loop.out_dtype.itemsize > 4:
                    continue
                source = emit(loop, names(loop), dialect)
                source += "".join(body for _, body in helpers(loop, dialect))
                code = re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL)
                assert "double" not in code, loop
    assert single in DTYPES


def test_equal_arguments_give_the_same_loop():
    one = (np.dtype("f4"), np.dtype("f4")), (np.dtype("f4"),)
    assert find_loop(np.add, *one) is find_loop(np.add, *one)
    assert find_loop(np.add, *one) is not find_loop(np.multiply, *one)
    assert find_loop(np.add, *one).code != find_loop(np.multiply, *one).code


def test_the_two_outputs_are_loops_of_their_own():
    ins, outs = (np.dtype("f4"),), (np.dtype("f4"), np.dtype("i4"))
    mantissa, exponent = (find_loop(np.frexp, ins, outs, i) for i in range(2))
    assert (mantissa.out_dtype, exponent.out_dtype) == outs
    assert mantissa is not exponent


@pytest.mark.parametrize(
    ("ufunc", "dtype"), [(np.add, "M8[s]"), (np.add, "g"), (np.bitwise_and, "f4"), (np.isnat, "f4")]
)
def test_no_loop_is_a_type_error_that_names_the_ufunc(ufunc, dtype):
    dtype = np.dtype(dtype)
    with pytest.raises(TypeError, match=ufunc.__name__):
        find_loop(ufunc, (dtype,) * ufunc.nin, (dtype,))


def test_repr_names_ufunc_and_dtypes():
    loop = find_loop(np.less, (np.dtype("f4"), np.dtype("f4")), (np.dtype(bool),))
    assert repr(loop) == "<Loop less (float32, float32) -> bool>"


def test_an_unknown_helper_is_named():
    with pytest.raises(KeyError, match="no_such_thing"):
        helpers_in("y = ca_no_such_thing_float(x);", Dialect())


HEAVY = """exp exp2 expm1 log log2 log10 log1p cbrt power float_power logaddexp logaddexp2 hypot floor_divide remainder
divmod fmod sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh ldexp frexp"""


@pytest.mark.parametrize("ufunc", supported_ufuncs, ids=lambda u: u.__name__)
def test_functions_weigh_more_than_operations(ufunc):
    """A region stores what is heavy rather than compute it twice: `sin` too, whose text is a helper's name."""
    real = {loop.weight for loop in loops(ufunc) if loop.in_dtypes[0].char in "fd"}
    assert real in ({CALL_WEIGHT}, set()) if ufunc.__name__ in HEAVY.split() else real in ({1}, set())
