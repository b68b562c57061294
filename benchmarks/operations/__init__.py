"""What is measured: a table of rows, and of the inputs they name, per chapter."""

from operations import array, compact, histogram, products, scan, sets, sort, stencil
from operations.row import Aim, Input, Operation, Sizes

_CHAPTERS = (array, scan, compact, sets, sort, histogram, products, stencil)

OPERATIONS = [row for chapter in _CHAPTERS for row in chapter.OPERATIONS]
INPUTS = {name: row for chapter in _CHAPTERS for name, row in chapter.INPUTS.items()}

__all__ = ["INPUTS", "OPERATIONS", "Aim", "Input", "Operation", "Sizes"]
