"""Runs programs until the time is over, in processes that are started again when one crashes or hangs."""

from __future__ import annotations

import faulthandler
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from . import known
from .compare import Difference, Undetermined
from .execute import Oracle, confirmed
from .grammar import repeated, skeleton, variants
from .printing import printed
from .program import Program
from .shrink import shrunk
from .sides import Side

ROOT = Path(__file__).resolve().parents[2]
RUNS_OF_A_SKELETON = 24
REPEATED_RUNS = 4  # of a skeleton, where each one is repeated
HANG = 150.0  # seconds that one program may take
SHRINKING = 60.0  # seconds for one finding
MANY = 3  # findings of one kind of statement and difference that are shrunk


def seeded(seed: int, job: int, jobs: int, first: int = 0) -> Iterator[int]:
    number = first
    while True:
        yield seed * 1_000_003 + job + jobs * number
        number += 1


def shares_memory() -> bool:
    """Whether `asarray` of an ndarray shares its memory: the device works in the host's."""
    from clarray._engine.runtime import current_device

    return current_device().capabilities.host_memory


def plan_as(name: str) -> None:
    """Plan as a row of the table of policies says: kernels of every device's shape run on any device."""
    if name != "own":
        from clarray._engine.evaluate import kernel_cache_of
        from clarray._engine.runtime import current_device
        from clarray._engine.tuning.rows import ROWS

        kernel_cache_of(current_device()).policies = ROWS[name]


def watched() -> None:
    """Write where the process is, should nothing new begin for long, for the parent to keep; LLVM takes signals."""
    faulthandler.dump_traceback_later(HANG)


# One process ---------------------------------------------------------------------------------------------


class Job:
    """One process's programs, findings and counts, which the parent reads from files."""

    def __init__(self, options: Namespace) -> None:
        self.out = Path(options.out)
        self.options = options
        known.IGNORED[:] = options.ignore
        plan_as(options.policy)
        self.counts: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()
        self.shares = shares_memory()
        self.running = self.out / f"running-{options.job}.py"
        self.state = self.out / f"job-{options.job}.json"

    def run(self) -> None:
        options = self.options
        end = options.until
        number = options.first
        for seed in seeded(options.seed, options.job, options.jobs, options.first):
            if time.time() > end or (options.programs and number >= options.programs):
                break
            number += 1
            self.state.write_text(json.dumps({"next": number, "counts": self.counts, "done": False}))
            watched()
            self.one(seed, end)
        faulthandler.cancel_dump_traceback_later()
        self.state.write_text(json.dumps({"next": number, "counts": self.counts, "done": True}))
        self.running.unlink(missing_ok=True)

    def one(self, seed: int, end: float) -> None:
        """A skeleton and its variants."""
        rng = Random(seed)
        program = skeleton(rng, self.shares)
        self.counts["skeletons"] += 1
        repeats = self.options.repeats
        runs = repeated(rng, program, repeats, REPEATED_RUNS) if repeats else variants(rng, program, RUNS_OF_A_SKELETON)
        for k, variant in enumerate(runs):
            if time.time() > end:
                return
            variant = replace(variant, note=f"seed {seed}, run {k}")
            watched()
            self.running.write_text(printed(variant, None, frozenset(range(len(variant.statements)))))
            found = confirmed(variant)
            self.counts["programs"] += 1
            self.counts["statements"] += len(variant.statements)
            if found is not None:
                self.counts["differences"] += 1
                self.found(variant, found)
                return  # the others would show the same

    def found(self, program: Program, found: Difference) -> None:
        label = f"{found.kind}: {program.statements[found.statement].kind}"
        self.seen[label] += 1
        if self.seen[label] > MANY or self.out.joinpath(f"{signature(label)}-2.py").exists():
            return
        program, found = shrunk(program, found, self.options.shrinking)
        last = program.statements[found.statement] if program.statements else None
        write_finding(self.out, program, found, f"{found.kind}: {last.kind if last else ''}")


