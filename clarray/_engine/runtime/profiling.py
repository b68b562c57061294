"""Record the actions of the runtime: launches, transfers, synchronisations and builds.

    profile()  ->  Profile  ->  records: (kind, name, bytes, seconds, where)
                      |
                      +-- counts, a table with GB/s: print(p), a picture: p.timeline()

While a recorder is active, the runtime waits for every launch, so that its seconds include no other launch. Without a
recorder the cost is one comparison per launch.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, get_args
from weakref import WeakKeyDictionary

from clarray._engine.fast_dataclass import dataclass
from clarray._engine.runtime import profile_views
from clarray._engine.runtime.forking import after_fork_in_child

if TYPE_CHECKING:
    from clarray._engine.runtime.capture import Capture

Running = Literal["launch", "first call", "small call"]
Kind = Literal[Running, "transfer", "synchronize", "render", "build", "load", "allocate", "host", "fallback"]
_RUNNING = get_args(Running)

NOWHERE = "background"  # the position of actions in clarray's threads, without a frame of the program

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
# functools calls cached properties, and threading calls the functions of clarray's threads
_INTERNAL_PATHS = (_PACKAGE, functools.__file__, threading.__file__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Describe one action of clarray's in a profile.

    Attributes
    ----------
    kind : str
        'launch', 'transfer', 'synchronize' or 'allocate'. 'first call': NumPy has computed in place of a kernel that is
        not compiled yet. 'small call': NumPy has computed a function of small arrays. 'render', 'build', 'load': the
        source of a kernel was written, was compiled, or its program was read from the cache. 'host': a library's
        function has run on the host. 'fallback': a NumPy function that clarray lacks has run on the host, as
        `clarray.config.host_fallback` allows.
    name : str
        The kernel's name, or a description.
    nbytes : int
        Bytes read and written, or 0 if unknown.
    seconds : float
        Elapsed time, waiting included.
    where : str
        ``file:line`` of the nearest caller outside clarray, or ``file:lines`` of the statements that a pass computes.
    first : bool
        Whether a launch includes the compilation of its kernel, as PoCL does it.
    start : float
        When it began, in seconds since the begin of the profile.

    Examples
    --------
    >>> import clarray
    >>> with clarray.profile() as p:
    ...     x = clarray.ones(10_000).get()
    >>> "transfer" in {record.kind for record in p.records}
    True
    """

    kind: Kind
    name: str
    nbytes: int
    seconds: float
    where: str
    first: bool = False
    start: float = 0.0

    @property
    def gigabytes_per_second(self) -> float:
        """Bytes over time, or 0 if no time was measured."""
        return self.nbytes / self.seconds / 1e9 if self.seconds > 0 else 0.0


@dataclass
class Profile:
    """Hold what ran in a block of `clarray.profile`. Printed, it is a table, as in notebooks.

    A row of the table is one line of the program: how often it ran, and the sums of its bytes and times. `records`
    has the single records, and `timeline` draws them.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.zeros(10_000).evaluate()
    >>> with clarray.profile() as p:
    ...     host = x.get()
    >>> p.transfers, p.bytes
    (1, 80000)
    """

    records: list[Record] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter, compare=False)
    _lines: WeakKeyDictionary[Any, str] = field(default_factory=WeakKeyDictionary, compare=False, repr=False)
    _where: str = field(default="", compare=False, repr=False)  # the lines of the pass that is computed now

    def _select(self, kind: Kind) -> list[Record]:
        return [record for record in self.records if record.kind == kind]

    @property
    def launches(self) -> int:
        """Number of kernels launched."""
        return len(self._select("launch"))

    @property
    def first_calls(self) -> int:
        """Number of times that NumPy has computed in place of a kernel that was not compiled yet."""
        return len(self._select("first call"))

    @property
    def small_calls(self) -> int:
        """Number of functions of small arrays that NumPy has computed."""
        return len(self._select("small call"))

    @property
    def transfers(self) -> int:
        """Number of copies between host arrays and device memory."""
        return len(self._select("transfer"))

    @property
    def bytes(self) -> int:
        """Bytes copied between host arrays and device memory."""
        return sum(record.nbytes for record in self._select("transfer"))

    @property
    def synchronisations(self) -> int:
        """Number of times the host waited for the device (not counting the profile's own)."""
        return len(self._select("synchronize"))

    @property
    def builds(self) -> int:
        """Number of programs compiled from source (not those loaded from the disk cache)."""
        return len(self._select("build"))

    @property
    def host_calls(self) -> int:
        """Number of calls of a library on the host (`clarray.config.host_library`)."""
        return len(self._select("host"))

    @property
    def fallbacks(self) -> int:
        """Number of calls of NumPy's functions that clarray lacks (`clarray.config.host_fallback`)."""
        return len(self._select("fallback"))

    @property
    def allocated_bytes(self) -> int:
        """Bytes of device memory asked for, whether new or reused."""
        return sum(record.nbytes for record in self._select("allocate"))

    @property
    def rendering(self) -> float:
        """Seconds for writing sources of kernels."""
        return self._seconds("render")

    @property
    def building(self) -> float:
        """Seconds for compiling and loading programs, including first launches that compile."""
        return self._seconds("build", "load") + sum(r.seconds for r in self.records if r.first)

    @property
    def waiting(self) -> float:
        """Seconds in which the host waited for the device."""
        return self._seconds("synchronize")

    @property
    def copying(self) -> float:
        """Seconds for transfers."""
        return self._seconds("transfer")

    @property
    def running(self) -> float:
        """Seconds for running kernels, and NumPy in their place, without compilation."""
        return sum(r.seconds for r in self.records if r.kind in _RUNNING and not r.first)

    def _seconds(self, *kinds: Kind) -> float:
        return sum(record.seconds for record in self.records if record.kind in kinds)

    def __repr__(self) -> str:
        return f"<Profile: {profile_views.counts(self)}>"

    def __str__(self) -> str:
        return profile_views.text(self)

    def _repr_html_(self) -> str:
        return profile_views.html(self)

    def timeline(self, ax: Any = None) -> Any:
        """Draw what ran when, with matplotlib: one row per kind of record, one colour per name.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. A new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
            Its `figure` can be shown or saved: ``p.timeline().figure.savefig("profile.png")``.

        Raises
        ------
        ImportError
            matplotlib is not installed.
        """
        return profile_views.timeline(self, ax)


