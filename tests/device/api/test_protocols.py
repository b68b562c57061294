"""How other code finds clarray: NumPy's functions on device arrays, copies, pickles, ndarrays of them."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import overrides

import clarray
from clarray._api import protocols
from clarray._core.host_fallback import without_host_fallback
from clarray._engine.runtime import current_device

MODULES = ("numpy", "numpy.linalg", "numpy.fft")
TELLS_NO_SIGNATURE = {"fromstring"}
HAS_OLD_ARGUMENTS = np.lib.NumpyVersion(np.__version__) < "2.4.0"  # deprecated ones, which are gone since
# Names of arguments that are NumPy's own business, or named otherwise in its other texts of the signature.
NOT_OURS = {
    "arange": {"start_or_stop"},
    "array": {"ndmax"},
    "einsum": {"kwargs"},
    "einsum_path": {"einsum_call"},
}
X = np.arange(1, 13, dtype=np.float32).reshape(3, 4)


# NumPy's functions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.concatenate([x, x]),
        lambda x: np.concatenate([x, X]),
        lambda x: np.amax(x, axis=0),
        lambda x: np.linalg.norm(x),
        lambda x: np.linalg.matrix_transpose(x),
        lambda x: np.fft.fft(x).real,
        lambda x: np.fft.fftshift(x),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=1).sum(-1),
        lambda x: np.ones(3, np.float32, like=x),
        lambda x: np.full_like(x, 2),
        lambda x: np.where(x > 3, x, 0),
    ],
)
def test_numpys_functions_stay_on_the_device(call: Callable[[Any], Any]) -> None:
    found, expected = call(clarray.asarray(X)), call(X)
    assert isinstance(found, clarray.DeviceArray)
    assert found.shape == expected.shape
    np.testing.assert_allclose(clarray.asnumpy(found), expected, rtol=1e-5)


def test_every_function_that_clarray_has_is_found() -> None:
    """Whatever NumPy dispatches goes to the function in clarray's same place, which takes the same arguments."""
    for function in sorted(overrides.get_overridable_numpy_array_functions(), key=lambda f: f.__name__):
        if function.__module__ not in MODULES:
            continue
        place = getattr(clarray, function.__module__[6:], clarray)
        ours = getattr(place, function.__name__, None)
        if ours is None or ours is function:
            assert protocols.counterpart(function, clarray) is None
            continue
        assert protocols.counterpart(function, clarray) is without_host_fallback(ours)
        have = inspect.signature(ours).parameters
        if HAS_OLD_ARGUMENTS or function.__name__ in TELLS_NO_SIGNATURE:
            continue
        if not any(p.kind is p.VAR_KEYWORD for p in have.values()):
            wanted = inspect.signature(function).parameters.keys() - {"like"}
            assert wanted <= have.keys() | NOT_OURS.get(function.__name__, set()), function.__name__


def test_others_raise_with_the_name_and_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    from numpy.lib import recfunctions

    monkeypatch.delattr(clarray, "flip")
    monkeypatch.setattr(protocols, "_counterparts", {})
    calls = {"numpy.flip": np.flip}
    calls["numpy.lib.recfunctions.structured_to_unstructured"] = recfunctions.structured_to_unstructured
    for name, function in calls.items():
        with pytest.raises(TypeError, match=rf"{name} has no device implementation.*host_fallback.*'allow'"):
            function(clarray.asarray(X))
    with clarray.config(host_fallback="allow"):
        assert np.flip(clarray.asarray(X)).tolist() == X[::-1, ::-1].tolist()


def test_arrays_of_other_libraries_are_left_to_them() -> None:
    class Theirs:
        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> str:
            return f"theirs: {func.__name__}"

    assert np.concatenate([clarray.asarray(X), Theirs()]) == "theirs: concatenate"


def test_functions_of_other_packages_are_not_ours() -> None:
    def sum(x: Any) -> None:
        """Another library's, under a name that clarray has."""

    sum.__module__ = "another_package"
    assert protocols.counterpart(sum, clarray) is None


def test_like_makes_arrays_on_the_same_device() -> None:
    for device in clarray.devices():
        x = clarray.zeros(2, dtype=np.float32, device=device)
        assert np.zeros(3, np.int32, like=x).device is device
        assert np.asarray([1, 2], like=x).device is device
    assert clarray.zeros(1, np.int32).device is current_device()


# Copies -------------------------------------------------------------------------------------------

LAYOUTS: dict[str, Callable[[Any], Any]] = {"C": lambda x: x, "F": lambda x: x.T, "strided": lambda x: x[::2, ::-1]}
COPIES: dict[str, Callable[[Any], Any]] = {"copy": copy.copy, "deepcopy": copy.deepcopy}
COPIES |= {
    f"pickle {protocol}": lambda x, protocol=protocol: pickle.loads(pickle.dumps(x, protocol))
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)
}


@pytest.mark.parametrize("made", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_copies_are_independent_and_keep_the_layout(made: Any, layout: Any, same: Any) -> None:
    def body(xp: Any) -> Any:
        x = layout(xp.array(X))
        other = made(x)
        x[0] = -1
        return other, other.strides

    same(body)


def test_pickles_of_special_arrays(same: Any) -> None:
    same(lambda xp: pickle.loads(pickle.dumps(xp.zeros((0, 3), np.int8))))
    same(lambda xp: pickle.loads(pickle.dumps(xp.asarray(np.float32(2)))))
    same(lambda xp: pickle.loads(pickle.dumps(xp.asarray(X) > 3)))


def test_pickles_out_of_band() -> None:
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(clarray.asarray(X), 5, buffer_callback=buffers.append)
    assert (len(buffers), len(data) < X.nbytes * 8) == (1, True)
    assert pickle.loads(data, buffers=buffers).tolist() == X.tolist()


def test_copies_of_containers_share_as_they_did() -> None:
    x = clarray.asarray(X)
    first, second = copy.deepcopy([x, x])
    assert first is second
    assert first is not x


# ndarrays -----------------------------------------------------------------------------------------


def test_ndarrays_of_arrays_are_copies() -> None:
    x = clarray.array(X)
    host = np.asarray(x)
    host[0] = -1
    assert x.tolist() == X.tolist()
    assert np.asarray(x, dtype=np.int64).tolist() == X.astype(np.int64).tolist()
    assert np.array(x[:, 1], copy=True).tolist() == X[:, 1].tolist()
    assert not hasattr(x, "__array_interface__")


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_ndarrays_keep_the_layout_whatever_the_device(layout: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, host = layout(clarray.array(X)), layout(X).copy(order="K")
    found = [np.asarray(x)]
    apart = dataclasses.replace(x.device.capabilities, host_memory=False)
    monkeypatch.setattr(x.device, "capabilities", apart)
    found.append(np.asarray(x))
    for one in found:
        assert (one.tolist(), one.strides) == (host.tolist(), host.strides)


def test_ndarrays_without_a_copy() -> None:
    x = clarray.array(X)
    if not x.device.capabilities.host_memory:
        with pytest.raises(ValueError, match="not in host memory"):
            np.asarray(x, copy=False)
        return
    pending = x + 1
    host = np.asarray(x, copy=False)
    host[0] = -1
    assert x[0].tolist() == [-1] * 4
    assert pending.tolist() == (X + 1).tolist()
    with pytest.raises(ValueError, match="the array is float32, not int32"):
        np.asarray(x, dtype=np.int32, copy=False)
    assert not np.asarray(clarray.broadcast_to(x, (2, 3, 4)), copy=False).flags.writeable
