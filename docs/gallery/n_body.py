"""Two clusters of stars that collide.

Each star attracts each other star, so each step needs the distances of all pairs of stars. Broadcasting computes all
1024 x 1024 distances. For each step, clarray makes six passes over arrays of 1024 x 1024 numbers. NumPy makes about
25 passes.
"""

import numpy

import clarray

try:
    import matplotlib.pyplot as plt
except ImportError:
    raise SystemExit("This program draws a picture: pip install matplotlib") from None

rng = numpy.random.default_rng(2)
side = numpy.where(numpy.arange(1024) < 512, 1, -1)
places = rng.normal(size=(3, 1024)) + side * [[4], [1], [0]]
speeds = 0.35 * rng.normal(size=(3, 1024)) - side * [[0.8], [0], [0]]


def pull(np, place):
    """Return the acceleration of each star, and the potential energy. Masses are 1 / 1024."""
    squared = sum((k - k[:, None]) ** 2 for k in place)
    near = 1 / np.sqrt(squared + np.float32(0.01))  # the constant limits the force between close stars
    weight = near * near * near / 1024
    force = np.stack([((k - k[:, None]) * weight).sum(axis=1) for k in place])
    return force, -near.sum() / (2 * 1024**2)


def compute(np):
    """Return the positions of the stars and the energy at five points in time."""
    place, speed = np.array(places, dtype=np.float32), np.array(speeds, dtype=np.float32)
    force, potential = pull(np, place)
    pictures, energies = [], []
    for step in range(201):
        if step % 50 == 0:
            pictures.append(place)
            energies.append(potential + (speed * speed).sum() / 2048)
        speed = speed + 0.02 * force
        place = place + 0.04 * speed
        force, potential = pull(np, place)
        speed = speed + 0.02 * force
    return pictures, energies


pictures, energies = compute(clarray)
print("energy at the five times:", *(f"{float(energy):.5f}" for energy in energies))

figure, axes = plt.subplots(1, 5, figsize=(10, 2.6), layout="constrained")
for k, (axis, places) in enumerate(zip(axes, pictures, strict=True)):
    x, y, _ = clarray.asnumpy(places)
    axis.scatter(x, y, c=side, s=1, cmap="coolwarm")
    axis.set(title=f"time {2 * k}", xlim=(-7, 7), ylim=(-7, 7), aspect="equal", xticks=[], yticks=[])
plt.show()
