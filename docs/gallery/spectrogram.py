"""The spectrogram of a chirp.

A chirp is a tone with a rising frequency. ``sliding_window_view`` returns overlapping windows of the sound as a view,
without a copy. The program multiplies each window by a Hann function, and one call of ``rfft`` transforms all
windows. If clarray's own kernels compute the Fourier transform, these kernels also multiply the windows by the Hann
function.
"""

import math

import numpy

import clarray

try:
    import matplotlib.pyplot as plt
except ImportError:
    raise SystemExit("This program draws a picture: pip install matplotlib") from None

rate, length, hop = 8000, 512, 32
noise = 0.1 * numpy.random.default_rng(0).standard_normal(4 * rate, dtype=numpy.float32)


def compute(np):
    """Return the loudness in decibels for each window and frequency."""
    t = np.arange(4 * rate, dtype=np.float32) / rate
    rising = np.sin(2 * math.pi * (200 * t + 400 * t * t))
    wobbling = 0.5 * np.sin(2 * math.pi * (1500 * t + 20 * np.sin(4 * math.pi * t)))
    sound = np.array(noise)
    sound += rising + wobbling
    windows = np.lib.stride_tricks.sliding_window_view(sound, length)[::hop]
    spectra = np.fft.rfft(windows * np.hanning(length).astype(np.float32), axis=1)
    return 10 * np.log10(spectra.real**2 + spectra.imag**2 + 1e-12)


decibels = compute(clarray)
loudest = decibels.argmax(axis=1) * rate / length
print(len(decibels), "windows; the loudest begins at", loudest[0], "Hz and ends at", loudest[-1])

figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
extent = (0, 4, 0, rate / 2)
picture = clarray.asnumpy(decibels.T)
image = axis.imshow(picture, origin="lower", aspect="auto", extent=extent, vmin=-20)
axis.set(xlabel="seconds", ylabel="Hz")
figure.colorbar(image, label="dB")
plt.show()
