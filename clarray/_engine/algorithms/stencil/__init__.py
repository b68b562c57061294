"""Stencils: functions of a window around each element."""
