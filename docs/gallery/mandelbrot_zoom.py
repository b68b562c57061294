"""A zoom into the Mandelbrot set.

For each point ``c`` of the plane, the program replaces a number ``z`` by ``z * z + c`` until ``z`` leaves the circle
of radius 2, and counts the steps. The program computes four windows of the plane at once. Each window is a tenth as
wide as the window before. The numbers have double precision, because the narrowest window needs this precision.
"""

import clarray

try:
    import matplotlib.pyplot as plt
except ImportError:
    raise SystemExit("This program draws a picture: pip install matplotlib") from None

centre = -0.743643887037151 + 0.131825904205330j
widths = [3, 0.3, 0.03, 0.003]


def compute(np):
    """Return the number of steps before each point leaves the circle, at most 300."""
    x = np.linspace(-0.5, 0.5, 320)
    y = np.linspace(-0.375, 0.375, 240)[:, None]
    c = centre + np.array(widths)[:, None, None] * (x + 1j * y)
    z = np.zeros_like(c)
    steps = np.zeros(c.shape, dtype=np.int32)
    for _ in range(300):
        inside = z.real**2 + z.imag**2 < 4
        steps += inside
        z = np.where(inside, z * z + c, z)
    return steps


steps = compute(clarray)
print("inside after 300 steps:", (steps == 300).sum(axis=(1, 2)), "of", steps[0].size)

figure, axes = plt.subplots(2, 2, figsize=(8, 6.4), layout="constrained")
for axis, window, width in zip(axes.flat, clarray.asnumpy(clarray.log(steps)), widths, strict=True):
    axis.imshow(window, cmap="magma", origin="lower", vmin=window.min())
    axis.set(title=f"{width} wide", xticks=[], yticks=[])
plt.show()
