"""A class for vectors with operators, and a dataclass."""
from dataclasses import dataclass, field

import numpy as np


class Vec:
    def __init__(self, data):
        self.data = np.asarray(data, dtype=float)

    def __add__(self, other):
        return Vec(self.data + other.data)

    def __abs__(self):
        return float(np.linalg.norm(self.data))

    def __repr__(self):
        return f"Vec({', '.join(map(str, self.data))})"


@dataclass
class Particle:
    x: np.ndarray = field(default_factory=lambda: np.zeros(3))
    v: np.ndarray = field(default_factory=lambda: np.ones(3))

    def move(self, dt: float) -> "Particle":
        return Particle(self.x + dt * self.v, self.v)


print(Vec([1, 2]) + Vec([3, 4]), abs(Vec([3, 4])))
print(Particle().move(0.5))
print(isinstance(Particle().x, np.ndarray), type(Particle().x.sum()))
