"""Views of a profile: a table as text and as HTML, and a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import filter as filter_names
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clarray._engine.runtime.profiling import Profile, Record

__all__ = ["TEXT_STYLE", "counts", "escaped", "html", "text", "timeline"]

_COLUMNS = ("", "what", "times", "bytes", "ms", "GB/s", "where")
_NUMBERS = frozenset(("times", "bytes", "ms", "GB/s"))
_PARTS = ("rendering", "building", "copying", "waiting", "running")
_MAX_COLOURS = 10  # that people can distinguish
_MAX_KERNELS = 3  # names of kernels in the row of a program


def _kind(record: Record) -> str:
    return "first launch" if record.first else record.kind


def _rows(records: Sequence[Record]) -> list[tuple[str, ...]]:
    """Return a row with count and sums for each kind, name and line of code, without allocations.

    The rows are in the order of their first records.
    """
    sums: dict[tuple[str, str, str], tuple[int, int, float]] = {}
    for r in records:
        if r.kind != "allocate":
            key = (_kind(r), r.name, r.where)
            times, nbytes, seconds = sums.get(key, (0, 0, 0.0))
            sums[key] = (times + 1, nbytes + r.nbytes, seconds + r.seconds)
    rows: list[tuple[str, ...]] = []
    for (kind, name, where), (times, nbytes, seconds) in sums.items():
        rate = nbytes / seconds / 1e9 if seconds > 0 else 0.0
        figures = (f"{nbytes:,}", f"{seconds * 1e3:.3f}", f"{rate:.1f}") if nbytes else ("", f"{seconds * 1e3:.3f}", "")
        rows.append((kind, _shortened(name), f"{times:,}", *figures, where))
    return rows


def counts(profile: Profile) -> str:
    """Return a line with the number of records of each kind."""
    return (
        f"{profile.launches} launches, {profile.transfers} transfers of {profile.bytes:,} bytes, "
        f"{profile.synchronisations} synchronisations, {profile.builds} builds, "
        f"{profile.allocated_bytes:,} bytes allocated"
        + f", {profile.first_calls} first calls" * bool(profile.first_calls)
        + f", {profile.small_calls} small calls" * bool(profile.small_calls)
    )


_FIRST = "first launch: this process launches the kernel for the first time, so the driver prepares or compiles it"

# Kernels whose names do not say which NumPy functions they compute.
_KERNELS = {
    "bitmap_*": "unique and isin for integers of a narrow range",
    "combine_parts": "the second pass of a reduction",
    "compact_*": "selections by a mask, nonzero",
    "index_map": "pad, roll, tile, repeat and other functions that copy elements to other positions",
    "join": "concatenate, stack",
    "radix_*": "sort, argsort, partition and functions built on them",
    "scan_carry": "the second pass of a cumulative sum or product",
}


def _explanations(profile: Profile) -> list[str]:
    launched = [record.name for record in profile.records if record.kind == "launch"]
    kernels = [f"{name}: {text}" for name, text in _KERNELS.items() if filter_names(launched, name)]
    return [_FIRST] * any(record.first for record in profile.records) + kernels


def _totals(profile: Profile) -> list[str]:
    parts = ", ".join(f"{part} {getattr(profile, part) * 1e3:.3f} ms" for part in _PARTS)
    return [*_explanations(profile), parts, counts(profile)]


def _shortened(name: str) -> str:
    """Return the name of a record that fits in a column: a program may hold a dozen kernels."""
    names = name.split(", ")
    hidden = len(names) - _MAX_KERNELS
    return name if hidden <= 0 else f"{', '.join(names[:_MAX_KERNELS])} and {hidden} more"


def text(profile: Profile) -> str:
    """Return the table as text, for `str` of a profile."""
    rows = _rows(profile.records)
    names = max(len(row[1]) for row in [_COLUMNS, *rows])
    lines = [
        f"{kind:12} {name:{names}} {times:>7} {size:>15} {ms:>10} {rate:>8}  {where}"
        for kind, name, times, size, ms, rate, where in [_COLUMNS, *rows]
    ]
    return "\n".join(lines + _totals(profile))


# The style of preformatted text. It is complete, since a page made of a notebook (nbconvert) has no style for it.
TEXT_STYLE = "margin:0;max-height:24em;overflow:auto;line-height:1.2;font-family:monospace;white-space:pre"


def escaped(text: str) -> str:
    """Return a text with HTML's special characters escaped."""
    from html import escape  # imported late, since its import makes a table of 2,231 names

    return escape(text)


def html(profile: Profile) -> str:
    """Return the table as HTML, for notebooks."""
    lines = [_html_row("th", _COLUMNS), *(_html_row("td", row) for row in _rows(profile.records))]
    totals = "".join(f"<div>{escaped(line)}</div>" for line in _totals(profile))
    return f'<div class="clarray-profile"><table>{"".join(lines)}</table>{totals}</div>'


def _html_row(tag: str, cells: Sequence[str]) -> str:
    sides = ["right" if column in _NUMBERS else "left" for column in _COLUMNS]
    columns = [
        f'<{tag} style="text-align:{side}">{escaped(cell)}</{tag}>' for side, cell in zip(sides, cells, strict=True)
    ]
    return f"<tr>{''.join(columns)}</tr>"


def timeline(profile: Profile, ax: Any) -> Any:
    """Draw a bar from the start to the end of each record, with a row for each kind. Return the axes."""
    if ax is None:
        try:
            pyplot = import_module("matplotlib.pyplot")
        except ImportError as error:
            raise ImportError("Profile.timeline draws with matplotlib: pip install matplotlib") from error
        _, ax = pyplot.subplots(figsize=(9, 3), layout="constrained")
    records = [r for r in profile.records if r.kind != "allocate"]
    kinds = list(dict.fromkeys(map(_kind, records)))
    spent: dict[str, float] = {}
    for r in records:
        spent[r.name] = spent.get(r.name, 0.0) + r.seconds
    longest = sorted(spent, key=lambda name: -spent[name])[:_MAX_COLOURS]
    for name in [*longest, None]:  # the names with the most time have colours of their own, all others share one
        for kind in kinds:
            bars = [
                (r.start * 1e3, r.seconds * 1e3)
                for r in records
                if _kind(r) == kind and (r.name == name or (name is None and r.name not in longest))
            ]
            colour = "0.6" if name is None else f"C{longest.index(name)}"
            if bars:
                ax.broken_barh(bars, (kinds.index(kind) - 0.4, 0.8), color=colour)
    for name in longest:
        ax.plot([], [], linewidth=6, color=f"C{longest.index(name)}", label=f"{name}, {spent[name] * 1e3:.3g} ms")
    ax.set_yticks(range(len(kinds)), kinds)
    ax.invert_yaxis()
    ax.set_xlabel("ms")
    if longest:
        ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax
