"""The spectrogram of a chirp.

Overlapping windows are a view that copies nothing, and ``rfft`` transforms all of them in one call, which multiplies by
the window on its way where clarray's own kernels do the transform.
"""

import matplotlib.pyplot as plt
import numpy as np

import clarray
from clarray.lib.stride_tricks import sliding_window_view

rate, length, hop = 8000, 512, 128
t = clarray.arange(4 * rate, dtype=np.float32) / rate
rising = clarray.sin(2 * np.pi * (200 * t + 400 * t * t))
wobbling = 0.5 * clarray.sin(2 * np.pi * (1500 * t + 20 * clarray.sin(4 * np.pi * t)))
noise = 0.1 * clarray.random.default_rng(0).standard_normal(t.size, dtype=np.float32)
sound = (rising + wobbling + noise).evaluate()

windows = sliding_window_view(sound, length)[::hop]
spectra = clarray.fft.rfft(windows * clarray.hanning(length).astype(np.float32), axis=1)
decibels = 20 * clarray.log10(abs(spectra) + 1e-6)
loudest = decibels.argmax(axis=1) * rate / length
print(len(windows), "windows; the loudest begins at", loudest[0], "Hz and ends at", loudest[-1])

figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
extent = (0, 4, 0, rate / 2)
picture = clarray.asnumpy(decibels.T)
image = axis.imshow(picture, origin="lower", aspect="auto", extent=extent, vmin=-20)
axis.set(xlabel="seconds", ylabel="Hz")
figure.colorbar(image, label="dB")
plt.show()
