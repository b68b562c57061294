"""Where the tiles of a single pass tell each other what they have found.

One of `block` tiles tells their sum, and one of `block` blocks all up to there::

    tiles     | 0 1 ... S-1 | S ...    |
    blocks    |      0      |    1     | ...
    sections  |             0               | ...
"""

from __future__ import annotations

MOST = 32


def block_size(work_group: int, wave: int) -> int:
    """Tiles in a block, and blocks in a section: a wave looks at so many at once."""
    return wave if wave > 1 else max(2, min(MOST, work_group // 4))


def published_states(tiles: int, block: int) -> int:
    """Of states that are published, or may be looked at: the tiles', the blocks', the sections'."""
    blocks = tiles // block + 1
    return tiles + blocks + blocks // block + 2
