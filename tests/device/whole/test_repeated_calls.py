"""A call is the same each time: six in a row, in three forms, give NumPy's values, errors and warnings.

What has been prepared for the next call of a kind (a recording, a plan, NumPy in a kernel's place) must forget nothing
that a call does: a warning at the user's line, an error, what is pending on the array that it writes to.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

import numpy as np
import pytest

import clarray
from clarray._engine.launch.host_tier import setting

from ..closeness import skip_without_float64
from .test_every_function import FUNCTIONS, KEYWORDS, NO_CALL, fresh, sample

pytestmark = pytest.mark.usefixtures("quick_builds")

TIMES = 6
USERS = "<the user's line>"


class Outcome(NamedTuple):
    """What a caller sees of a call.

    Parameters
    ----------
    value : object
    error : Exception or None
    warned : list of str
        Categories of warnings, each once.
    lines : list of bool
        Whether each names the line of the call.
    """

    value: Any
    error: Exception | None
    warned: list[str]
    lines: list[bool]


def observed(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], action: Any) -> Outcome:
    """Call, and return what a caller sees under a filter of warnings."""
    value: Any = None
    error: Exception | None = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        for category in (DeprecationWarning, PendingDeprecationWarning):  # each NumPy deprecates what it likes
            warnings.simplefilter("ignore", category)
        line = inspect.currentframe().f_lineno + 2  # type: ignore[union-attr]
        try:
            value = call(*args, **kwargs)
        except Exception as raised:
            error = raised
    named = sorted({each.category.__name__ for each in caught})
    lines = [each.filename == USERS or (each.filename, each.lineno) == (__file__, line) for each in caught]
    return Outcome(value, error, named, lines)


def on_device(value: Any) -> Any:
    """Return arguments with arrays in memory of the device's own: what the host shares is never pending."""
    if isinstance(value, np.ndarray):
        return clarray.array(value)
    return type(value)(map(on_device, value)) if type(value) in (tuple, list) else value


def arrays_in(value: Any) -> Iterator[Any]:
    if isinstance(value, np.ndarray | clarray.DeviceArray):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from arrays_in(each)
    elif isinstance(value, dict):
        yield from arrays_in(tuple(value.values()))


def pending_on(value: Any, turn: int | None) -> list[Any]:
    """Expressions that nobody has evaluated: of one of a call's arrays, the next one each turn, or of all in the last.

    What is pending on an operand that is only read has a call done anew, so that the one written must be alone.
    """
    found = list(arrays_in(value))
    if turn is None or not found:
        return []
    turn %= len(found) + 1
    chosen = found if turn == len(found) else found[turn : turn + 1]
    return [~each if each.dtype.kind == "b" else each + each.dtype.type(1) for each in chosen]


def assert_same(ours: Any, theirs: Any, what: str) -> None:
    """Compare values, dtypes and shapes; floats within what functions may round differently."""
    if isinstance(theirs, tuple | list):
        assert len(ours) == len(theirs), what
        for mine, other in zip(ours, theirs, strict=True):
            assert_same(mine, other, what)
    elif isinstance(theirs, np.ndarray | np.generic):
        is_on_device = isinstance(ours, clarray.DeviceArray)
        assert is_on_device or type(ours) is type(theirs), f"{what}: {type(ours).__name__} is not on the device"
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), what
        host = clarray.asnumpy(ours)
        bound = {"rtol": 1e-5, "atol": 1e-6} if theirs.dtype.kind in "fc" else {"rtol": 0, "atol": 0}
        np.testing.assert_allclose(host, theirs, equal_nan=True, err_msg=what, **bound)
    elif theirs is None or isinstance(theirs, bool | int | float | str):
        assert ours == theirs or (ours != ours and theirs != theirs), what


