"""Operands of other libraries: whoever computes with NumPy's arrays computes with clarray's too."""

from __future__ import annotations

import operator
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._core.operands import OperandProtocol, operand_protocol

from ..conftest import assert_same

pytestmark = pytest.mark.usefixtures("quick_builds")

X = np.array([1, 2, 3], "float32")
OPERATORS = {
    name: getattr(operator, name)
    for name in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
        *("lt", "le", "eq", "ne", "gt", "ge"),
    )
}
INTEGER_OPERATORS = {name: getattr(operator, name) for name in ("and_", "or_", "xor", "lshift", "rshift")}


class Reflects:
    """Every operator is its own, whichever side it stands on."""

    def answer(self, other: Any) -> str:
        return f"theirs of {type(other).__name__.replace('DeviceArray', 'ndarray')}"


for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
):
    setattr(Reflects, f"__{_name}__", Reflects.answer)
    setattr(Reflects, f"__r{_name}__", Reflects.answer)
for _name in ("lt", "le", "eq", "ne", "gt", "ge"):
    setattr(Reflects, f"__{_name}__", Reflects.answer)


class RefusesUfuncs(Reflects):
    __array_ufunc__ = None


class Outranks(Reflects):
    __array_priority__ = 2000


class NoArray(Reflects):
    __array_priority__ = 10.1  # as a sparse matrix's


class HasUfuncs:
    """Ufuncs ask it; it has no operators."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> str:
        return f"{ufunc.__name__} {method} {sorted(kwargs)}"


class DoesNotKnowUs:
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return NotImplemented


class Named(np.ndarray):
    """A subclass of NumPy's that keeps a note."""

    def __array_finalize__(self, from_: Any) -> None:
        self.note = getattr(from_, "note", None)


def named() -> Named:
    made = np.array([1, 2, 3], "float32").view(Named)
    made.note = "seconds"
    return made


def masked() -> np.ma.MaskedArray:
    return np.ma.array([1, 2, 3], "float32", mask=[False, True, False])


def check(body: Callable[[Any], Any]) -> None:
    """The same answer of theirs, or the same type of error."""
    try:
        expected = body(X.copy())
    except Exception as error:
        with pytest.raises(type(error)):
            body(clarray.array(X))
        return
    assert body(clarray.array(X)) == expected


# Who computes -------------------------------------------------------------------------------------

THEIRS = {kind.__name__: kind for kind in (RefusesUfuncs, Outranks, NoArray, HasUfuncs, DoesNotKnowUs)}


@pytest.mark.parametrize("kind", THEIRS.values(), ids=THEIRS)
def test_operators_are_theirs(kind: Any) -> None:
    for name, op in (OPERATORS | INTEGER_OPERATORS).items():
        if kind is not DoesNotKnowUs or name not in ("eq", "ne"):
            check(lambda x, op=op: op(x, kind()))
            check(lambda x, op=op: op(kind(), x))
    check(lambda x: divmod(x, kind()))
    check(lambda x: divmod(kind(), x))


@pytest.mark.parametrize("kind", THEIRS.values(), ids=THEIRS)
def test_operators_in_place(kind: Any) -> None:
    for name in ("iadd", "imul", "ipow", "imatmul", "iand"):
        if kind is HasUfuncs and name == "imatmul":
            continue  # NumPy gives its own keyword along
        check(lambda x, name=name: getattr(operator, name)(x, kind()))


@pytest.mark.parametrize("kind", [RefusesUfuncs, HasUfuncs, DoesNotKnowUs])
def test_ufuncs_are_theirs(kind: Any) -> None:
    check(lambda x: np.add(x, kind()))
    check(lambda x: np.add(kind(), x))
    check(lambda x: np.add(x, kind(), dtype="float32"))
    check(lambda x: np.add(x, x, out=kind()))
    check(lambda x: np.multiply.outer(x, kind()))
    check(lambda x: np.divmod(x, kind()))
    check(lambda x: np.matmul(x, kind()))


