"""Sorts on a GPU: lines that fit a work-group one at a time, or one long line in passes over its tiles."""

from __future__ import annotations

from typing import Any

from clarray._engine.algorithms.sort.plan import GroupPlan, KeyKind, TilePlan, tile_plan
from clarray._engine.algorithms.sort.source import groups_source, tiles_source
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.runtime import Memory


def sort_by_groups(
    cache: KernelCache, plan: GroupPlan, source: Memory, offset: int, lines: int, n: int, out: Memory
) -> None:
    """Sort lines that fit a work-group, into `out`: the keys, or the positions as int64."""
    key = ("sort groups", plan)
    kernel = cache.kernel_for(key, groups_source, plan, cache.capabilities)
    work_group = plan.policy.work_group
    wanted = -(-lines // (work_group // n)) if plan.short else lines
    itemsize = plan.kind.bits // 8
    nbytes = lines * n * (itemsize + (8 if plan.argsort else itemsize))
    args = kernel.arguments(xp=source.buffer, xo=offset, lines=lines, n=n, out=[out.buffer])
    Launch(kernel, (min(wanted, 1 << 20),), (work_group,), args, False, nbytes).run()


def sort_by_tiles(
    cache: KernelCache,
    kind: KeyKind,
    source: Memory,
    offset: int,
    n: int,
    out: Memory,
    argsort: bool,
    given: Memory | None = None,
    bits: int = 0,
) -> None:
    """Sort one line into `out`: the keys, or the positions as int64.

    Parameters
    ----------
    given : Memory, optional
        Positions, int64, in the order of the keys: those are sorted, instead of 0, 1, 2 ...
    bits : int
        Only the lowest `bits` bits of keys differ; 0: all may.
    """
    plan = tile_plan(kind, n, bits or kind.bits, argsort, given is not None, cache.policies.sort)
    key = ("sort tiles", plan)
    kernels = cache.kernels_for(key, tiles_source, plan, cache.capabilities)
    _Passes(cache, plan, kernels, n).run(source, offset, out, given)


class _Passes:
    """The launches over one line, and the memory they share."""

    def __init__(self, cache: KernelCache, plan: TilePlan, kernels: dict[str, Any], n: int) -> None:
        self.cache = cache
        self.plan = plan
        self.kernels = kernels
        self.n = n
        self.tiles = -(-n // plan.tile)
        self.radix = 1 << plan.policy.digit_bits
        self.word = 4 if plan.state == "uint" else 8
        allocate = cache.device.allocate
        rounds = plan.passes if plan.policy.look_back else 1
        self.states = allocate(rounds * self.tiles * self.radix * self.word)
        self.starts = allocate(rounds * self.radix * self.word)
        self.tickets = allocate(4 * rounds)
        self.parts = min(self.tiles, cache.units * plan.policy.groups_per_unit)
        size = self.word * rounds * self.radix * (self.parts if self.plan.state == "ulong" else 1)
        self._key = ("sort counters", size)
        self.found = cache.take_zeros(self._key, size)  # the pass that reads them leaves them zero

    def launch(self, name: str, groups: int, **values: Any) -> None:
        plan = self.plan
        nbytes = self.n * (plan.kind.bits // 8) * 2
        args = self.kernels[name].arguments(**values)
        Launch(self.kernels[name], (groups,), (plan.policy.work_group,), args, False, nbytes).run()

    def run(self, source: Memory, offset: int, out: Memory, given: Memory | None) -> None:
        """Launch everything; `out` serves as one of the two places between which elements move."""
        plan, n, allocate = self.plan, self.n, self.cache.device.allocate
        passes = plan.passes
        pairs = bool(plan.position)
        width = plan.kind.bits // 8
        keys = [allocate(n * width) for _ in range(min(2, passes - 1) if pairs else min(1, passes - 1))]
        between = [out]
        if pairs and passes > 1:
            between.append(allocate(n * (4 if plan.position == "uint" else 8)))
        if plan.policy.look_back:
            words = passes * self.tiles * self.radix
            states = {"found": self.found.buffer, "states": self.states.buffer, "words": words}
            self.launch("radix_digits", self.parts, xp=source.buffer, xo=offset, n=n, **states)
            parts = 1 if plan.state == "uint" else self.parts
            self._sum(passes, parts)
        place, at, moved = source, offset, given
        for number in range(passes):
            suffix = "f" * (number == 0) + "l" * (number == passes - 1) or "m"
            shift = number * plan.policy.digit_bits
            digit: dict[str, Any] = {"xp": place.buffer, "xo": at, "n": n, "shift": shift}
            if not plan.policy.look_back:
                table = {"table": self.states.buffer, "all": self.tiles}
                self.launch("radix_tally_" + ("f" if number == 0 else "m"), self.tiles, **digit, **table)
                self.launch("radix_rows", self.radix, found=self.found.buffer, **table)
                self._sum(1, 1)
            left = passes - 1 - number
            target = out if left % 2 == 0 or pairs else keys[0]
            if pairs:
                target = keys[number % 2] if left else source  # not written in the last pass
            digit |= {"y": target.buffer, "starts": self.starts.buffer, "states": self.states.buffer}
            digit |= {"tickets": self.tickets.buffer, "number": number, "all": self.tiles}
            if pairs:
                if moved is not None:
                    digit["from"] = moved.buffer
                moved = between[left % 2]
                digit["to"] = moved.buffer
            self.launch("radix_pass_" + suffix, self.tiles, **digit)
            place, at = target, 0
        self.cache.give_zeros(self._key, self.found)

    def _sum(self, rounds: int, parts: int) -> None:
        buffers = {"found": self.found.buffer, "starts": self.starts.buffer, "tickets": self.tickets.buffer}
        self.launch("radix_starts", 1, rounds=rounds, parts=parts, **buffers)
