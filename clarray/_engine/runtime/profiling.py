"""Records what the runtime does: launches, transfers, synchronisations and builds.

    profile()  ->  Profile  ->  records: (kind, name, bytes, seconds, where)
                      |
                      +-- counts and a table with GB/s: print(p)

While a recorder is active every launch is waited for, so that its seconds are its own. Without one,
the only cost is one comparison per launch.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["launch", "transfer", "synchronize", "build", "allocate", "host"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


@dataclass(frozen=True, slots=True)
class Record:
    """One thing the runtime did.

    Attributes
    ----------
    kind : str
        'launch', 'transfer', 'synchronize', 'build', 'allocate' or 'host': a library's function on the host.
    name : str
        The kernel's name, or what was done.
    nbytes : int
        Bytes read and written, as told by whoever launched; 0 where that says nothing.
    seconds : float
        Wall time, waiting included.
    where : str
        ``file:line`` of the nearest caller outside clarray.
    """

    kind: Kind
    name: str
    nbytes: int
    seconds: float
    where: str

    @property
    def gigabytes_per_second(self) -> float:
        """Bytes over time; 0 where nothing was moved."""
        return self.nbytes / self.seconds / 1e9 if self.seconds > 0 else 0.0


@dataclass
class Profile:
    """What ran while `profile` was active; printing it gives a table."""

    records: list[Record] = field(default_factory=list)

    def _of(self, kind: Kind) -> list[Record]:
        return [record for record in self.records if record.kind == kind]

    @property
    def launches(self) -> int:
        """Number of kernels launched."""
        return len(self._of("launch"))

    @property
    def transfers(self) -> int:
        """Number of copies between host arrays and device memory."""
        return len(self._of("transfer"))

    @property
    def bytes(self) -> int:
        """Bytes copied between host arrays and device memory."""
        return sum(record.nbytes for record in self._of("transfer"))

    @property
    def synchronisations(self) -> int:
        """Number of times the host waited for the device (not counting the profile's own)."""
        return len(self._of("synchronize"))

    @property
    def builds(self) -> int:
        """Number of programs compiled from source (not those loaded from the disk cache)."""
        return len(self._of("build"))

    @property
    def host_calls(self) -> int:
        """Number of calls of a library on the host (`clarray.config.host_library`)."""
        return len(self._of("host"))

    @property
    def allocated_bytes(self) -> int:
        """Bytes of device memory asked for, whether new or reused."""
        return sum(record.nbytes for record in self._of("allocate"))

    def __str__(self) -> str:
        shown = [record for record in self.records if record.kind != "allocate"]
        names = max([len("what"), *(len(r.name) for r in shown)])
        lines = [f"{'':11} {'what':{names}} {'bytes':>14} {'ms':>10} {'GB/s':>8}  where"]
        for r in shown:
            rate = f"{r.gigabytes_per_second:8.1f}" if r.nbytes else f"{'':8}"
            size = f"{r.nbytes:14,}" if r.nbytes else f"{'':14}"
            lines.append(f"{r.kind:11} {r.name:{names}} {size} {r.seconds * 1e3:10.3f} {rate}  {r.where}")
        lines.append(
            f"{self.launches} launches, {self.transfers} transfers of {self.bytes:,} bytes, "
            f"{self.synchronisations} synchronisations, {self.builds} builds, "
            f"{self.allocated_bytes:,} bytes allocated"
        )
        return "\n".join(lines)


class _State:
    """The recorder in use; one slot, looked at by every launch."""

    __slots__ = ("recorder",)

    def __init__(self) -> None:
        self.recorder: Profile | None = None


state = _State()


def record(kind: Kind, name: str, nbytes: int, seconds: float) -> None:
    """Add a record to the active profile, if there is one."""
    recorder = state.recorder
    if recorder is not None:
        recorder.records.append(Record(kind, name, int(nbytes), seconds, _caller()))


def _caller() -> str:
    """Give ``file:line`` of the nearest frame that is not clarray's own."""
    frame = sys._getframe(1)
    while frame is not None:
        path = frame.f_code.co_filename
        # functools stands between where a cached property is computed
        if not path.startswith((_PACKAGE, functools.__file__, "<")):
            return f"{os.path.basename(path)}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return "?"


@contextmanager
def profile() -> Iterator[Profile]:
    """Record every launch, transfer, synchronisation and build of a block.

    Yields
    ------
    Profile
        Filled as the block runs; ``print(p)`` shows a table with GB/s. Every launch is waited for,
        so totals are longer than without a profile. Profiles nest: the innermost records.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.zeros(4)
    >>> with clarray.profile() as p:
    ...     y = (x + 1).evaluate()
    >>> p.launches
    1
    """
    outer = state.recorder
    recorder = Profile()
    state.recorder = recorder
    try:
        yield recorder
    finally:
        state.recorder = outer
