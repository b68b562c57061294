"""Simulations: particles, populations, prices by chance, automata. What is random is drawn beforehand, by NumPy."""

from __future__ import annotations

import numpy as np

from workloads.row import program


@program(
    lambda r, n, steps: (r.random((n, 3)), r.random((n, 3)), 1 + r.random(n), steps),
    tiny=(5, 2),
    small=(40, 30),
    medium=(200, 25),
    large=(1200, 20),
)
def n_body(xp, place, speed, mass, steps):
    def pull(place):
        apart = place[None, :, :] - place[:, None, :]
        squared = (apart**2).sum(axis=2) + 0.01
        return (apart * (mass / squared**1.5)[:, :, None]).sum(axis=1)

    force = pull(place)
    for _ in range(steps):
        speed += 0.5e-3 * force
        place += 1e-3 * speed
        force = pull(place)
        speed += 0.5e-3 * force
    return place, 0.5 * (mass * (speed**2).sum(axis=1)).sum()


def groups(r, n, steps):
    contact = r.random((n, n)) / n
    sick = 0.01 * r.random(n)
    return 1 - sick, sick, np.zeros(n), contact + contact.T, steps


@program(groups, tiny=(4, 2), small=(20, 60), medium=(400, 800), large=(2000, 200))
def sir_by_age(xp, s, i, r, contact, steps):
    """Susceptible, infected and recovered of each age, by Runge and Kutta's method."""

    def change(s, i):
        caught = 0.5 * s * (contact @ i)
        healed = 0.1 * i
        return -caught, caught - healed, healed

    total = xp.zeros(steps)
    for t in range(steps):
        s1, i1, r1 = change(s, i)
        s2, i2, r2 = change(s + 0.25 * s1, i + 0.25 * i1)
        s3, i3, r3 = change(s + 0.25 * s2, i + 0.25 * i2)
        s4, i4, r4 = change(s + 0.5 * s3, i + 0.5 * i3)
        s = s + (s1 + 2 * s2 + 2 * s3 + s4) / 12
        i = i + (i1 + 2 * i2 + 2 * i3 + i4) / 12
        r = r + (r1 + 2 * r2 + 2 * r3 + r4) / 12
        total[t] = i.sum()
    return s, i, r, total, total.max()


@program(
    lambda r, n, steps: (r.random((n, n)), 0.1 * (r.random((n, n)) < 0.01), steps),
    tiny=(8, 3),
    small=(50, 60),
    medium=(250, 250),
    large=(1200, 90),
)
def sir_on_a_map(xp, s, i, steps):
    """An epidemic that spreads to neighbouring places; its course is kept."""
    course = []
    for _ in range(steps):
        near = i.copy()
        near[1:, :] += 0.2 * i[:-1, :]
        near[:-1, :] += 0.2 * i[1:, :]
        near[:, 1:] += 0.2 * i[:, :-1]
        near[:, :-1] += 0.2 * i[:, 1:]
        caught = xp.minimum(0.3 * s * near, s)
        s = s - caught
        i = 0.95 * i + caught
        course.append(float(i.mean()))
    return s, i, max(course)


@program(
    lambda r, steps, paths: (r.standard_normal((steps, 2, paths)),),
    tiny=(3, 50),
    small=(40, 5000),
    medium=(50, 200_000),
    large=(40, 1_500_000),
)
def asian_option(xp, normal):
    """Monte Carlo, with Heston's volatility: the mean price along each path is paid for."""
    steps, _, paths = normal.shape
    dt = 1 / steps
    price, variance, total = xp.full(paths, 100.0), xp.full(paths, 0.04), xp.zeros(paths)
    for z in normal:
        spread = xp.sqrt(variance * dt)
        price *= xp.exp((0.03 - variance / 2) * dt + spread * z[0])
        variance += 1.5 * (0.04 - variance) * dt + 0.3 * spread * (0.8 * z[1] - 0.6 * z[0])
        variance = xp.maximum(variance, 0)
        total += price
    paid = xp.maximum(total / steps - 100, 0)
    return paid.mean(), paid.std() / paths**0.5