def check_call(name: str, ours: Any, theirs: Any, args: Any, kwargs: Any, action: Any, turn: int | None) -> None:
    """Call both once, with arguments of their own, and compare all that a caller sees."""
    what = f"{name} under {action!r}"
    given, expected = on_device(fresh(args)), fresh(args)
    named = {key: on_device(fresh(value)) for key, value in kwargs.items()}
    expected_named = {key: fresh(value) for key, value in kwargs.items()}
    readers, numpys = pending_on((given, named), turn), pending_on((expected, expected_named), turn)
    with np.errstate(all="ignore"):  # the device has no floating-point flags
        wanted = observed(theirs, expected, expected_named, action)
    raised: list[str] = []
    with np.errstate(all="call", call=lambda kind, flag: raised.append(kind)):
        found = observed(ours, given, named, action)
    skip_without_float64(found.error)
    assert raised == [], f"{what}: the error state's function was called"
    if wanted.error is None and found.error is not None:
        raise found.error
    if wanted.error is not None:
        assert isinstance(found.error, type(wanted.error)), f"{what}: {found.error!r} instead of {wanted.error!r}"
    else:
        assert_same(found.value, wanted.value, what)
    assert found.warned == wanted.warned, f"{what}: {found.warned} instead of {wanted.warned}"
    assert all(found.lines), f"{what}: a warning names another line than the call's"
    for mine, other in zip(arrays_in((given, named)), arrays_in((expected, expected_named)), strict=True):
        assert_same(mine, other, f"{what}: an argument afterwards")
    for mine, other in zip(readers, numpys, strict=True):
        assert_same(mine, other, f"{what}: what was pending on an argument")


