"""The release of NumPy that is installed, for the few answers that NumPy itself cannot be asked for."""

from __future__ import annotations

import numpy as np

NUMPY_2_5 = np.lib.NumpyVersion(np.__version__) >= "2.5.0"
