"""Tuning: policies as values, measured rows, a pure selector."""

from clarray.plan.tuning.kept import Kept
from clarray.plan.tuning.policy import ElementwisePolicy, Policies, ReducePolicy
from clarray.plan.tuning.select import select

__all__ = ["ElementwisePolicy", "Kept", "Policies", "ReducePolicy", "select"]
