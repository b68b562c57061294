"""Whole programs: a chapter of rows for each kind."""

from workloads import bits, filters, fluids, learning, linear, simulation, stencils, sweeps, tables
from workloads.row import SIZES, TINY, TOLERANCES, Program, answers, difference

_CHAPTERS = (stencils, fluids, sweeps, linear, simulation, learning, tables, bits, filters)

PROGRAMS = {row.name: row for chapter in _CHAPTERS for row in vars(chapter).values() if isinstance(row, Program)}

__all__ = ["PROGRAMS", "SIZES", "TINY", "TOLERANCES", "Program", "answers", "difference"]
