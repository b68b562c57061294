"""Find the frequencies of a signal."""
import numpy as np
from numpy.random import default_rng

fs = 1000
t = np.arange(0, 1, 1 / fs)
x = 0.7 * np.sin(2 * np.pi * 50 * t) + np.sin(2 * np.pi * 120 * t)
rng = default_rng(0)
noisy = x + 0.5 * rng.standard_normal(t.shape)
spectrum = np.fft.rfft(noisy)
freqs = np.fft.rfftfreq(len(t), 1 / fs)
power = np.abs(spectrum) ** 2 / len(t)
peaks = freqs[np.argsort(power)[-2:]]
print(sorted(peaks.tolist()))
spectrum[power < 50] = 0
clean = np.fft.irfft(spectrum)
print(f"rms {np.sqrt(np.mean((clean - x) ** 2)):.5f}")
