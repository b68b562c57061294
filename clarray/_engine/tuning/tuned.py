"""Results of tuning a device, stored as JSON, and their application to a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import Policies
from clarray._engine.tuning.search_space import ALGORITHMS, row_kind, search_space

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
        Name of the shipped row that it changes.
    date : str
        Date of the measurement, YYYY-MM-DD.
    measured : str
        The measured gain.
    changes : mapping of str to mapping
        Per algorithm, the fields with other values than the row's.
    """

    device: str
    row: str
    date: str
    measured: str
    changes: Mapping[str, Mapping[str, Any]]

    def to_json(self) -> dict[str, object]:
        """Return plain values, with the number of their format."""
        return {"format": FORMAT, **asdict(self)}

    @staticmethod
    def from_json(stored: object, device: str) -> Tuned | None:
        """Return the stored result; None if it is absent, invalid, or of another device or format."""
        if not isinstance(stored, dict) or stored.get("format") != FORMAT or stored.get("device") != device:
            return None
        row, date, measured, changes = (stored.get(name) for name in ("row", "date", "measured", "changes"))
        if not (isinstance(row, str) and isinstance(date, str) and isinstance(measured, str)):
            return None
        if not isinstance(changes, dict) or not all(isinstance(c, dict) for c in changes.values()):
            return None
        return Tuned(device, row, date, measured, changes)

    def apply(self, row: Policies) -> Policies:
        """Return the row with the tuned fields; the row itself if the result is of another row.

        Only values of the search space are valid, whatever a file contains: kernels are tested with these.
        """
        if row.name != self.row:
            return row
        policies: dict[str, Any] = {}
        for algorithm, changes in self.changes.items():
            if algorithm not in ALGORITHMS:
                return row
            space = search_space(algorithm, row_kind(row))
            for name, value in changes.items():
                if not hasattr(getattr(row, algorithm), name):
                    return row
                if not any(type(value) is type(v) and value == v for v in space.get(name, ())):
                    return row
            policies[algorithm] = replace(getattr(row, algorithm), **changes)
        measured = f"{row.measured}; here: {self.measured}" if self.measured else row.measured
        return replace(row, measured=measured, source=f"tuned on {self.date}", **policies)
