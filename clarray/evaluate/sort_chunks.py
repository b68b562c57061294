"""Sorts on a CPU: lines one at a time, or one long line in chunks with tables made by the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray.codegen.sort import chunks_source, lines_source
from clarray.evaluate.state import DeviceState, Launch
from clarray.plan.sort import KeyKind, SortPlan, line_plan
from clarray.runtime import Memory

_WORD = 8


def sort_by_lines(
    state: DeviceState, kind: KeyKind, source: Memory, offset: int, lines: int, n: int, out: Memory,
    argsort: bool, descending: bool,
) -> None:  # fmt: skip
    """Sort lines, one work-item a line, into `out`: the keys, or the positions as int64."""
    policy = state.policies.sort
    plan = line_plan(kind, n, argsort, descending, policy)
    key = ("sort lines", plan)
    kernel = state.prepared.get(key)
    if kernel is None:
        kernel = state.keep(key, state.kernel(lines_source(plan, state.capabilities)))
    itemsize = kind.bits // 8
    nbytes = lines * n * (itemsize + (8 if argsort else itemsize))
    most = state.units * policy.groups_per_unit
    groups = max(1, min(most, lines, nbytes // policy.chunk_bytes))
    element = itemsize if plan.form == "keys" else 8 if plan.form == "packed" else 16
    scratch = state.device.allocate(2 * groups * n * element)
    args = [source.buffer, offset, lines, n, out.buffer, scratch.buffer]
    Launch(kernel, (groups,), (1,), args, nbytes <= policy.inline_bytes, nbytes).run()


class Line:
    """One long line of keys on its way through the passes."""

    def __init__(
        self, state: DeviceState, kind: KeyKind, source: Memory, offset: int, n: int, descending: bool
    ) -> None:
        self.state = state
        self.kind = kind
        self.n = n
        self.descending = descending
        self.policy = state.policies.sort
        self.counter = "uint" if n < 2**32 else "ulong"
        self.args = [source.buffer, offset, n]
        most = state.units * self.policy.groups_per_unit
        self.nbytes = n * kind.bits // 8
        self.groups = max(1, min(most, n, self.nbytes // self.policy.chunk_bytes))

    def kernels(self, form: str) -> Any:
        """The kernels that move elements of a form."""
        plan = SortPlan(self.kind, form, self.descending, self.counter, self.policy)
        key = ("sort chunks", plan)
        found = self.state.prepared.get(key)
        if found is None:
            made = chunks_source(plan, self.state.capabilities)
            found = self.state.keep(key, self.state.kernels(*made))
        return found

    def launch(self, kernel: Any, args: list[Any], groups: int = 0) -> None:
        Launch(kernel, (groups or self.groups,), (1,), args, False, self.nbytes).run()

    def range(self, form: str) -> tuple[int, int]:
        """The smallest and the largest key."""
        device = self.state.device
        found = device.allocate(2 * _WORD * self.groups)
        self.launch(self.kernels(form)["radix_range"], [*self.args, found.buffer])
        host = np.empty((self.groups, 2), np.uint64)
        device.read(found, 0, host)
        return int(host[:, 0].min()), int(host[:, 1].max())

    def sort(self, out: Memory) -> None:
        """Write the sorted elements."""
        kind, policy, device = self.kind, self.policy, self.state.device
        kernels = self.kernels("keys")
        low, high = (0, (1 << kind.bits) - 1) if kind.bits <= policy.cell_bits // 2 else self.range("keys")
        bits = (high - low).bit_length()
        cell_bits = min(policy.cell_bits, max(4, self.n.bit_length() - 3))
        shift = max(0, bits - cell_bits)
        cells = ((high - low) >> shift) + 1
        counter = np.uint32 if self.counter == "uint" else np.uint64
        counts = device.allocate(2 * self.groups * cells * np.dtype(counter).itemsize)
        self.launch(kernels["radix_count"], [*self.args, low, shift, cells, counts.buffer])
        host = np.empty((self.groups, 2, cells), counter)
        device.read(counts, 0, host)
        per_group = host[:, 0]
        ends = per_group.sum(axis=0, dtype=np.int64).cumsum()
        if shift == 0:
            table = device.upload(ends)
            self.launch(kernels["radix_fill"], [table.buffer, cells, low, self.n, out.buffer])
            return
        bucket_of, spans, places = split_tables(per_group, ends, self.n, policy.bucket, policy.most_buckets)
        scratch = device.allocate(self.nbytes)
        buckets = places.shape[1]
        tables = [device.upload(table) for table in (bucket_of, places, spans)]  # held until launched
        args = [*self.args, low, shift, buckets, tables[0].buffer, tables[1].buffer, scratch.buffer]
        self.launch(kernels["radix_split"], args)
        args = [tables[2].buffer, scratch.buffer, out.buffer]
        self.launch(kernels["radix_bucket"], args, len(spans))

    def argsort(self, out: Memory) -> None:
        """Write the positions in sorted order."""
        kind, policy, device, n = self.kind, self.policy, self.state.device, self.n
        narrow = kind.bits <= 32 and n < 2**32
        low, high = (0, (1 << kind.bits) - 1) if kind.bits <= policy.digit_bits else self.range("packed" if narrow else "wide")
        bits = (high - low).bit_length()
        form = "packed" if bits <= 32 and n < 2**32 else "wide"
        kernels = self.kernels(form)
        passes = max(1, -(-bits // policy.digit_bits))
        element = 8 if form == "packed" else 16
        scratch = [device.allocate(n * element) for _ in range(min(2, passes - 1))]
        itemsize = np.dtype(np.uint32 if self.counter == "uint" else np.uint64).itemsize
        counts = device.allocate(self.groups * itemsize << policy.digit_bits)
        source = self.args
        for number in range(passes):
            first, last = number == 0, number == passes - 1
            target = out if last else scratch[number % 2]
            head = [*source, low, number * policy.digit_bits, counts.buffer]
            self.launch(kernels["radix_tally_" + ("f" if first else "m")], head)
            suffix = "f" * first + "l" * last or "m"
            self.launch(kernels["radix_move_" + suffix], [*head, target.buffer])
            source = [target.buffer, 0, n]


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
