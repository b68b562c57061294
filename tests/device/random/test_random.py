"""The random bits: known answers, and that nothing but seed and position decides an element."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device
from clarray.random import Generator, Philox4x32, SeedSequence, default_rng
from clarray.random import nodes as drawing

# kat_vectors of Random123: counter, key, block
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def block(counter: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    """Philox4x32-10 as the paper has it."""
    a, b, c, d = counter
    k0, k1 = key
    for _ in range(10):
        p, q = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = (q >> 32) ^ b ^ k0, q & 0xFFFFFFFF, (p >> 32) ^ d ^ k1, p & 0xFFFFFFFF
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return a, b, c, d


def words(bits: Philox4x32, count: int) -> np.ndarray:
    """What `random_raw` must give."""
    state = bits.state["state"]
    key = tuple(int(k) for k in state["key"])
    start = sum(int(w) << 32 * place for place, w in enumerate(state["counter"]))
    found: list[int] = []
    for number in range(start, start + -(-count // 4)):
        found += block(tuple(number >> 32 * place & 0xFFFFFFFF for place in range(4)), key)
    return np.array(found[:count], np.uint32)


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions are counted in 64 bits, as in draws of 2^31 numbers."""
    monkeypatch.setattr(drawing, "LIMIT_OF_32_BITS", 0)


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_known_answers(counter: tuple[int, ...], key: tuple[int, ...], expected: tuple[int, ...]) -> None:
    assert block(counter, key) == expected


@pytest.mark.parametrize("counter", [0, 2**32 - 3, 2**64 + 5, 2**96 - 20])
def test_words(policy: str, counter: int) -> None:
    bits = Philox4x32(key=0x299F31D0A4093822, counter=counter)
    expected = words(bits, 43)
    assert bits.random_raw((43,)).get().tolist() == expected.tolist()


@pytest.mark.usefixtures("far")
def test_words_of_long_draws(policy: str) -> None:
    bits = Philox4x32(7)
    expected = words(bits, 43)
    assert bits.random_raw(43).get().tolist() == expected.tolist()


def test_known_answer_of_the_device() -> None:
    assert Philox4x32(key=0).random_raw(4).get().tolist() == list(KNOWN[0][2])
    with pytest.raises(ValueError, match="less than"):  # the last word counts attempts: it is not the user's
        Philox4x32(counter=KNOWN[2][0])


# One position, one number -------------------------------------------------------------------------

DRAWS: dict[str, Callable[[Generator], Any]] = {
    "random": lambda rng: rng.random((3, 5, 7), np.float32),
    "double": lambda rng: rng.random((3, 5, 7)),
    "normal": lambda rng: rng.standard_normal((3, 5, 7), np.float32),
    "integers": lambda rng: rng.integers(0, 3 << 30, (3, 5, 7), np.uint32),
    "gamma": lambda rng: rng.standard_gamma(0.7, (3, 5, 7), np.float32),
}


def needs_double(name: str) -> None:
    if name == "double" and not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")


@pytest.fixture(params=["random", "double", "integers"])
def draw(request: pytest.FixtureRequest) -> Callable[[], Any]:
    needs_double(request.param)
    return lambda: DRAWS[request.param](default_rng(11))


EXPECTED: dict[str, np.ndarray] = {}


@pytest.mark.parametrize("name", DRAWS)
def test_vector_width_does_not_matter(policy: str, name: str) -> None:
    needs_double(name)
    found = DRAWS[name](default_rng(11)).get()
    expected = EXPECTED.setdefault(name, found)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["random", "integers", "gamma"])
@pytest.mark.usefixtures("far")
def test_width_of_positions_does_not_matter(name: str) -> None:
    found = DRAWS[name](default_rng(11)).get()
    expected = EXPECTED.setdefault(name, found)
    np.testing.assert_array_equal(found, expected)


def test_what_reads_it_does_not_matter(draw: Callable[[], Any]) -> None:
    whole = draw().get()
    turned = clarray.ones((7, 5, 3), whole.dtype)
    np.testing.assert_array_equal((draw().T * turned).get(), whole.T)
    np.testing.assert_array_equal(draw()[1:, ::2].get(), whole[1:, ::2])
    np.testing.assert_array_equal(draw().max(1).get(), whole.max(1))


