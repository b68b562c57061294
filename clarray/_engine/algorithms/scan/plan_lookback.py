"""Lay out the states that the tiles of a single-pass scan publish.

The last tile of a block publishes the aggregate of the block, and the last block of a section the inclusive prefix::

    tiles     | 0 1 ... S-1 | S ...    |
    blocks    |      0      |    1     | ...
    sections  |             0               | ...
"""

from __future__ import annotations

MAX_BLOCK = 32


def block_size(work_group: int, wave: int) -> int:
    """Return the tiles in a block, and the blocks in a section: the states that a wave reads at once."""
    return wave if wave > 1 else max(2, min(MAX_BLOCK, work_group // 4))


def published_states(tiles: int, block: int) -> int:
    """Return the number of states of a line that are published or may be read: of tiles, blocks and sections."""
    blocks = tiles // block + 1
    return tiles + blocks + blocks // block + 2
