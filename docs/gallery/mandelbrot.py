"""The Mandelbrot set.

Points of the plane are squared and shifted until they leave. A step is one kernel, and the comparison counts at which
step each point has left.
"""

import matplotlib.pyplot as plt
import numpy as np

import clarray

x = clarray.linspace(-2.1, 0.6, 720, dtype=np.float32)
y = clarray.linspace(-1.2, 1.2, 640, dtype=np.float32)[:, None]
z = clarray.zeros((640, 720), dtype=np.complex64)
c = (x + 1j * y).astype(np.complex64)
steps = clarray.zeros((640, 720), dtype=np.int32)
for _ in range(60):
    inside = z.real**2 + z.imag**2 < 4
    steps += inside
    z = clarray.where(inside, z * z + c, z).evaluate()
print("within after 60 steps:", int((steps == 60).sum()), "of", steps.size)

figure, axis = plt.subplots(figsize=(7, 6), layout="constrained")
shown = clarray.asnumpy(clarray.log(steps + 1))
axis.imshow(shown, extent=(-2.1, 0.6, -1.2, 1.2), cmap="magma")
axis.set(xlabel="real part", ylabel="imaginary part")
plt.show()
