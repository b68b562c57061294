"""A small ray tracer of one sphere."""
import numpy as np


def normalize(v):
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


w, h = 60, 40
x = np.linspace(-1.5, 1.5, w)
y = np.linspace(1, -1, h)
d = normalize(np.stack(np.broadcast_arrays(x[None, :], y[:, None], 1.0), axis=-1))
center, radius = np.array([0, 0, 3.0]), 1.0
b = (d * center).sum(-1)
disc = b**2 - (center @ center - radius**2)
hit = disc > 0
t = np.where(hit, b - np.sqrt(np.maximum(disc, 0)), np.inf)
with np.errstate(invalid="ignore"):
    normal = normalize(np.where(hit[..., None], d * t[..., None] - center, 1.0))
light = normalize(np.array([1.0, 1.0, -1.0]))
shade = np.where(hit, np.clip(normal @ light, 0, 1), 0)
chars = np.array(list(" .:-=+*#%@"))
for row in (shade * 9).astype(int)[::4]:
    print("".join(chars[row]))
print(hit.sum(), shade.max().round(6))
