"""Conway's game of life.

A cell has eight neighbours. The board is padded with a border that repeats the cells of the opposite side, so slices
of the padded board are the neighbours of all cells. For each generation, clarray computes the sum of the neighbours
and the rule of the game in a few kernels.
"""

import numpy

import clarray

try:
    import matplotlib.pyplot as plt
except ImportError:
    raise SystemExit("This program draws a picture: pip install matplotlib") from None

start = numpy.random.default_rng(3).random((1024, 1536)) < 0.25


def compute(np):
    """Return the board after 200 generations, and the number of live cells in each generation."""
    board = np.array(start)
    alive = [int(board.sum())]
    for _ in range(200):
        padded = np.pad(board.view(np.int8), 1, mode="wrap")
        rows = padded[:-2] + padded[1:-1] + padded[2:]
        around = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:] - board
        board = (around == 3) | (board & (around == 2))
        alive.append(int(board.sum()))
    return board, alive


board, alive = compute(clarray)
print("alive at first", alive[0], "and after 200 generations", alive[-1])

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.imshow(clarray.asnumpy(board[:256, :384]), cmap="binary")
left.set(title="a sixteenth of the board, after 200 generations", xticks=[], yticks=[])
right.plot(alive)
right.set(xlabel="generation", ylabel="cells alive")
plt.show()
