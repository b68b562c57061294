"""Sudoku by backtracking."""
import numpy as np

grid = np.array([list(map(int, row)) for row in (
    "530070000", "600195000", "098000060", "800060003", "400803001", "700020006", "060000280", "000419005", "000080079")])


def possible(y, x, n):
    box = grid[3 * (y // 3) : 3 * (y // 3) + 3, 3 * (x // 3) : 3 * (x // 3) + 3]
    return not (n in grid[y] or n in grid[:, x] or n in box)


def solve():
    empty = np.argwhere(grid == 0)
    if len(empty) == 0:
        return True
    y, x = empty[0]
    for n in range(1, 10):
        if possible(y, x, n):
            grid[y, x] = n
            if solve():
                return True
            grid[y, x] = 0
    return False


print(solve())
print(grid)
print(np.all(grid.sum(axis=0) == 45))
