"""Promotion is NumPy's, with weak Python scalars."""

import itertools

import numpy as np
import pytest

from clarray._engine.ops.dtypes import DTYPES
from clarray._engine.ops.promotion import resolve

VALUES = {bool: True, int: 3, float: 2.5, complex: 1j}


@pytest.mark.parametrize("ufunc", [np.add, np.divide, np.less, np.arctan2, np.divmod])
def test_the_dtypes_are_those_of_the_call(ufunc):
    operands = [*DTYPES, *VALUES]
    for pair in itertools.product(operands, operands):
        if not any(isinstance(one, np.dtype) for one in pair):
            continue
        args = [VALUES[one] if one in VALUES else np.ones(1, one) for one in pair]
        try:
            expected = ufunc(*args)
        except TypeError:
            with pytest.raises(TypeError):
                resolve(ufunc, pair)
            continue
        expected = expected if isinstance(expected, tuple) else (expected,)
        assert resolve(ufunc, pair)[1] == tuple(e.dtype for e in expected)


def test_dtype_and_signature():
    i4, f4, f8 = np.dtype("i4"), np.dtype("f4"), np.dtype("f8")
    assert resolve(np.add, (i4, f4), dtype="f8") == ((f8, f8), (f8,))
    assert resolve(np.add, (i4, i4), signature="dd->d") == ((f8, f8), (f8,))
    assert resolve(np.add, (f8, f8), signature=(f4, f4, f4), casting="same_kind")[1] == (f4,)
    with pytest.raises(TypeError, match="both"):
        resolve(np.add, (i4, i4), dtype=f4, signature="dd->d")


def test_casting_is_checked():
    with pytest.raises(TypeError, match="annot cast"):
        resolve(np.add, (np.dtype("f8"), np.dtype("f8")), dtype="i4")
    with pytest.raises(TypeError, match="annot cast"):
        resolve(np.add, (np.dtype("f8"), np.dtype("f8")), dtype="f4", casting="safe")


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
def test_weak_scalars_under_every_rule(casting):
    """NumPy's own resolve_dtypes brings the process down for a weak scalar under 'equiv'."""
    ufuncs = (np.add, np.lcm, np.arctan2, np.greater_equal, np.not_equal)
    for ufunc, dtype in itertools.product(ufuncs, ("?", "u1", "i8", "f4", "f8")):
        for kind in (int, float, complex):
            try:
                expected = ufunc(np.ones(1, dtype), VALUES[kind], casting=casting).dtype
            except TypeError:
                with pytest.raises(TypeError):
                    resolve(ufunc, (np.dtype(dtype), kind), casting=casting)
            else:
                assert resolve(ufunc, (np.dtype(dtype), kind), casting=casting)[1] == (expected,)


def test_no_loop_is_numpys_error():
    with pytest.raises(TypeError, match="bitwise_and"):
        resolve(np.bitwise_and, (np.dtype("f4"), np.dtype("f4")))


def test_an_answer_is_remembered():
    pair = (np.dtype("i2"), float)
    assert resolve(np.multiply, pair) is resolve(np.multiply, pair)