class _State:
    """The profile in use and the current capture, which every launch checks."""

    __slots__ = ("recorder", "capture")

    def __init__(self) -> None:
        self.recorder: Profile | None = None
        self.capture: Capture | None = None


state = _State()


def record(kind: Kind, name: str, nbytes: int, seconds: float, first: bool = False) -> None:
    """Add a record to the active profile, if there is one."""
    recorder = state.recorder
    if recorder is not None:
        start = time.perf_counter() - recorder.began - seconds
        recorder.records.append(
            Record(
                kind=kind,
                name=name,
                nbytes=int(nbytes),
                seconds=seconds,
                where=recorder._where or caller(),
                first=first,
                start=max(start, 0.0),
            )
        )


def note_line(node: Any) -> None:
    """Note the line of the program that grows a node."""
    recorder = state.recorder
    if recorder is not None:
        recorder._lines[node] = caller()


def pass_of(find_nodes: Callable[[], Iterable[Any]]) -> AbstractContextManager[None]:
    """Return the context in which records name the lines that have grown some nodes, which it computes."""
    recorder = state.recorder
    return _UNRECORDED if recorder is None else _lines_named(recorder, find_nodes())


_UNRECORDED = nullcontext()


@contextmanager
def _lines_named(recorder: Profile, nodes: Iterable[Any]) -> Iterator[None]:
    before = recorder._where
    recorder._where = _line_ranges([recorder._lines[node] for node in nodes if node in recorder._lines])
    try:
        yield
    finally:
        recorder._where = before


_MOST_RANGES = 4


def _line_ranges(lines: Iterable[str]) -> str:
    """Return lines such as ``a.py:3`` and ``a.py:4`` as ``a.py:3-4``."""
    found: dict[str, set[int]] = {}
    for line in lines:
        name, _, number = line.rpartition(":")
        if name:
            found.setdefault(name, set()).add(int(number))
    texts: list[str] = []
    for name, numbers in sorted(found.items()):
        ranges: list[tuple[int, int]] = []
        for each in sorted(numbers):
            first = ranges.pop()[0] if ranges and each == ranges[-1][1] + 1 else each
            ranges.append((first, each))
        if len(ranges) > _MOST_RANGES:
            ranges = [(min(numbers), max(numbers))]
        texts.append(f"{name}:{','.join(f'{low}-{high}' if low < high else f'{low}' for low, high in ranges)}")
    return " ".join(texts)


def caller() -> str:
    """Return ``file:line`` of the nearest frame outside clarray.

    Code without a file (``<stdin>``) counts only in the main module. In other modules a library has generated it.
    """
    frame = sys._getframe(1)
    while frame is not None:
        path = frame.f_code.co_filename
        is_user_code = (
            frame.f_globals.get("__name__") == "__main__" if path[:1] == "<" else not path.startswith(_INTERNAL_PATHS)
        )
        if is_user_code:
            return f"{os.path.basename(path)}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return NOWHERE


@contextmanager
def profile() -> Iterator[Profile]:
    """Record every launch, transfer, synchronisation, rendered source and build in a block of code.

    Yields
    ------
    Profile
        It is filled while the block runs. ``print(p)`` shows a table with GB/s, and the time for rendering, building,
        copying, waiting and running. Launches from the same line of code are one row, with their number.

    Notes
    -----
    The profile waits for each launch, so a block takes longer than without it. Of nested blocks, only the innermost one
    records.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.zeros(10_000)
    >>> with clarray.profile() as p:
    ...     y = (x + 1).evaluate()
    >>> p.launches
    1
    """
    recorder = Profile()
    key = id(recorder)
    try:
        with _lock:
            _active_profiles[key] = state.recorder = recorder
        yield recorder
    finally:
        with _lock:
            state.recorder = None
            _active_profiles.pop(key, None)
            state.recorder = next(reversed(_active_profiles.values()), None)


_active_profiles: dict[int, Profile] = {}  # by id, newest last: blocks of several threads end in any order
_lock = threading.RLock()  # protects `_active_profiles`


@after_fork_in_child
def _after_fork_in_child() -> None:
    """Replace the lock, which a thread of the parent may hold."""
    global _lock
    _lock = threading.RLock()
