"""Tuning: policies as values, measured rows, a pure selector."""

from clarray._engine.tuning.policy import ElementwisePolicy, Policies, ReducePolicy
from clarray._engine.tuning.selection import select
from clarray._engine.tuning.tuned import Kept

__all__ = ["ElementwisePolicy", "Kept", "Policies", "ReducePolicy", "select"]
