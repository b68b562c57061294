"""What is measured: a table of rows, and of the inputs they name, per chapter."""

from operations import (
    array,
    compact,
    fourier,
    histogram,
    indexing,
    linear_algebra,
    manipulation,
    products,
    scan,
    sets,
    sort,
    stencil,
)
from operations.row import Aim, Input, Operation, Sizes

_CHAPTERS = (
    array,
    scan,
    compact,
    indexing,
    manipulation,
    sets,
    sort,
    histogram,
    products,
    linear_algebra,
    fourier,
    stencil,
)

OPERATIONS = [row for chapter in _CHAPTERS for row in chapter.OPERATIONS]
INPUTS = {name: row for chapter in _CHAPTERS for name, row in chapter.INPUTS.items()}
if len(INPUTS) < sum(len(chapter.INPUTS) for chapter in _CHAPTERS):
    raise ValueError("two chapters name an input alike: one would be measured with the other's values")

__all__ = ["INPUTS", "OPERATIONS", "Aim", "Input", "Operation", "Sizes"]
