"""Waves of shallow water.

A wave crosses a basin with a shoal, an area of shallow water. Above the shoal, the wave is slower and higher, and
changes its direction. The program stores the height of the surface at grid points, and the flows between these
points. So the slope of the surface is the difference of two slices. Each step consists of three statements that
change arrays in place.
"""

import clarray

try:
    import matplotlib.pyplot as plt
except ImportError:
    raise SystemExit("This program draws a picture: pip install matplotlib") from None


def compute(np):
    """Return the depth of the bottom, and the height of the surface at five points in time, in metres."""
    cell, gravity, step = 1000.0, 9.81, 3.0  # m, m/s2, s
    y = np.arange(400, dtype=np.float32)[:, None]
    x = np.arange(640, dtype=np.float32)
    depth = 4000 - 3800 * np.exp(-((x - 320) ** 2 + (y - 200) ** 2) / 4500)
    height = 2 * np.exp(-((x - 90) ** 2 + (y - 150) ** 2) / 300)
    east = np.zeros((400, 641), dtype=np.float32)  # flow between columns, 0 at the walls
    north = np.zeros((401, 640), dtype=np.float32)
    push_east = gravity * step / cell * (depth[:, 1:] + depth[:, :-1]) / 2
    push_north = gravity * step / cell * (depth[1:] + depth[:-1]) / 2
    pictures = [height.copy()]
    for _ in range(4):
        for _ in range(200):
            east[:, 1:-1] -= push_east * (height[:, 1:] - height[:, :-1])
            north[1:-1] -= push_north * (height[1:] - height[:-1])
            height -= step / cell * (east[:, 1:] - east[:, :-1] + north[1:] - north[:-1])
        pictures.append(height.copy())
    return depth, pictures


depth, pictures = compute(clarray)
for k, height in enumerate(pictures):
    highest, mean = float(height.max()), float(height.mean())
    print(f"after {10 * k:2} minutes: highest {highest:5.2f} m, mean {1000 * mean:.2f} mm")

figure, axes = plt.subplots(2, 2, figsize=(9, 5.8), layout="constrained")
for k, axis in enumerate(axes.flat, 1):
    image = axis.imshow(clarray.asnumpy(pictures[k]), cmap="RdBu_r", vmin=-0.4, vmax=0.4)
    axis.contour(clarray.asnumpy(depth), [1000, 2000, 3000], colors="black", linewidths=0.4)
    axis.set(title=f"{10 * k} minutes", xticks=[], yticks=[])
figure.colorbar(image, ax=axes, label="m")
plt.show()
