"""Tuning: policies as values, measured rows, and their selection for a device."""

from clarray._engine.tuning.policy import ElementwisePolicy, Policies, ReducePolicy
from clarray._engine.tuning.selection import select
from clarray._engine.tuning.tuned import Tuned

__all__ = ["ElementwisePolicy", "Tuned", "Policies", "ReducePolicy", "select"]
