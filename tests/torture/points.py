"""Run another thread's write at every bytecode of a statement, and compare with both orders of the two.

    python -m tests.torture.points --seconds 600

Random threads seldom meet between two given bytecodes. Here a trace function stops the statement at one of them, and
another thread writes meanwhile, if no lock of the statement's keeps it from doing so.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import clarray
from clarray._engine.expr.node import graph_lock
from clarray._engine.runtime import current_device
from tests.torture.threads import (
    DTYPES,
    READS,
    SIZES,
    STATEMENTS,
    STATEMENTS_WITHOUT_GIL,
    Program,
    local_scope,
    outcome_of,
    outcomes,
    program_of,
    values_of,
)

PACKAGE = os.path.dirname(clarray.__file__) + os.sep
WRITES = ("setitem(w, m, -1)", "x.fill(3)", "iadd(x, w)", "np.negative(x, out=x)", "setitem(x, WHOLE, y)")
ALL = STATEMENTS + STATEMENTS_WITHOUT_GIL + tuple(f"read({text})" for text in READS)
MOST = 60  # points of a statement that are tried


class Interruption:
    """Trace a thread, and at one bytecode of clarray's have another thread act; later if a lock is held there.

    Parameters
    ----------
    at : int
        How many bytecodes are run before.
    act : callable
    """

    def __init__(self, at: int, act: Callable[[], None]) -> None:
        self.at = at
        self.act = act
        self.count = 0  # of bytecodes up to the action, or to the end
        self.place = ""  # of the action; empty if there was none
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> Interruption:
        sys.settrace(self._enter)
        return self

    def __exit__(self, *args: object) -> None:
        sys.settrace(None)
        self._pool.shutdown()

    def _enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        if self.place or not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes = True
        return self._step

    def _step(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "opcode" and not self.place:
            self.count += 1
            if self.count > self.at and self._pool.submit(self._act_if_free).result():
                self.place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        return self._step

    def _act_if_free(self) -> bool:
        lock = current_device().lock
        if not lock.acquire(False):
            return False
        try:
            if not graph_lock.acquire(False):
                return False
            graph_lock.release()
            self.act()
            return True
        finally:
            lock.release()


def run_with_write(program: Program, at: int, evaluated: bool) -> tuple[Any, Interruption]:
    """Run the first thread's statements, and the second one's after so many bytecodes of the first statement."""
    shared = values_of(program, clarray.array)
    if evaluated:
        shared["y"].evaluate()
    reads: list[bytes] = []
    scope, other = local_scope(shared, reads), local_scope(shared, [])
    first, *rest = program.codes[0]

    def write() -> None:
        for code in program.codes[1]:
            exec(code, shared, other)

    with Interruption(at, write) as interruption:
        exec(first, shared, scope)
    if not interruption.place:
        write()
    for code in rest:
        exec(code, shared, scope)
    return outcome_of(shared, [tuple(reads), ()]), interruption


def wrong_points(statement: str, write: str, size: int, dtype: str, most: int = MOST) -> Iterator[str]:
    """Give the places in clarray at which a write leads to what neither order of the two statements gives."""
    program = program_of(((statement, "read(p)", "read(q)"), (write,)), size, dtype)
    allowed = outcomes(program)
    for evaluated in (False, True):
        run_with_write(program, sys.maxsize, evaluated)  # with a new kernel, which takes more bytecodes
        count = run_with_write(program, sys.maxsize, evaluated)[1].count
        last = -1
        for at in sorted(random.Random(0).sample(range(count), min(count, most))):
            if at < last:  # a lock was held up to there
                continue
            outcome, interruption = run_with_write(program, at, evaluated)
            last = interruption.count
            if outcome not in allowed:
                yield f"{write} in {statement}, {size} of {dtype}, at {interruption.place}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    rng = random.Random(options.seed)
    end = time.monotonic() + options.seconds
    pairs = wrong = 0
    while time.monotonic() < end:
        pairs += 1
        for text in wrong_points(rng.choice(ALL), rng.choice(WRITES), rng.choice(SIZES), rng.choice(DTYPES)):
            wrong += 1
            print(text, flush=True)
    print(f"seed {options.seed}: {pairs} pairs of statements, {wrong} points where neither order gives the outcome")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
