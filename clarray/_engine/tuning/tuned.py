"""What tuning found on a device, as plain values that are kept as JSON, and what they make of a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from clarray._engine.tuning.policy import Policies
from clarray._engine.tuning.search_space import ALGORITHMS, kind_of, search_space
from clarray._engine.values import dataclass

__all__ = ["Tuned"]

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Tuned:
    """The result of tuning one device.

    Parameters
    ----------
    device : str
        Identity of the device and its driver.
    row : str
        The shipped row it starts from.
    date : str
        When it was measured, YYYY-MM-DD.
    measured : str
        What was gained.
    changes : mapping of str to mapping
        Per algorithm, the fields that differ from the row's.
    """

    device: str
    row: str
    date: str
    measured: str
    changes: Mapping[str, Mapping[str, Any]]

    def to_json(self) -> dict[str, object]:
        """Plain values, with the format they are in."""
        return {"format": FORMAT, **asdict(self)}

    @staticmethod
    def from_json(found: object, device: str) -> Tuned | None:
        """What was stored; None where that is nothing, of another device or format, or no such thing."""
        if not isinstance(found, dict) or found.get("format") != FORMAT or found.get("device") != device:
            return None
        row, date, measured, changes = (found.get(name) for name in ("row", "date", "measured", "changes"))
        if not (isinstance(row, str) and isinstance(date, str) and isinstance(measured, str)):
            return None
        if not isinstance(changes, dict) or not all(isinstance(c, dict) for c in changes.values()):
            return None
        return Tuned(device, row, date, measured, changes)

    def apply(self, row: Policies) -> Policies:
        """The row with what was found; as it is where the two do not belong together.

        Only values that tuning tries itself are taken, whatever a file says: those are known to be sound.
        """
        if row.name != self.row:
            return row
        made: dict[str, Any] = {}
        for algorithm, changes in self.changes.items():
            if algorithm not in ALGORITHMS:
                return row
            space = search_space(algorithm, kind_of(row))
            for name, value in changes.items():
                if not hasattr(getattr(row, algorithm), name):
                    return row
                if not any(type(value) is type(v) and value == v for v in space.get(name, ())):
                    return row
            made[algorithm] = replace(getattr(row, algorithm), **changes)
        measured = f"{row.measured}; here: {self.measured}" if self.measured else row.measured
        return replace(row, measured=measured, source=f"tuned on {self.date}", **made)
