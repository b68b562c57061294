"""Conway's game of life.

The neighbours of all cells are slices of a board with a border, where it meets its other side; their sum and the rule
are one kernel for each generation.
"""

import matplotlib.pyplot as plt
import numpy as np

import clarray

rng = np.random.default_rng(3)
board = clarray.array(rng.random((256, 384)) < 0.25)
alive = [int(board.sum())]
for _ in range(200):
    padded = clarray.pad(board.view(np.int8), 1, mode="wrap")
    rows = padded[:-2] + padded[1:-1] + padded[2:]
    around = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:] - board
    board = (around == 3) | (board & (around == 2))
    alive.append(int(board.sum()))
print("alive at first", alive[0], "and after 200 generations", alive[-1])

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.imshow(clarray.asnumpy(board), cmap="binary", interpolation="nearest")
left.set(title="after 200 generations", xticks=[], yticks=[])
right.plot(alive)
right.set(xlabel="generation", ylabel="cells alive")
plt.show()
