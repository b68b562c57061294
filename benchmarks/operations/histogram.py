"""Counting values."""

from __future__ import annotations

from operations.row import Input, Operation

INPUTS: dict[str, Input] = {}

OPERATIONS: list[Operation] = []