def forms(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The same call with arguments by position, by keywords in order, and by keywords the other way round."""
    yield args, kwargs
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # of a function in C without a signature
        return
    by_name = [p.name for p in parameters[: len(args)] if p.kind is p.POSITIONAL_OR_KEYWORD]
    count = len(args) - len(by_name)
    if not by_name or any(p.kind is p.VAR_POSITIONAL for p in parameters[: len(args)]):
        return
    named = dict(zip(by_name, args[count:], strict=True)) | kwargs
    yield args[:count], named
    yield args[:count], dict(reversed(named.items()))


def _takes_no_such_names(theirs: Any, positional: Any, named: Any) -> bool:
    """Return whether NumPy refuses keywords that its signature names, as `numpy.unique_all` does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs(*fresh(positional), **{key: fresh(value) for key, value in named.items()})
        except TypeError as error:
            return "positional-only" in str(error)
    return False


def turn_of(action: str, time: int) -> int | None:
    """Return whose turn it is to have something pending: nobody's in the calls before there is a recording."""
    return None if action == "always" and time < 2 else time


def check_repeated(name: str, ours: Any, theirs: Any, args: Any, kwargs: Any) -> None:
    for number, (positional, named) in enumerate(forms(theirs, args, kwargs)):
        if number and _takes_no_such_names(theirs, positional, named):
            continue
        for action in ("always", "error"):
            for time in range(TIMES):
                text = f"{name}, form {number}, time {time + 1}"
                check_call(text, ours, theirs, positional, named, action, turn_of(action, time))


@pytest.fixture(params=["kernels", "first calls"])
def computed_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels from the first call on, as on a GPU, or NumPy for first and small calls, as users have it on a CPU."""
    monkeypatch.setattr(setting, "on", request.param == "first calls")


@pytest.mark.usefixtures("computed_by")
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in NO_CALL])
def test_function(name: str) -> None:
    check_repeated(name, getattr(clarray, name), getattr(np, name), sample(name), KEYWORDS.get(name, {}))


_SQUARE = np.eye(4) + np.arange(16.0).reshape(4, 4) / 20
_SYMMETRIC, _LINE = _SQUARE @ _SQUARE.T, np.arange(4.0)
_OF_MATRICES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("inv", "det", "slogdet", "qr", "svdvals", "matrix_rank", "norm", "trace", "diagonal"), (_SQUARE,)),
    **dict.fromkeys(("matrix_norm", "vector_norm", "matrix_transpose", "pinv", "cond"), (_SQUARE,)),
    **dict.fromkeys(("cholesky", "eigvalsh"), (_SYMMETRIC,)),
    **dict.fromkeys(("matmul", "tensordot", "vecdot"), (_SQUARE, _SYMMETRIC)),
    **dict.fromkeys(("solve", "lstsq"), (_SQUARE, _LINE)),
    "outer": (_LINE, _LINE),
    "cross": (_LINE[1:], _LINE[:0:-1]),
    "matrix_power": (_SQUARE, 3),
    "multi_dot": ([_SQUARE, _SYMMETRIC, _SQUARE],),
    "tensorsolve": (_SQUARE, _LINE),
    "tensorinv": (_SQUARE, 1),
}
_TRANSFORMS = [f"{inverse}{kind}fft{axes}" for kind in ("", "r") for inverse in ("", "i") for axes in ("", "2", "n")]
_TRANSFORMS += ["hfft", "ihfft", "fftshift", "ifftshift"]
_OF_MODULES = {f"linalg.{name}": args for name, args in _OF_MATRICES.items()}
_OF_MODULES |= {f"fft.{name}": (_SQUARE,) for name in _TRANSFORMS}


@pytest.mark.usefixtures("computed_by")
@pytest.mark.parametrize("name", _OF_MODULES)
def test_function_of_a_module(name: str) -> None:
    module, function = name.split(".")
    ours, theirs = (getattr(getattr(xp, module), function) for xp in (clarray, np))
    check_repeated(name, ours, theirs, _OF_MODULES[name], {})


# Calls of ufuncs, methods and statements, which have no other forms ----------------------------------------

COMPLEX, REAL, MASK, INDICES = np.arange(5000) * 1j, np.ones(5000), np.arange(5000) % 2 == 0, np.array([1, 2, 3])
ARGUMENTS = {"c": COMPLEX, "r": REAL, "m": MASK, "i": INDICES, "e": np.ones((70, 70)), "n": np.full((10, 3), np.nan)}
ARGUMENTS = {name: value.copy() for name, value in ARGUMENTS.items()}
STATEMENTS = """
c.astype(float)
c[::-1].astype("f4", order="F")
xp.copyto(r, c, casting="unsafe")
xp.copyto(r, c, casting="unsafe", where=m)
np.copyto(src=c, casting="unsafe", dst=r)
np.copyto(src=c, dst=r)
r.__setitem__(slice(1, None), c[1:])
r.__setitem__(slice(None), c * 2)
r.__setitem__(i, c[:3])
r.__setitem__([1, 2, 3], c[:3])
r.__setitem__(m, c[:2500])
r.__setitem__(m, c[m])
r.__setitem__(3, 1j)
r.__setitem__(3, np.complex128(1j))
r.__setitem__(slice(None), np.complex128(1j))
r.__setitem__(Ellipsis, c.sum())
r.flat.__setitem__(slice(None), c)
r.put(i, c[:3])
r.fill(1j)
xp.put(ind=i, v=c[:3], a=r)
xp.putmask(r, m, c)
xp.put_along_axis(r, i, c[:3], 0)
xp.fill_diagonal(e, c[:70])
xp.insert(r, 3, c[:2])
xp.cumsum(c, dtype=float)
xp.cumsum(c, out=r)
c.cumprod(dtype="f4")
c.sum(dtype=float)
c.mean(dtype=float)
np.add.reduce(c, dtype=float)
np.add.accumulate(c, dtype=float)
np.add.reduceat(c, [0, 3], dtype=float)
np.add.at(r, i, c[:3])
np.add.at(r, [1, 2], 1j)
np.add(c, 1, out=r, casting="unsafe")
np.add(c, 1, r)
np.add(c, c, dtype=float, casting="unsafe")
np.negative(c, out=r, casting="unsafe", where=m)
np.multiply.outer(c[:9], c[:9], dtype=float, casting="unsafe")
xp.clip(c, 0, 1, out=r, casting="unsafe")
xp.matmul(c, c, dtype=float, casting="unsafe")
xp.einsum("i,i", c, c, dtype=float, casting="unsafe")
xp.concatenate((c, r), dtype=float, casting="unsafe")
xp.stack((c, r), dtype=float, casting="unsafe")
xp.choose(i % 2, (c[:3], r[:3]), out=r[:3])
xp.take(c, i, out=r[:3])
xp.compress(m, c, out=r[:2500])
xp.full_like(r, 1j)
xp.pad(r, 3, constant_values=1j)
xp.linspace(0, 1j, 5, dtype=float)
xp.geomspace(1, 1j, 5, dtype=float)
np.add(r, 1, where=m)
xp.add(r, 1, where=m)
xp.add(r, 1, None, where=m)
np.add(r, 1, out=r, where=m)
np.sqrt(r, where=True)
np.add(r, r, where=m, dtype="f4", casting="unsafe")
np.divmod(r, 2, where=m)
xp.mean(r[:0])
xp.mean(e[:0], axis=0)
xp.var(r[:1], ddof=1)
xp.nanmax(n, axis=0)
xp.nanmin(n)
xp.nanmean(n, axis=1)
xp.nanmedian(n)
xp.nanvar(n)
xp.nanpercentile(n, 30)
xp.median(r[:0])
xp.cov(r[:1])
xp.average(r[:0])
xp.polyfit(r[:5], r[:5], 3)
xp.sort(r, axis=7)
xp.concatenate((r, e))
r.__setitem__(i + 5000, 1)
xp.take(r, i + 5000)
xp.linalg.inv(e)
xp.power(i, -i)
""".strip().splitlines()


def statement(code: str, xp: Any) -> Callable[..., Any]:
    """Return a function of the arguments' names whose one line is the user's."""
    text = f"({code}, None)[1]" if "where=m" in code and "out=" not in code else code  # elements that nobody sets
    made = eval(compile(f"lambda {', '.join(ARGUMENTS)}: {text}", USERS, "eval"), {"xp": xp, "np": np})
    return cast(Callable[..., Any], made)


@pytest.mark.usefixtures("computed_by")
@pytest.mark.parametrize("code", STATEMENTS)
def test_statement(code: str) -> None:
    for action in ("always", "error"):
        for time in range(TIMES):
            text = f"{code}, time {time + 1}"
            ours, theirs = statement(code, clarray), statement(code, np)
            check_call(text, ours, theirs, (), ARGUMENTS, action, turn_of(action, time))


MANY = 2000  # more than the first calls that NumPy computes before recordings are tried


@pytest.mark.parametrize(
    "code", [*STATEMENTS[2:4], 'xp.stack((c, r), dtype=float, casting="unsafe")', "np.add.at(r, i, c[:3])"]
)
def test_the_last_of_many_warns_too(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setting, "on", True)
    call, given = statement(code, clarray), {name: on_device(value) for name, value in ARGUMENTS.items()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(MANY):
            call(**given)
    assert len(caught) == MANY
    assert {each.filename for each in caught} == {USERS}


# What a user sets between two calls counts at the next one ------------------------------------------------

CALLS: dict[str, Callable[[Any], Any]] = {
    "sort": lambda x: clarray.sort(x),
    "cumsum": lambda x: x.cumsum(),
    "concatenate": lambda x: clarray.concatenate((x, x)),
    "roll": lambda x: clarray.roll(x, 1),
    "divide": lambda x: x / 0,
    "sum": lambda x: x.sum().evaluate(),
    "take": lambda x: x[clarray.array([1, 2])],
}


def values() -> clarray.DeviceArray:
    return clarray.array(np.linspace(1, 2, 5000, dtype="f4"))


def run(name: str) -> Any:
    found = CALLS[name](values())
    found.evaluate()
    return found


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setting, "on", False)


@pytest.mark.kernels_alone
@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", CALLS)
def test_a_profile_sees_each_call(name: str) -> None:
    counts = []
    for time in range(TIMES):
        if time % 2:
            with clarray.profile() as seen:
                run(name)
            counts.append(seen.launches)
        else:
            run(name)
    assert counts[0] > 0
    assert set(counts) == {counts[0]}


@pytest.mark.usefixtures("computed_by")
def test_check_finite_begins_and_ends_between_calls() -> None:
    for time in range(TIMES):
        run("divide")
        if time % 2:
            with clarray.config(check_finite=True), pytest.raises(FloatingPointError, match="divide"):
                run("divide")


@pytest.mark.usefixtures("computed_by")
@pytest.mark.parametrize("name", ["sort", "cumsum", "take"])
def test_an_output_becomes_read_only(name: str) -> None:
    target = values() if name != "take" else values()[:2]
    call: Callable[[], Any] = {
        "sort": lambda: target.sort(),
        "cumsum": lambda: values().cumsum(out=target),
        "take": lambda: clarray.take(values(), [1, 2], out=target),
    }[name]
    for time in range(TIMES):
        target.flags.writeable = not time % 2
        if time % 2:
            with pytest.raises(ValueError, match="read-only"):
                call()
        else:
            call()


@pytest.mark.usefixtures("computed_by")
def test_a_librarys_policy_changes_between_calls() -> None:
    matrix = clarray.array(np.eye(200) + np.ones((200, 200)))
    for policy in ("allow", "raise", "warn", "allow", "warn", "raise"):
        with clarray.config(host_library=policy), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if policy == "raise":
                with pytest.raises(TypeError, match="host_library"):
                    clarray.linalg.eig(matrix)
            else:
                clarray.linalg.eig(matrix)
        assert [each.filename for each in caught] == [__file__] * (policy == "warn")


@pytest.mark.usefixtures("computed_by")
def test_a_fallbacks_policy_changes_between_calls() -> None:
    for policy in ("allow", "raise", "warn", "allow", "warn", "raise"):
        with clarray.config(host_fallback=policy), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if policy == "raise":
                with pytest.raises(TypeError, match="host_fallback"):
                    np.busday_count(values(), values())
            else:
                with pytest.raises(TypeError, match="cast"):
                    np.busday_count(values(), values())
        assert [each.filename for each in caught] == [__file__] * (policy == "warn")