def signature(label: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", re.sub(r"xp\.|\{\w+\}", "", label.lower())).strip("-")[:50]
    return f"{words}-{hashlib.sha1(label.encode()).hexdigest()[:6]}"


def write_finding(out: Path, program: Program, found: Difference, label: str) -> None:
    for k in range(MANY):
        path = out / f"{signature(label)}-{k}.py"
        if not path.exists():
            path.write_text(printed(program, found, raising(program)))
            print(f"{path.name}: {found}", flush=True)
            return


def raising(program: Program) -> frozenset[int]:
    """Which statements raise in NumPy or in clarray."""
    import clarray

    oracle, ours = Oracle(program, 0), Side(clarray, program)
    found = set()
    for k, statement in enumerate(program.statements):
        try:
            if oracle.run(statement) is not None or ours.run(statement) is not None:
                found.add(k)
        except Undetermined:
            break
    return frozenset(found)


# All of them ---------------------------------------------------------------------------------------------


class Worker:
    """A process, and what becomes of it."""

    def __init__(self, options: Namespace, job: int) -> None:
        self.options, self.job, self.first = options, job, 0
        self.out = Path(options.out)
        self.counts: Counter[str] = Counter()
        self.process = self.begun()

    def begun(self) -> subprocess.Popen[bytes]:
        o = self.options
        numbers = {
            "--seed": o.seed,
            "--jobs": o.jobs,
            "--out": o.out,
            "--job": self.job,
            "--first": self.first,
            "--until": o.until,
            "--programs": o.programs,
            "--shrinking": o.shrinking,
            "--policy": o.policy,
            "--repeats": o.repeats,
        }
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz"]
        command += [str(part) for pair in numbers.items() for part in pair]
        command += [f"--ignore={pattern}" for pattern in o.ignore]
        environment = dict(os.environ)
        if o.device:
            environment["CLARRAY_DEVICE"] = o.device
        self.log = self.out / f"log-{self.job}.txt"
        self.started = time.time()
        with self.log.open("ab") as log:
            return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)

    def state(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads((self.out / f"job-{self.job}.json").read_text())
        except (OSError, ValueError):
            found = {}
        return {"next": self.first, "counts": {}, "done": False} | found

    def look(self) -> bool:
        """Whether it is still at work; a crash or a hang is kept, and the next program started."""
        status = self.process.poll()
        if status is None and not self.hangs():
            return True
        if status is None:
            self.process.kill()
            self.process.wait()
        state = self.state()
        self.counts.update(state["counts"])
        if state["done"] and status == 0:
            return False
        self.keep("hang" if status is None else f"crash-{status}")
        self.first = max(state["next"], self.first + 1)
        (self.out / f"job-{self.job}.json").unlink(missing_ok=True)
        if time.time() > self.options.until:
            return False
        self.process = self.begun()
        return True

    def hangs(self) -> bool:
        written = (self.out / f"running-{self.job}.py", self.out / f"job-{self.job}.json")
        last = max([self.started, *(path.stat().st_mtime for path in written if path.exists())])
        return time.time() - last > HANG + self.options.shrinking

    def keep(self, what: str) -> None:
        """Keep the program that was running."""
        running = self.out / f"running-{self.job}.py"
        text = running.read_text() if running.exists() else "# no program had begun\n"
        tail = self.log.read_text(errors="replace")[-3000:] if self.log.exists() else ""
        path = self.out / f"{what}-{hashlib.sha1(text.encode()).hexdigest()[:6]}.py"
        path.write_text(text + "".join(f"# {line}\n" for line in tail.splitlines()))
        self.counts["differences"] += 1
        print(f"{path.name}: {what}", flush=True)


def run_all(options: Namespace) -> int:
    """Run all processes; give the exit status."""
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    for old in (*out.glob("job-*.json"), *out.glob("running-*.py"), *out.glob("log-*.txt")):
        old.unlink()
    before = {p.name for p in findings(out)}
    began = time.time()
    options.until = began + options.seconds
    workers = [Worker(options, job) for job in range(options.jobs)]
    at_work = list(workers)
    try:
        while at_work:
            time.sleep(0.3)
            at_work = [worker for worker in at_work if worker.look()]
    finally:
        for worker in at_work:
            worker.process.kill()
    total: Counter[str] = Counter()
    for worker in workers:
        total.update(worker.counts)
    new = [p for p in findings(out) if p.name not in before]
    seconds = time.time() - began
    print(
        f"{total['programs']} programs of {total['skeletons']} skeletons, {total['statements']} statements "
        f"in {seconds:.0f} s: "
        f"{total['programs'] / seconds:.1f} programs and {total['statements'] / seconds:.0f} statements a second; "
        f"{total['differences']} programs differed, {len(new)} findings in {out}"
    )
    for path in new:
        lines = path.read_text().splitlines()
        print(f"  {path.name}  {lines[0][3:160] if lines else ''}")
    return 1 if new or total["differences"] else 0


def findings(out: Path) -> list[Path]:
    return sorted(p for p in out.glob("*.py") if not p.name.startswith("running-"))


def run_one(seed: int, length: int, runs: int = 8) -> str:
    """Run a skeleton and its variants here; give the program that differs, as small as it gets, or nothing."""
    rng = Random(seed)
    for variant in variants(rng, skeleton(rng, shares_memory(), length), runs):
        found = confirmed(replace(variant, note=f"seed {seed}"))
        if found is not None:
            program, found = shrunk(variant, found, SHRINKING)
            return printed(program, found, raising(program))
    return ""
