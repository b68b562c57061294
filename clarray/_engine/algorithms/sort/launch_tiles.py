"""Launch sorts on a GPU: one work-group per line, or passes over the tiles of one long line."""

from __future__ import annotations

from typing import Any

from clarray._engine.algorithms.sort.launch_operands import KeyLines
from clarray._engine.algorithms.sort.plan import GroupPlan, TilePlan, tile_plan
from clarray._engine.algorithms.sort.source import groups_source, tiles_source
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.runtime import Memory


def sort_by_groups(cache: KernelCache, plan: GroupPlan, source: KeyLines, out: Memory) -> None:
    """Sort lines that fit a work-group into `out`: the keys, or the positions as int64."""
    lines, n = source.lines, source.n
    key = ("sort groups", plan)
    kernel = cache.kernel_for(key, groups_source, plan, cache.capabilities)
    work_group = plan.policy.work_group
    groups = -(-lines // (work_group // n)) if plan.short else lines
    itemsize = plan.kind.bits // 8
    nbytes = lines * n * (itemsize + (8 if plan.argsort else itemsize))
    args = kernel.arguments(xp=source.memory.buffer, xo=source.offset, lines=lines, n=n, out=[out.buffer])
    Launch(kernel, (min(groups, 1 << 20),), (work_group,), args, False, nbytes).run()


def sort_by_tiles(
    cache: KernelCache, line: KeyLines, out: Memory, argsort: bool, order: Memory | None = None, bits: int = 0
) -> None:
    """Sort one line into `out`: the keys, or the positions as int64.

    Parameters
    ----------
    order : Memory, optional
        The int64 positions that belong to the keys. By default 0, 1, 2 ...
    bits : int
        The number of low bits in which keys may differ. 0: all bits.
    """
    plan = tile_plan(line.kind, line.n, bits or line.kind.bits, argsort, order is not None, cache.policies.sort)
    key = ("sort tiles", plan)
    kernels = cache.kernels_for(key, tiles_source, plan, cache.capabilities)
    _TiledSort(cache, plan, kernels, line.n).run(line, out, order)


class _TiledSort:
    """The passes over one line, and the memory that they share."""

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
        self.counters = cache.take_zeros(self._key, size)  # the pass that reads the counters resets them to zero

    def launch(self, name: str, groups: int, **values: Any) -> None:
        plan = self.plan
        nbytes = self.n * (plan.kind.bits // 8) * 2
        args = self.kernels[name].arguments(**values)
        Launch(self.kernels[name], (groups,), (plan.policy.work_group,), args, False, nbytes).run()

    def run(self, line: KeyLines, out: Memory, order: Memory | None) -> None:
        """Launch all passes. `out` is one of the two buffers between which elements alternate."""
        plan, n, allocate = self.plan, self.n, self.cache.device.allocate
        passes = plan.passes
        pairs = bool(plan.position)
        width = plan.kind.bits // 8
        keys = [allocate(n * width) for _ in range(min(2, passes - 1) if pairs else min(1, passes - 1))]
        position_buffers = [out]
        if pairs and passes > 1:
            position_buffers.append(allocate(n * (4 if plan.position == "uint" else 8)))
        if plan.policy.look_back:
            words = passes * self.tiles * self.radix
            states = {"found": self.counters.buffer, "states": self.states.buffer, "words": words}
            self.launch("radix_digits", self.parts, xp=line.memory.buffer, xo=line.offset, n=n, **states)
            parts = 1 if plan.state == "uint" else self.parts
            self._scan_counters(passes, parts)
        source, offset, positions = line.memory, line.offset, order
        for number in range(passes):
            suffix = "f" * (number == 0) + "l" * (number == passes - 1) or "m"
            shift = number * plan.policy.digit_bits
            digit: dict[str, Any] = {"xp": source.buffer, "xo": offset, "n": n, "shift": shift}
            if not plan.policy.look_back:
                table = {"table": self.states.buffer, "all": self.tiles}
                self.launch("radix_tally_" + ("f" if number == 0 else "m"), self.tiles, **digit, **table)
                self.launch("radix_rows", self.radix, found=self.counters.buffer, **table)
                self._scan_counters(1, 1)
            remaining = passes - 1 - number
            target = out if remaining % 2 == 0 or pairs else keys[0]
            if pairs:
                target = keys[number % 2] if remaining else line.memory  # the last pass writes no keys
            digit |= {"y": target.buffer, "starts": self.starts.buffer, "states": self.states.buffer}
            digit |= {"tickets": self.tickets.buffer, "number": number, "all": self.tiles}
            if pairs:
                if positions is not None:
                    digit["from"] = positions.buffer
                positions = position_buffers[remaining % 2]
                digit["to"] = positions.buffer
            self.launch("radix_pass_" + suffix, self.tiles, **digit)
            source, offset = target, 0
        self.cache.give_zeros(self._key, self.counters)

    def _scan_counters(self, rounds: int, parts: int) -> None:
        buffers = {"found": self.counters.buffer, "starts": self.starts.buffer, "tickets": self.tickets.buffer}
        self.launch("radix_starts", 1, rounds=rounds, parts=parts, **buffers)