@program(
    lambda r, steps, paths: (r.integers(0, 4, (steps, paths), dtype=np.uint8),),
    tiny=(4, 60),
    small=(100, 4000),
    medium=(150, 100_000),
    large=(200, 800_000),
)
def random_walks(xp, choices):
    """How many walkers on a grid are back where they began, and how far the others are."""
    across, up = xp.array([1, 0, -1, 0]), xp.array([0, 1, 0, -1])
    x, y = xp.zeros(choices.shape[1], dtype=int), xp.zeros(choices.shape[1], dtype=int)
    back = xp.zeros(choices.shape[1], dtype=bool)
    times = []
    for choice in choices:
        x += across[choice]
        y += up[choice]
        back |= (x == 0) & (y == 0)
        times.append(int(back.sum()))
    return xp.array(times), (x**2 + y**2).mean(), xp.abs(x).max()


def spins(r, n, steps):
    return np.where(r.random((n, n)) < 0.5, -1, 1), r.random((steps, n, n)), steps


@program(spins, tiny=(6, 2), small=(40, 20), medium=(300, 30), large=(1000, 60))
def ising(xp, spin, chance, steps):
    """Metropolis's algorithm on a chessboard, by a mask."""
    n = len(spin)
    white = (xp.arange(n)[:, None] + xp.arange(n)) % 2 == 0
    energies = xp.zeros(steps)
    for t in range(steps):
        for colour in (white, ~white):
            near = xp.roll(spin, 1, 0) + xp.roll(spin, -1, 0) + xp.roll(spin, 1, 1) + xp.roll(spin, -1, 1)
            flips = colour & (chance[t] < xp.exp(-0.8 * spin * near))
            spin[flips] *= -1
        energies[t] = -(spin * near).mean()
    return spin, energies


def plane(r, n, steps):
    x, y = np.linspace(-2, 0.5, n), np.linspace(-1.25, 1.25, n)
    return x + 1j * y[:, None], steps


@program(plane, tiny=(12, 6), small=(100, 40), medium=(500, 80), large=(1500, 120), differing=1e-3)
def mandelbrot(xp, c, steps):
    z = xp.zeros_like(c)
    count = xp.zeros(c.shape, dtype=int)
    for _ in range(steps):
        inside = xp.abs(z) < 2
        z[inside] = z[inside] ** 2 + c[inside]
        count[inside] += 1
    return count


@program(plane, tiny=(12, 6), small=(120, 60), medium=(700, 100), large=(2000, 100), differing=1e-3)
def mandelbrot_shrinking(xp, c, steps):
    """Points that have left are taken out of the arrays."""
    count = xp.full(c.size, steps)
    c = c.ravel()
    z, number = xp.zeros_like(c), xp.arange(c.size)
    for k in range(steps):
        z = z * z + c
        gone = z.real**2 + z.imag**2 > 4
        count[number[gone]] = k
        z, c, number = z[~gone], c[~gone], number[~gone]
    return count


@program(
    lambda r, n, steps: ((r.random((n, n)) < 0.3).astype(np.int64), steps),
    tiny=(8, 3),
    small=(60, 50),
    medium=(300, 80),
    large=(1500, 50),
)
def game_of_life(xp, cells, steps):
    population = []
    for _ in range(steps):
        near = (
            cells[:-2, :-2] + cells[:-2, 1:-1] + cells[:-2, 2:]
            + cells[1:-1, :-2] + cells[1:-1, 2:]
            + cells[2:, :-2] + cells[2:, 1:-1] + cells[2:, 2:]
        )  # fmt: skip
        born = (near == 3) & (cells[1:-1, 1:-1] == 0)
        stays = ((near == 2) | (near == 3)) & (cells[1:-1, 1:-1] == 1)
        cells[...] = 0
        cells[1:-1, 1:-1][born | stays] = 1
        population.append(int(cells.sum()))
    return cells, max(population)
