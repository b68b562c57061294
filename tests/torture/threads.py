"""Run random threads over shared arrays and compare them with every serial order of their statements.

    python tests/torture/threads.py --seconds 600

A program has two to four threads of a few statements each, which read and write the same arrays and views of them.
NumPy computes what each interleaving of the statements gives. What the threads have read and left must be one of these.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import iadd, imul, isub, setitem
from types import CodeType
from typing import Any

import numpy as np

SIZES = (8, 300, 5000)
SIZES_OF_NUMPY = (8, 300)  # for larger arrays it releases the GIL while it computes
PATIENCE = 120  # seconds that a program may take
RUNS = 12  # of one program
MOST_STATEMENTS = 8
WHOLE = slice(None)
LOCALS = ("p", "q")  # names of each thread's own
DTYPES = ("int64", "int32", "float64")  # in which all results are exact

# `x` and `w` are arrays of one axis, and `u`, `v` and `r` are views of `x`. `y`, `z`, the mask `b` and the selection
# `s` are pending values of the first `x` and `w`. `i` has distinct indices, the mask `m` selects as many elements, and
# `c` has as many values. `p` and `q` are values of the thread. `read` notes a value.
STATEMENTS = (
    "iadd(x, 1)",
    "iadd(x, w)",
    "iadd(w, x)",
    "isub(x, y)",
    "imul(w, 2)",
    "iadd(u, v)",
    "iadd(v, u)",
    "isub(x, r)",
    "np.add(x, w, out=x)",
    "np.add(x, 3, out=w)",
    "np.negative(x, out=x)",
    "np.maximum(x, w, out=w)",
    "np.add(x, 1, out=x, where=m)",
    "np.add.at(x, i, 1)",
    "setitem(x, WHOLE, y)",
    "setitem(x, WHOLE, z)",
    "setitem(w, WHOLE, y)",
    "setitem(x, WHOLE, w)",
    "setitem(x, WHOLE, r)",
    "setitem(u, WHOLE, v)",
    "setitem(v, WHOLE, u)",
    "setitem(x, slice(2, 6), 7)",
    "setitem(x, 3, 11)",
    "setitem(x, i, 5)",
    "setitem(x, i, c)",
    "setitem(x, m, 0)",
    "setitem(w, m, -1)",
    "x.fill(3)",
    "x.sort()",
    "np.copyto(x, w)",
    "np.copyto(x, c[0], where=m)",
    "np.put(x, i, 9)",
    "np.put(x, i, c)",
    "np.putmask(x, m, w)",
    "np.place(x, m, c)",
    "np.put_along_axis(x, i, 4, 0)",
    "np.fill_diagonal(x[:4].reshape(2, 2), 6)",
    "setitem(x, slice(1, -1), w[2:])",
    "setitem(x, b, 2)",
    "setitem(w, b, c[1])",
    "setitem(x, m, c)",
    "setitem(x, m, s)",
    "setitem(x, m, q)",
    "setitem(x, i, q)",
    "np.clip(x, 2, 9, out=x)",
    "np.round(x, out=w)",
    "np.concatenate((x[4:], x[:4]), out=w)",
    "np.stack((w[:4], x[4:8]), out=x[:8].reshape(2, 4))",
    "np.sum(x, keepdims=True, out=x[:1])",
    "np.max(x, keepdims=True, out=w[:1])",
    "np.add.accumulate(x, out=w)",
    "np.minimum.reduceat(x, i[::-1], out=w[: i.size])",
    "np.cumsum(v, out=v)",
    "p = x + w",
    "p = x * 2 - y",
    "p = r + 1",
    "p = x.copy()",
    "p = p + x",
    "q = x[m]",
    "q = np.extract(m, x)",
    "q = np.compress(m, w)",
    "q = q * 2",
)
# NumPy releases the GIL in these, however few elements there are, so that its threads come between.
STATEMENTS_WITHOUT_GIL = (
    "np.take(x, i, out=x[: i.size])",
    "np.compress(m, x, out=w[: i.size])",
    "np.choose(m, (x, w), out=x)",
)
READS = (
    "x",
    "w",
    "y",
    "z",
    "p",
    "u",
    "x + w",
    "x - y",
    "x.sum()",
    "x[3]",
    "x[i]",
    "x[m]",
    "x[m] + 1",
    "s",
    "q",
    "s.sum()",
    "(q + 1).max()",
    "q.mean()",
    "(x + w).max()",
    "np.sort(x)",
)


@dataclass(frozen=True)
class Program:
    """The statements of each thread, compiled, and what the arrays are."""

    texts: tuple[tuple[str, ...], ...]
    codes: tuple[tuple[CodeType, ...], ...]
    size: int
    dtype: str

    def __str__(self) -> str:
        threads = "\n".join(f"  thread {number}: {'; '.join(texts)}" for number, texts in enumerate(self.texts))
        return f"{self.size} of {self.dtype}\n{threads}"


def random_program(rng: random.Random, sizes: Sequence[int], statements: Sequence[str]) -> Program:
    """Draw a program of few enough statements for all its orders to be computed."""
    threads = rng.choice((2, 2, 3, 4))
    most = MOST_STATEMENTS // threads
    texts = [[_statement(rng, statements) for _ in range(rng.randint(1, most))] for _ in range(threads)]
    return program_of(texts, rng.choice(sizes), rng.choice(DTYPES))


def program_of(texts: Sequence[Sequence[str]], size: int, dtype: str) -> Program:
    """Compile the statements of each thread."""
    codes = tuple(tuple(compile(text, text, "exec") for text in each) for each in texts)
    return Program(tuple(map(tuple, texts)), codes, size, dtype)


def _statement(rng: random.Random, statements: Sequence[str]) -> str:
    return f"read({rng.choice(READS)})" if rng.random() < 0.3 else rng.choice(statements)


def values_of(program: Program, array: Callable[[np.ndarray], Any]) -> dict[str, Any]:
    """Make the arrays that the threads share."""
    n, dtype = program.size, program.dtype
    x = array(np.arange(n, dtype=dtype))
    w = array(np.arange(n, dtype=dtype)[::-1] % 5)
    places = np.arange(1, n, 3)[::-1].copy()
    named = {"x": x, "w": w, "u": x[1:], "v": x[:-1], "r": x[::-1], "i": array(places)}
    named |= {"m": array(np.arange(n) % 3 == 1), "c": array(np.arange(places.size).astype(dtype))}
    named |= {
        "y": x * 3,
        "z": x - w,
        "b": x > w,
        "s": x[named["m"]] - 1,
        "p": x + 1,
        "q": w[named["m"]],
        "np": np,
        "iadd": iadd,
        "isub": isub,
        "imul": imul,
        "setitem": setitem,
        "WHOLE": WHOLE,
    }
    return named


def local_scope(shared: dict[str, Any], reads: list[bytes]) -> dict[str, Any]:
    """Make the names of a thread: its values, and the function that notes what it reads."""
    return {name: shared[name] for name in LOCALS} | {"read": lambda value: reads.append(_bytes(value))}


# Every serial order ---------------------------------------------------------------------------------

State = tuple[bytes, ...]


def outcomes(program: Program) -> set[Any]:
    """Compute what all orders of the statements give, each as `outcome_of` has it."""
    shared = values_of(program, np.array)
    start = [({name: shared[name] for name in LOCALS}, ()) for _ in program.codes]
    found: set[Any] = set()
    _explore(program, shared, tuple(0 for _ in program.codes), start, found, set())
    return found


def _explore(
    program: Program, shared: dict[str, Any], done: tuple[int, ...], local: list[Any], found: set[Any], seen: set[Any]
) -> None:
    key = (
        done,
        shared["x"].tobytes(),
        shared["w"].tobytes(),
        tuple((tuple(values[name].tobytes() for name in LOCALS), reads) for values, reads in local),
    )
    if key in seen:
        return
    seen.add(key)
    if all(at == len(codes) for at, codes in zip(done, program.codes, strict=True)):
        found.add(outcome_of(shared, [reads for _, reads in local]))
        return
    before = shared["x"].copy(), shared["w"].copy()
    for number, codes in enumerate(program.codes):
        if done[number] == len(codes):
            continue
        values, reads = local[number]
        new_reads: list[bytes] = []
        scope = local_scope(values, new_reads)
        exec(codes[done[number]], shared, scope)
        own = {name: scope[name] for name in LOCALS}, reads + tuple(new_reads)
        after = (*done[:number], done[number] + 1, *done[number + 1 :])
        _explore(program, shared, after, [*local[:number], own, *local[number + 1 :]], found, seen)
        shared["x"][...], shared["w"][...] = before


def _bytes(value: Any) -> bytes:
    return (np.asarray(value) + 0).tobytes()  # -0.0 becomes 0.0: `maximum` of both returns either, in NumPy too


def outcome_of(shared: dict[str, Any], reads: list[tuple[bytes, ...]]) -> Any:
    """Give the final values and everything that was read, to be compared."""
    return _bytes(shared["x"]), _bytes(shared["w"]), _bytes(shared["y"]), tuple(reads)


# Threads --------------------------------------------------------------------------------------------


def run(program: Program, array: Callable[[np.ndarray], Any], evaluated: bool) -> Any:
    """Run the threads of a program once and give the outcome; what one of them raises is raised."""
    shared = values_of(program, array)
    if evaluated:
        _bytes(shared["y"])
    reads: list[list[bytes]] = [[] for _ in program.codes]
    errors: list[BaseException] = []
    start = threading.Barrier(len(program.codes))

    def work(number: int) -> None:
        scope = local_scope(shared, reads[number])
        try:
            start.wait(PATIENCE)
            for code in program.codes[number]:
                exec(code, shared, scope)
        except BaseException as error:
            error.add_note(str(program))
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(program.codes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return outcome_of(shared, [tuple(each) for each in reads])


@contextmanager
def switching_often() -> Iterator[None]:
    """Have threads take turns far more often than they usually do."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def check(seed: int, seconds: float, array: Callable[[np.ndarray], Any], most_wrong: int = 1) -> tuple[int, list[str]]:
    """Run random programs for some time; give their number, and those that gave what no order gives."""
    rng = random.Random(seed)
    is_numpy = array is np.array
    sizes = SIZES_OF_NUMPY if is_numpy else SIZES
    statements = STATEMENTS if is_numpy else STATEMENTS + STATEMENTS_WITHOUT_GIL
    wrong: list[str] = []
    programs = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end and len(wrong) < most_wrong:
        program = random_program(rng, sizes, statements)
        allowed = outcomes(program)
        programs += 1
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        with switching_often():
            if any(run(program, array, bool(turn % 2)) not in allowed for turn in range(RUNS)):
                wrong.append(str(program))
        faulthandler.cancel_dump_traceback_later()
    return programs, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--most", type=int, default=20, help="programs that go wrong before it ends")
    parser.add_argument("--numpy", action="store_true", help="NumPy in clarray's place")
    options = parser.parse_args()
    if options.numpy:
        array: Callable[[np.ndarray], Any] = np.array
    else:
        import clarray

        array = clarray.array
    programs, wrong = check(options.seed, options.seconds, array, options.most)
    for text in wrong:
        print(text)
    print(f"seed {options.seed}: {programs} programs, {len(wrong)} gave what no order of their statements gives")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
