"""The heat equation.

A plate has a warm edge and two cold blocks. In each step, the new temperature of a point depends on the point and its
four neighbours. The program computes the temperatures of all points with sums of slices. Each step is one kernel,
which writes directly into a second array.
"""

import clarray

try:
    import matplotlib.pyplot as plt
except ImportError:
    raise SystemExit("This program draws a picture: pip install matplotlib") from None


def compute(np):
    """Return the temperature of the plate at steps 0, 500 and 4000."""
    now = np.zeros((200, 300), dtype=np.float32)
    now[0] = 100.0
    now[80:110, 60:90] = now[80:110, 200:230] = -60.0
    cold = now[1:-1, 1:-1] < 0
    then = now.copy()
    pictures = {}
    for step in range(4001):
        if step in (0, 500, 4000):
            pictures[step] = now.copy()
        middle = now[1:-1, 1:-1]
        around = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:]
        then[1:-1, 1:-1] = np.where(cold, middle, middle + 0.2 * (around - 4 * middle))
        now, then = then, now
    return pictures


pictures = compute(clarray)
for step, temperature in pictures.items():
    print(f"mean temperature at step {step}: {temperature.mean():.2f}")

figure, axes = plt.subplots(1, 3, figsize=(9, 2.9), layout="constrained")
for axis, (step, temperature) in zip(axes, pictures.items(), strict=True):
    image = axis.imshow(clarray.asnumpy(temperature), cmap="inferno", vmin=-60, vmax=100)
    axis.set(title=f"step {step}", xticks=[], yticks=[])
figure.colorbar(image, ax=axes)
plt.show()