def test_calls_follow_each_other() -> None:
    whole = default_rng(3).integers(0, 2**32, 64, np.uint32).get()
    rng = default_rng(3)
    parts = [rng.integers(0, 2**32, n, np.uint32).get() for n in (16, 4, 0, 44)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.kernels_alone
def test_a_draw_takes_no_pass_of_its_own() -> None:
    rng = default_rng(1)
    (rng.random(1000, np.float32) * 2).evaluate()
    with clarray.profile() as seen:
        (rng.random(1000, np.float32) * 2).evaluate()
    assert seen.launches == 1


def test_equal_seeds_give_equal_numbers() -> None:
    one = default_rng(5).random(8, np.float32).get()
    for seed in (SeedSequence(5), Philox4x32(5), default_rng(5), [5]):
        np.testing.assert_array_equal(default_rng(seed).random(8, np.float32).get(), one)
    assert default_rng(6).random(8, np.float32).get().tolist() != one.tolist()
    assert default_rng().random(8, np.float32).get().tolist() != default_rng().random(8, np.float32).get().tolist()


# State --------------------------------------------------------------------------------------------


def raw(bits: Philox4x32) -> list[int]:
    found: list[int] = bits.random_raw(5).get().tolist()
    return found


def test_state_can_be_kept() -> None:
    bits = Philox4x32(9)
    bits.random_raw(6)
    state = bits.state
    assert state["state"]["counter"].tolist() == [2, 0, 0, 0]
    expected = raw(bits)
    other = Philox4x32(0)
    other.state = state
    assert raw(other) == expected
    bits.state = state
    for made in (pickle.loads(pickle.dumps(bits)), copy.deepcopy(bits)):
        assert raw(made) == expected
    rng = pickle.loads(pickle.dumps(Generator(bits)))
    assert raw(rng.bit_generator) == expected
    assert raw(rng.spawn(1)[0].bit_generator) == raw(Philox4x32(SeedSequence(9).spawn(1)[0]))


def test_streams() -> None:
    bits = Philox4x32(9)
    ahead = Philox4x32(9).advance(3)
    bits.random_raw(12)
    assert bits.state["state"]["counter"].tolist() == ahead.state["state"]["counter"].tolist()
    assert ahead.advance(-3).state["state"]["counter"].tolist() == [0, 0, 0, 0]
    jumped = bits.jumped(2)
    assert jumped.state["state"]["counter"].tolist() == [3, 0, 2, 0]
    assert not set(raw(jumped)) & set(raw(bits))


def test_a_draw_stays_in_its_stream() -> None:
    bits = Philox4x32(key=1, counter=2**64 - 1)
    expected = words(Philox4x32(key=1, counter=2**64), 8)
    assert bits.random_raw(8).get().tolist() == expected.tolist()
    last = Philox4x32(key=1, counter=2**96 - 1)
    assert last.random_raw(8).get().tolist() == words(Philox4x32(key=1), 8).tolist()


def test_children_and_streams_are_not_correlated() -> None:
    rng = default_rng(8)
    several = [*rng.spawn(2), Generator(rng.bit_generator.jumped()), rng, default_rng(9)]
    normal = np.array([g.standard_normal(20000, np.float32).get() for g in several])
    off = np.corrcoef(normal) - np.eye(len(several))
    assert np.abs(off).max() < 0.03
    shifted = [np.corrcoef(normal[3][:-k], normal[3][k:])[0, 1] for k in (1, 2, 3, 4, 8, 16, 64)]
    assert np.abs(shifted).max() < 0.03


# Arguments ----------------------------------------------------------------------------------------


def test_wrong_arguments_of_bit_generators() -> None:
    with pytest.raises(ValueError, match="both"):
        Philox4x32(1, key=2)
    with pytest.raises(ValueError, match="key must be positive"):
        Philox4x32(key=-1)
    with pytest.raises(ValueError, match="32 bits"):
        Philox4x32(key=[2**32, 0])
    with pytest.raises(TypeError, match="dict"):
        Philox4x32(1).state = 3  # type: ignore[assignment]
    with pytest.raises(ValueError, match="Philox4x32"):
        Philox4x32(1).state = np.random.Philox(1).state
    with pytest.raises(TypeError, match="spawning"):
        Philox4x32(key=1).spawn(1)
    with pytest.raises(TypeError, match="draws on the host"):
        default_rng(np.random.default_rng(1))
    with pytest.raises(TypeError, match="Philox4x32"):
        Generator(np.random.PCG64(1))


def test_shared_generator() -> None:
    needs_double("double")
    random = clarray.random
    random.seed(4)
    state = random.get_state()
    first = random.rand(2, 3).get()
    random.set_state(state)
    np.testing.assert_array_equal(random.random_sample((2, 3)).get(), first)
    assert random.randn(3).shape == (3,)
    assert random.randint(2, 5, 7).dtype == np.int64
    assert random.choice(5, 3, replace=False).shape == (3,)
    random.seed(4)
    np.testing.assert_array_equal(random.random((2, 3)).get(), first)


def test_random_state_draws_as_a_generator_does() -> None:
    needs_double("double")
    state, rng = clarray.random.RandomState(7), default_rng(7)
    np.testing.assert_array_equal(state.random_sample(5).get(), rng.random(5).get())
    np.testing.assert_array_equal(state.randint(2, 9, (2, 3)).get(), rng.integers(2, 9, (2, 3)).get())
    restored = pickle.loads(pickle.dumps(state))
    assert type(restored) is clarray.random.RandomState
    np.testing.assert_array_equal(restored.randn(3).get(), rng.standard_normal(3).get())
    assert int(state.tomaxint()) >= 0


def test_names_are_numpys() -> None:
    missing = set(np.random.__all__) - set(clarray.random.__all__)
    assert missing == {"MT19937", "PCG64", "PCG64DXSM", "SFC64", "BitGenerator", "random_integers"}
    methods = {name for name in dir(np.random.Generator) if not name.startswith("_")}
    assert methods <= set(dir(Generator))
    older = {name for name in dir(np.random.RandomState) if not name.startswith("_")}
    assert older - set(dir(clarray.random.RandomState)) == {"random_integers"}
    assert all(hasattr(clarray.random, name) for name in clarray.random.__all__)


def test_repr() -> None:
    assert str(default_rng(1)) == "Generator(Philox4x32)"
    assert repr(Philox4x32(key=1)) == "<Philox4x32 key=0x0000000000000001 counter=0x0>"
