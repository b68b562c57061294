"""Launch sorts on a CPU: one work-item per line, or one long line in chunks, with tables computed on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._engine.algorithms.sort import plan as sort
from clarray._engine.algorithms.sort.launch_operands import KeyLines
from clarray._engine.algorithms.sort.plan import SortPlan, row_plan
from clarray._engine.algorithms.sort.source import chunks_source, rows_source
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.runtime import Kernel, Memory

_WORD = 8


def sort_short_rows(cache: KernelCache, source: KeyLines, out: Memory, argsort: bool) -> None:
    """Sort lines into `out`, one work-item per line: the keys, or the positions as int64."""
    policy = cache.policies.sort
    kind, memory, offset, n, lines = source
    plan = row_plan(kind, n, argsort, policy)
    key = ("sort lines", plan)
    kernel = cache.kernel_for(key, rows_source, plan, cache.capabilities)
    itemsize = kind.bits // 8
    nbytes = lines * n * (itemsize + (8 if argsort else itemsize))
    max_groups = cache.units * policy.groups_per_unit
    groups = max(1, min(max_groups, lines, nbytes // policy.chunk_bytes))
    element = itemsize if plan.form == "keys" else 8 if plan.form == "packed" else 16
    scratch = cache.device.allocate(2 * groups * n * element)
    args = kernel.arguments(xp=memory.buffer, xo=offset, lines=lines, n=n, yp=out.buffer, scratch=scratch.buffer)
    Launch(kernel, (groups,), (1,), args, nbytes <= policy.inline_bytes, nbytes).run()


class ChunkedSort:
    """The passes over one long line.

    Parameters
    ----------
    line : KeyLines
        A single line.
    has_keys : bool
        Whether the memory has keys. By default it has values, whose bits the first pass converts to keys.
    """

    def __init__(self, cache: KernelCache, line: KeyLines, has_keys: bool = False) -> None:
        kind, n = line.kind, line.n
        self.cache = cache
        self.kind = kind
        self.n = n
        self.suffix = "_keys" if has_keys else ""
        self.policy = cache.policies.sort
        self.counter = "uint" if n < sort.WORD else "ulong"
        self.bits = np.dtype(f"u{kind.bits // 8}")
        self.source = {"xp": line.memory.buffer, "xo": line.offset}  # arguments of the kernels
        max_groups = cache.units * self.policy.groups_per_unit
        self.nbytes = n * kind.bits // 8
        self.groups = max(1, min(max_groups, n, self.nbytes // self.policy.chunk_bytes))

    def kernels(self, form: str) -> dict[str, Kernel]:
        """Return the kernels that move elements of a form."""
        plan = SortPlan(self.kind, form, self.counter, self.policy)
        return self.cache.kernels_for(("sort chunks", plan), chunks_source, plan, self.cache.capabilities)

    def launch(self, kernel: Kernel, groups: int = 0, **values: Any) -> None:
        args = kernel.arguments(**values)
        Launch(kernel, (groups or self.groups,), (1,), args, False, self.nbytes).run()

    def range(self, form: str) -> tuple[int, int]:
        """Return the smallest and the largest key."""
        device = self.cache.device
        ranges = device.allocate(2 * _WORD * self.groups)
        kernel = self.kernels(form)["radix_range" + self.suffix]
        self.launch(kernel, n=self.n, found=ranges.buffer, **self.source)
        host = np.empty((self.groups, 2), np.uint64)
        device.read(ranges, 0, host)
        return int(host[:, 0].min()), int(host[:, 1].max())

    def _probe(self) -> np.ndarray:
        """Return the distinct keys of a sample, sorted."""
        device = self.cache.device
        host = np.empty(min(self.policy.probe, self.n), self.bits)
        sample = device.allocate(host.nbytes)
        kernel = self.kernels("keys")["radix_probe" + self.suffix]
        self.launch(kernel, 1, step=self.n // host.size, count=host.size, found=sample.buffer, **self.source)
        device.read(sample, 0, host)
        return np.unique(host)

    def sort(self, out: Memory, offset: int = 0) -> None:
        """Write the sorted keys into `out`, from `offset` on."""
        policy, device, n = self.policy, self.cache.device, self.n
        bits = self.kind.bits
        kernels = self.kernels("keys")
        low, high = 0, (1 << bits) - 1
        if bits > policy.cell_bits // 2:
            sample = self._probe()
            if 1 < len(sample) <= policy.known and self._sort_few_distinct(sample, out, offset):
                return
            # A pass for the range of the keys pays only if that is much narrower than the range of the type. A bucket
            # always needs it: without a narrower range, the recursion would not end.
            if self.suffix or int(sample[-1] - sample[0]).bit_length() <= bits - 6:
                low, high = self.range("keys")
        if low == high:
            self._fill(np.array([n]), np.array([low], np.uint64), out, offset)
            return
        span = (high - low).bit_length()
        shift = max(0, span - min(policy.cell_bits, max(4, n.bit_length() - 3)))
        if span <= min(policy.cell_bits + 3, n.bit_length() - 4):
            shift = 0  # a larger table costs less time than a split into buckets
        cells = ((high - low) >> shift) + 1
        counter = np.dtype(np.uint32 if self.counter == "uint" else np.uint64)
        counts = device.allocate(2 * self.groups * cells * counter.itemsize)
        digits = {"n": n, "lowest": low, "shift": shift, **self.source}
        self.launch(kernels["radix_count" + self.suffix], cells=cells, counts=counts.buffer, **digits)
        host = np.empty((self.groups, 2, cells), counter)
        device.read(counts, 0, host)
        per_group = host[:, 0]
        ends = per_group.sum(axis=0, dtype=np.int64).cumsum()
        if shift == 0:
            self._fill(ends, np.uint64(low) + np.arange(cells, dtype=np.uint64), out, offset)
            return
        bucket_of, spans, starts = split_tables(per_group, ends, n, policy.bucket, policy.most_buckets)
        scratch = device.allocate(self.nbytes)
        buckets = starts.shape[1]
        tables = [device.upload(table) for table in (bucket_of, starts)]  # alive until the launch
        digits |= {"bucket_of": tables[0].buffer, "places": tables[1].buffer}
        self.launch(kernels["radix_split" + self.suffix], buckets=buckets, y=scratch.buffer, **digits)
        heavy = spans[:, 1] > max(n // 4, policy.line) if n > 4 * policy.bucket else np.zeros(len(spans), bool)
        for start, length in spans[heavy].tolist():
            bucket = KeyLines(self.kind, scratch, start, length)
            ChunkedSort(self.cache, bucket, has_keys=True).sort(out, offset + start)
        spans = np.ascontiguousarray(spans[~heavy])
        if len(spans):
            table = device.upload(spans)
            buffers = {"spans": table.buffer, "xs": scratch.buffer, "ys": out.buffer, "yo": offset}
            self.launch(kernels["radix_bucket"], len(spans), **buffers)

    def _fill(self, ends: np.ndarray, values: np.ndarray, out: Memory, offset: int) -> None:
        """Write each key repeatedly, up to its end."""
        tables = [self.cache.device.upload(table) for table in (ends.astype(np.int64), values)]
        buffers = {"ends": tables[0].buffer, "values": tables[1].buffer, "y": out.buffer, "yo": offset}
        self.launch(self.kernels("keys")["radix_fill"], cells=len(ends), n=self.n, **buffers)

    def _sort_few_distinct(self, keys: np.ndarray, out: Memory, offset: int) -> bool:
        """Sort by counting if all keys are among `keys`. Return whether they are."""
        device, policy = self.cache.device, self.policy
        low = int(keys[0])
        span = int(keys[-1]) - low
        shift = max(0, span.bit_length() - policy.cell_bits)
        cells = (keys - keys[0]) >> keys.dtype.type(shift)
        if (cells[1:] == cells[:-1]).any():
            return False
        slot_of = np.zeros((span >> shift) + 1, np.uint8)
        slot_of[cells.astype(np.intp)] = np.arange(len(keys))
        padded = np.full(policy.known, keys[0])
        padded[: len(keys)] = keys
        counter = np.dtype(np.uint32 if self.counter == "uint" else np.uint64)
        host = np.empty((self.groups, policy.known + 1), counter)
        tables = [device.upload(slot_of), device.upload(padded)]
        counts = device.allocate(host.nbytes)
        digits = {"n": self.n, "lowest": low, "shift": shift, **self.source}
        digits |= {"slot_of": tables[0].buffer, "known": tables[1].buffer}
        kernel = self.kernels("keys")["radix_known" + self.suffix]
        self.launch(kernel, cells=len(slot_of), counts=counts.buffer, **digits)
        device.read(counts, 0, host)
        if host[:, policy.known].any():
            return False
        ends = host[:, : len(keys)].sum(axis=0, dtype=np.int64).cumsum()
        self._fill(ends, keys.astype(np.uint64), out, offset)
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
        source = self.source
        for number in range(passes):
            first, last = number == 0, number == passes - 1
            target = out if last else scratch[number % 2]
            digit = {"n": n, "lowest": low, "shift": number * policy.digit_bits, "counts": counts.buffer, **source}
            self.launch(kernels["radix_tally_" + ("f" if first else "m")], **digit)
            suffix = "f" * first + "l" * last or "m"
            self.launch(kernels["radix_move_" + suffix], y=target.buffer, **digit)
            source = {"xp": target.buffer, "xo": 0}


def split_tables(
    counts: np.ndarray, ends: np.ndarray, n: int, bucket: int, max_buckets: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Divide cells into at most `max_buckets` buckets of about `bucket` keys.

    Parameters
    ----------
    counts : ndarray of shape (chunks, cells)
        Keys of each chunk in each cell.
    ends : ndarray of shape (cells,)
        Keys up to the end of each cell.

    Returns
    -------
    bucket_of : ndarray of uint16
        The bucket of each cell. A cell with more keys than a bucket is a bucket of its own, because its keys may all
        be equal.
    spans : ndarray of shape (buckets, 2)
        Start and length of the buckets, the longest first.
    chunk_starts : ndarray of shape (chunks, buckets)
        The position of the first key of each chunk in each bucket.
    """
    size = max(bucket, -(-4 * n // max_buckets))
    starts = np.concatenate(([0], ends[:-1]))
    quotient = starts // size
    heavy = ends - starts > size
    cut = heavy.copy()
    cut[1:] |= heavy[:-1] | (quotient[1:] != quotient[:-1])
    cut[0] = True
    firsts = np.flatnonzero(cut)
    bucket_of = (np.cumsum(cut) - 1).astype(np.uint16)
    per_bucket = np.add.reduceat(counts, firsts, axis=1, dtype=np.int64)
    lengths = per_bucket.sum(axis=0)
    begins = np.cumsum(lengths) - lengths
    chunk_starts = begins + np.cumsum(per_bucket, axis=0) - per_bucket
    order = np.argsort(-lengths, kind="stable")
    spans = np.stack((begins[order], lengths[order]), axis=1)
    return bucket_of, np.ascontiguousarray(spans[spans[:, 1] > 0]), np.ascontiguousarray(chunk_starts)