def test_clarrays_ufuncs_ask_them_too() -> None:
    x = clarray.array(X)
    assert clarray.add(x, HasUfuncs()) == "add __call__ []"
    assert clarray.add(HasUfuncs(), x) == "add __call__ []"
    assert clarray.add(x, x, out=HasUfuncs()) == "add __call__ ['out']"
    assert clarray.multiply.outer(x, HasUfuncs()) == "multiply outer []"
    for kind in (RefusesUfuncs, DoesNotKnowUs):
        with pytest.raises(TypeError):
            clarray.add(x, kind())


def test_comparisons_that_both_give_up_raise() -> None:
    class GivesUp(NoArray):
        def __eq__(self, other: object) -> Any:
            return NotImplemented

        __ne__ = __eq__
        __hash__ = None  # type: ignore[assignment]

    for op in (operator.eq, operator.ne):
        with pytest.raises(TypeError, match="neither DeviceArray nor GivesUp"):
            op(clarray.array(X), GivesUp())


# Subclasses of NumPy's array ----------------------------------------------------------------------


@pytest.mark.parametrize("op", OPERATORS.values(), ids=OPERATORS)
def test_masks_are_kept(op: Any) -> None:
    for pair in (lambda x: (x, masked()), lambda x: (masked(), x)):
        try:
            expected = op(*pair(X))
        except ValueError:  # NumPy's product of a masked array
            with pytest.raises(ValueError, match="ambiguous"):
                op(*pair(clarray.array(X)))
            continue
        found = op(*pair(clarray.array(X)))
        assert type(found) is np.ma.MaskedArray
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(expected))
        np.testing.assert_array_equal(found.compressed(), expected.compressed())


LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "ufunc": lambda x, y: np.add(x, y),
    "ufunc of theirs and ours": lambda x, y: np.add(y, x),
    "ufunc with keywords": lambda x, y: np.add(x, y, dtype="float64"),
    "outer": lambda x, y: np.add.outer(x, y),
    "at": lambda x, y: np.add.at(x, [0, 1, 2], y),
    "in place": lambda x, y: operator.iadd(x, y),
    "product": lambda x, y: np.inner(x, y),
    "concatenate": lambda x, y: np.concatenate([x, y]),
    "where": lambda x, y: np.where(x > 1, x, y),
    "dot": lambda x, y: np.dot(x, y),
}


@pytest.mark.parametrize("made", [masked, named], ids=["masked", "named"])
@pytest.mark.parametrize("call", LOSSES.values(), ids=LOSSES)
def test_functions_of_a_subclass_are_numpys(call: Any, made: Any) -> None:
    x, y = clarray.array(X), X.copy()
    found, expected = call(x, made()), call(y, made())
    as_numpys = {clarray.DeviceArray: np.ndarray}.get(type(found), type(found))
    assert as_numpys is type(expected) or np.isscalar(found)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
    np.testing.assert_array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(expected))
    np.testing.assert_array_equal(clarray.asnumpy(x), y)
    with clarray.config(host_library="raise"), pytest.raises(TypeError, match="host_library"):
        call(clarray.array(X), made())


@pytest.mark.parametrize("name", ["add", "sub", "mul", "lt"])
def test_operators_of_a_subclass_are_numpys_in_both_orders(name: str) -> None:
    op, x = OPERATORS[name], clarray.array(X)
    matrix = np.ones((3, 3)).view(np.matrix)
    for ours, theirs in (((x, named()), (X, named())), ((named(), x), (named(), X)), ((x, matrix), (X, matrix))):
        found, expected = op(*ours), op(*theirs)
        assert type(found) is type(expected)
        np.testing.assert_array_equal(found, expected)


def test_what_numpy_takes_of_masked_arrays_is_taken() -> None:
    x = clarray.zeros(3, "float32")
    x[...] = masked()
    assert x.tolist() == X.tolist()
    assert clarray.asarray(masked()).tolist() == X.tolist()


