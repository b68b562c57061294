"""Sorts on a CPU: lines one at a time, or one long line in chunks with tables made by the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._engine.algorithms.sort import plan as sort
from clarray._engine.algorithms.sort.plan import KeyKind, SortPlan, row_plan
from clarray._engine.algorithms.sort.source import chunks_source, rows_source
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.runtime import Kernel, Memory

_WORD = 8


def sort_short_rows(
    cache: KernelCache,
    kind: KeyKind,
    source: Memory,
    offset: int,
    lines: int,
    n: int,
    out: Memory,
    argsort: bool,
) -> None:
    """Sort lines, one work-item a line, into `out`: the keys, or the positions as int64."""
    policy = cache.policies.sort
    plan = row_plan(kind, n, argsort, policy)
    key = ("sort lines", plan)
    kernel = cache.kernel_for(key, rows_source, plan, cache.capabilities)
    itemsize = kind.bits // 8
    nbytes = lines * n * (itemsize + (8 if argsort else itemsize))
    most = cache.units * policy.groups_per_unit
    groups = max(1, min(most, lines, nbytes // policy.chunk_bytes))
    element = itemsize if plan.form == "keys" else 8 if plan.form == "packed" else 16
    scratch = cache.device.allocate(2 * groups * n * element)
    args = kernel.arguments(xp=source.buffer, xo=offset, lines=lines, n=n, yp=out.buffer, scratch=scratch.buffer)
    Launch(kernel, (groups,), (1,), args, nbytes <= policy.inline_bytes, nbytes).run()


class Line:
    """One long line of keys on its way through the passes.

    Parameters
    ----------
    ready : bool
        The source has keys already, not yet the bits of values.
    """

    def __init__(
        self,
        cache: KernelCache,
        kind: KeyKind,
        source: Memory,
        offset: int,
        n: int,
        ready: bool = False,
    ) -> None:
        self.cache = cache
        self.kind = kind
        self.n = n
        self.suffix = "_keys" if ready else ""
        self.policy = cache.policies.sort
        self.counter = "uint" if n < sort.WORD else "ulong"
        self.bits = np.dtype(f"u{kind.bits // 8}")
        self.place = {"xp": source.buffer, "xo": offset}
        most = cache.units * self.policy.groups_per_unit
        self.nbytes = n * kind.bits // 8
        self.groups = max(1, min(most, n, self.nbytes // self.policy.chunk_bytes))

    def kernels(self, form: str) -> dict[str, Kernel]:
        """The kernels that move elements of a form."""
        plan = SortPlan(self.kind, form, self.counter, self.policy)
        return self.cache.kernels_for(("sort chunks", plan), chunks_source, plan, self.cache.capabilities)

    def launch(self, kernel: Kernel, groups: int = 0, **values: Any) -> None:
        args = kernel.arguments(**values)
        Launch(kernel, (groups or self.groups,), (1,), args, False, self.nbytes).run()

    def range(self, form: str) -> tuple[int, int]:
        """The smallest and the largest key."""
        device = self.cache.device
        found = device.allocate(2 * _WORD * self.groups)
        kernel = self.kernels(form)["radix_range" + self.suffix]
        self.launch(kernel, n=self.n, found=found.buffer, **self.place)
        host = np.empty((self.groups, 2), np.uint64)
        device.read(found, 0, host)
        return int(host[:, 0].min()), int(host[:, 1].max())

    def _probe(self) -> np.ndarray:
        """The different ones among some keys, sorted."""
        device = self.cache.device
        host = np.empty(min(self.policy.probe, self.n), self.bits)
        found = device.allocate(host.nbytes)
        kernel = self.kernels("keys")["radix_probe" + self.suffix]
        self.launch(kernel, 1, step=self.n // host.size, count=host.size, found=found.buffer, **self.place)
        device.read(found, 0, host)
        return np.unique(host)

    def sort(self, out: Memory, offset: int = 0) -> None:
        """Write the sorted elements from `offset` on."""
        policy, device, n = self.policy, self.cache.device, self.n
        bits = self.kind.bits
        kernels = self.kernels("keys")
        low, high = 0, (1 << bits) - 1
        if bits > policy.cell_bits // 2:
            some = self._probe()
            if 1 < len(some) <= policy.known and self._sort_known(some, out, offset):
                return
            # The range of the type serves as well as that of the keys, where it is not much wider. (Not so in
            # a part of a line: one whose range did not shrink would never end.)
            if self.suffix or int(some[-1] - some[0]).bit_length() <= bits - 6:
                low, high = self.range("keys")
        if low == high:
            self._fill(np.array([n]), np.array([low], np.uint64), out, offset)
            return
        span = (high - low).bit_length()
        shift = max(0, span - min(policy.cell_bits, max(4, n.bit_length() - 3)))
        if span <= min(policy.cell_bits + 3, n.bit_length() - 4):
            shift = 0  # a larger table costs less than a split
        cells = ((high - low) >> shift) + 1
        counter = np.dtype(np.uint32 if self.counter == "uint" else np.uint64)
        counts = device.allocate(2 * self.groups * cells * counter.itemsize)
        digits = {"n": n, "lowest": low, "shift": shift, **self.place}
        self.launch(kernels["radix_count" + self.suffix], cells=cells, counts=counts.buffer, **digits)
        host = np.empty((self.groups, 2, cells), counter)
        device.read(counts, 0, host)
        per_group = host[:, 0]
        ends = per_group.sum(axis=0, dtype=np.int64).cumsum()
        if shift == 0:
            self._fill(ends, np.uint64(low) + np.arange(cells, dtype=np.uint64), out, offset)
            return
        bucket_of, spans, places = split_tables(per_group, ends, n, policy.bucket, policy.most_buckets)
        scratch = device.allocate(self.nbytes)
        buckets = places.shape[1]
        tables = [device.upload(table) for table in (bucket_of, places)]  # held until launched
        digits |= {"bucket_of": tables[0].buffer, "places": tables[1].buffer}
        self.launch(kernels["radix_split" + self.suffix], buckets=buckets, y=scratch.buffer, **digits)
        heavy = spans[:, 1] > max(n // 4, policy.line) if n > 4 * policy.bucket else np.zeros(len(spans), bool)
        for start, length in spans[heavy].tolist():
            part = Line(self.cache, self.kind, scratch, start, length, ready=True)
            part.sort(out, offset + start)
        spans = np.ascontiguousarray(spans[~heavy])
        if len(spans):
            table = device.upload(spans)
            moved = {"spans": table.buffer, "xs": scratch.buffer, "ys": out.buffer, "yo": offset}
            self.launch(kernels["radix_bucket"], len(spans), **moved)

    def _fill(self, ends: np.ndarray, values: np.ndarray, out: Memory, offset: int) -> None:
        """Write each key up to its end."""
        tables = [self.cache.device.upload(table) for table in (ends.astype(np.int64), values)]
        place = {"ends": tables[0].buffer, "values": tables[1].buffer, "y": out.buffer, "yo": offset}
        self.launch(self.kernels("keys")["radix_fill"], cells=len(ends), n=self.n, **place)

    def _sort_known(self, some: np.ndarray, out: Memory, offset: int) -> bool:
        """Finish where there are no other keys than `some`."""
        device, policy = self.cache.device, self.policy
        low = int(some[0])
        span = int(some[-1]) - low
        shift = max(0, span.bit_length() - policy.cell_bits)
        cells = (some - some[0]) >> some.dtype.type(shift)
        if (cells[1:] == cells[:-1]).any():
            return False
        slot_of = np.zeros((span >> shift) + 1, np.uint8)
        slot_of[cells.astype(np.intp)] = np.arange(len(some))
        known = np.full(policy.known, some[0])
        known[: len(some)] = some
        counter = np.dtype(np.uint32 if self.counter == "uint" else np.uint64)
        host = np.empty((self.groups, policy.known + 1), counter)
        tables = [device.upload(slot_of), device.upload(known)]
        counts = device.allocate(host.nbytes)
        digits = {"n": self.n, "lowest": low, "shift": shift, **self.place}
        digits |= {"slot_of": tables[0].buffer, "known": tables[1].buffer}
        kernel = self.kernels("keys")["radix_known" + self.suffix]
        self.launch(kernel, cells=len(slot_of), counts=counts.buffer, **digits)
        device.read(counts, 0, host)
        if host[:, policy.known].any():
            return False
        ends = host[:, : len(some)].sum(axis=0, dtype=np.int64).cumsum()
        self._fill(ends, some.astype(np.uint64), out, offset)
        return True

    def argsort(self, out: Memory) -> None:
        """Write the positions in sorted order."""
        kind, policy, device, n = self.kind, self.policy, self.cache.device, self.n
        narrow = kind.bits <= 32 and n < sort.WORD
        low, high = 0, (1 << kind.bits) - 1
        if kind.bits > policy.digit_bits:
            low, high = self.range("packed" if narrow else "wide")
        bits = (high - low).bit_length()
        form = "packed" if bits <= 32 and n < sort.WORD else "wide"
        kernels = self.kernels(form)
        passes = max(1, -(-bits // policy.digit_bits))
        element = 8 if form == "packed" else 16
        scratch = [device.allocate(n * element) for _ in range(min(2, passes - 1))]
        itemsize = np.dtype(np.uint32 if self.counter == "uint" else np.uint64).itemsize
        counts = device.allocate(self.groups * itemsize << policy.digit_bits)
        place = self.place
        for number in range(passes):
            first, last = number == 0, number == passes - 1
            target = out if last else scratch[number % 2]
            digit = {"n": n, "lowest": low, "shift": number * policy.digit_bits, "counts": counts.buffer, **place}
            self.launch(kernels["radix_tally_" + ("f" if first else "m")], **digit)
            suffix = "f" * first + "l" * last or "m"
            self.launch(kernels["radix_move_" + suffix], y=target.buffer, **digit)
            place = {"xp": target.buffer, "xo": 0}


def split_tables(
    counts: np.ndarray, ends: np.ndarray, n: int, bucket: int, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Divide cells into buckets of about `bucket` keys, at most `most` of them.

    Parameters
    ----------
    counts : ndarray of shape (chunks, cells)
        Keys of each chunk in each cell.
    ends : ndarray of shape (cells,)
        Keys up to the end of each cell.

    Returns
    -------
    bucket_of : ndarray of uint16
        The bucket of each cell. A cell of more keys than a bucket has one of its own, so that equal
        keys are not mixed with others.
    spans : ndarray of shape (buckets, 2)
        Start and length of the buckets, the longest first.
    places : ndarray of shape (chunks, buckets)
        Where each chunk's first key of each bucket goes.
    """
    wanted = max(bucket, -(-4 * n // most))
    starts = np.concatenate(([0], ends[:-1]))
    quotient = starts // wanted
    heavy = ends - starts > wanted
    cut = heavy.copy()
    cut[1:] |= heavy[:-1] | (quotient[1:] != quotient[:-1])
    cut[0] = True
    firsts = np.flatnonzero(cut)
    bucket_of = (np.cumsum(cut) - 1).astype(np.uint16)
    per_bucket = np.add.reduceat(counts, firsts, axis=1, dtype=np.int64)
    lengths = per_bucket.sum(axis=0)
    begins = np.cumsum(lengths) - lengths
    places = begins + np.cumsum(per_bucket, axis=0) - per_bucket
    order = np.argsort(-lengths, kind="stable")
    spans = np.stack((begins[order], lengths[order]), axis=1)
    return bucket_of, np.ascontiguousarray(spans[spans[:, 1] > 0]), np.ascontiguousarray(places)
