"""A ray tracer.

The picture shows spheres above a floor, with shadows and two reflections. The program follows one ray for each pixel.
Broadcasting computes the distances along all rays to all spheres, and ``argmin`` finds the nearest sphere of each
ray. The program uses masks in place of conditions, so all rays take the same steps.
"""

import clarray

try:
    import matplotlib.pyplot as plt
except ImportError:
    raise SystemExit("This program draws a picture: pip install matplotlib") from None

# x, y, z, radius, red, green, blue
spheres = [(0, 0, 5, 1, 0.9, 0.3, 0.2), (-2.1, 0, 6, 1, 0.2, 0.5, 0.8), (1.1, -0.7, 3.2, 0.3, 0.8, 0.4, 0.8)]


def dot(a, b):
    """Return the scalar products of vectors. The first axis contains the components of the vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def distances(np, balls, start, ray):
    """Return the distance from the start of each ray to each sphere, or infinity for a miss."""
    middle = balls[:3, :, None, None] - start[:, None]
    along = dot(middle, ray[:, None])
    inside = along**2 - dot(middle, middle) + balls[3, :, None, None] ** 2
    distance = along - np.sqrt(np.maximum(inside, 0))
    return np.where((inside > 0) & (distance > 1e-3), distance, np.inf)


def compute(np):
    """Return the picture: red, green and blue for each pixel."""
    balls = np.array(spheres, dtype=np.float32).T
    up, light = np.array([[0, 1, 0], [-0.48, 0.8, -0.36]], dtype=np.float32)[:, :, None, None]
    x = np.linspace(-1, 1, 640, dtype=np.float32)
    y = np.linspace(0.65, -0.85, 480, dtype=np.float32)[:, None]
    ray = np.stack(np.broadcast_arrays(x, y, np.float32(1.4)))
    ray = ray / np.sqrt(dot(ray, ray))
    start, picture, strength = np.zeros_like(ray), np.zeros_like(ray), np.ones_like(ray[0])
    for _ in range(3):
        each = distances(np, balls, start, ray)
        ball = balls[:, each.argmin(axis=0)]
        floor = np.where(ray[1] < -1e-4, (-1 - start[1]) / np.minimum(ray[1], -1e-4), np.inf)
        nearest = np.minimum(each.min(axis=0), floor)
        sky, is_floor = nearest > 40, nearest == floor
        start = start + ray * np.where(sky, 0, nearest)
        normal = np.where(is_floor, up, (start - ball[:3]) / ball[3])
        in_light = np.isinf(distances(np, balls, start, light)).all(axis=0)
        shade = 0.25 + 0.75 * np.maximum(dot(normal, light), 0) * in_light
        tiles = 0.4 + 0.5 * ((np.floor(start[0]) + np.floor(start[2])) % 2)
        colour = np.where(sky, 0.5 + 0.4 * ray[1], shade * np.where(is_floor, tiles, ball[4:]))
        picture = picture + strength * colour
        strength = strength * np.where(sky, 0, np.float32(0.3))
        ray = ray - 2 * dot(ray, normal) * normal
    return np.minimum(np.moveaxis(picture, 0, 2), 1)


picture = compute(clarray)
print(f"{picture.shape[0]} x {picture.shape[1]} rays, mean brightness {float(picture.mean()):.3f}")

figure, axis = plt.subplots(figsize=(7, 5.3), layout="constrained")
axis.imshow(clarray.asnumpy(picture))
axis.set_axis_off()
plt.show()