def test_mapped_files_are_plain_operands(tmp_path: Any) -> None:
    mapped = np.memmap(tmp_path / "x", "float32", "w+", shape=3)
    mapped[:] = X
    x = clarray.array(X)
    for found in (x + mapped, mapped + x, np.add(mapped, x), np.concatenate([x, mapped])[:3] * 2):
        assert isinstance(found, clarray.DeviceArray)
        assert found.tolist() == (X + X).tolist()
    x += mapped
    assert x.tolist() == (X + X).tolist()


# What is plain ------------------------------------------------------------------------------------


def test_manners() -> None:
    class Mine(clarray.DeviceArray):
        pass

    plain = (int, float, bool, complex, list, tuple, type(None), str, np.ndarray, np.memmap, np.float32, np.int8)
    assert {kind: operand_protocol(kind) for kind in plain} == dict.fromkeys(plain, OperandProtocol.CONVERT)
    assert operand_protocol(Mine) is OperandProtocol.OVERRIDES
    assert (
        operand_protocol(np.matrix)
        is operand_protocol(Named)
        is operand_protocol(np.ma.MaskedArray)
        is OperandProtocol.SUBCLASS
    )


@pytest.mark.parametrize(
    "left", [np.float32(2), np.float64(2), np.int64(3), np.uint8(200), np.array(2.0), np.bool_(True)]
)
@pytest.mark.parametrize("dtype", ["float32", "int16", "uint8"])
def test_scalars_of_numpys_stay_on_the_device(left: Any, dtype: str) -> None:
    x = X.astype(dtype)
    if left.dtype == np.float64 and not clarray.zeros(1, "int8").device.capabilities.fp64:
        pytest.skip("the device has no float64")
    for op in (operator.add, operator.mul, operator.lt, operator.ne):
        assert_same(op(left, clarray.array(x)), op(left, x))
        assert_same(op(clarray.array(x), left), op(x, left))


# Other libraries, where they are ------------------------------------------------------------------


def test_pint() -> None:
    unit = pytest.importorskip("pint").UnitRegistry()
    x = clarray.array(X)
    for found in (x * unit.m, unit.m * x, x * (2 * unit.m), (2 * unit.m) * x):
        assert isinstance(found.magnitude, clarray.DeviceArray)
        assert found.units == unit.m
    with pytest.raises(Exception, match="Cannot convert"):
        x + 2 * unit.m


def test_unyt() -> None:
    unyt = pytest.importorskip("unyt")
    for call in (lambda x: x + unyt.unyt_array([1.0, 2, 3], "m"), lambda x: np.stack([x, unyt.unyt_array(X, "m")])):
        with pytest.raises(TypeError, match=r"NotImplemented|no implementation"):
            call(clarray.array(X))


def test_sparse_matrices() -> None:
    matrix = pytest.importorskip("scipy.sparse").csr_array(np.arange(9, dtype="float32").reshape(3, 3))
    assert np.asarray(clarray.array(X) @ matrix).tolist() == (X @ matrix).tolist()
    for op in (operator.eq, operator.add):
        with pytest.raises(TypeError):
            op(clarray.array(X), matrix)


def test_pandas() -> None:
    series = pytest.importorskip("pandas").Series(X, index=[5, 6, 7])
    x = clarray.array(X)
    for found in (x + series, series + x, np.add(x, series), operator.iadd(clarray.array(X), series)):
        assert type(found) is type(series)
        assert (found.tolist(), found.index.tolist()) == ([2, 4, 6], [5, 6, 7])
    assert (x < series + 1).tolist() == [True] * 3


DASK = """
import clarray, dask.array, numpy as np
x = np.arange(3, dtype=np.float32)
try:
    clarray.array(x) + dask.array.from_array(x)
except TypeError as error:
    print("NotImplemented" in str(error))
import clarray.dask
print((clarray.array(x) + dask.array.from_array(x)).compute().tolist())
"""


def test_dask() -> None:
    """Dask defers to what it has not been told of: in a process of its own, since being told lasts."""
    pytest.importorskip("distributed")
    done = subprocess.run([sys.executable, "-c", DASK], capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout.splitlines() == ["True", "[0.0, 2.0, 4.0]"], done.stderr
