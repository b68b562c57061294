"""Waits for a device hold its lock, whatever statement waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import Device, current_device
from clarray._engine.runtime.waiting import Waiting

from .test_interrupts import STATEMENTS, Loop


@pytest.mark.parametrize("made", [clarray.zeros, clarray.ones, clarray.empty, clarray.array], ids=lambda f: f.__name__)
def test_waits_hold_the_lock(made: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait without it may begin while another thread launches, and would take the device for idle afterwards."""
    device, finish, violations = current_device(), Device.finish, []

    def checked_finish(self: Device) -> None:
        def acquire() -> None:
            if self.lock.acquire(False):
                self.lock.release()
                violations.append("the caller does not hold the lock")

        thread = threading.Thread(target=acquire)
        thread.start()
        thread.join()
        finish(self)

    monkeypatch.setattr(Waiting, "finish", checked_finish)
    loop = Loop()
    for name, statement in STATEMENTS.items():
        device.pending = True
        made((3, 2) if made is not clarray.array else np.ones(5))
        device.pending = True
        statement(clarray, loop.ours)
        assert not violations, name
