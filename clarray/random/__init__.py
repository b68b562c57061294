"""Draw random numbers on the device. The functions and classes have the same names as in `numpy.random`.

>>> import clarray
>>> rng = clarray.random.default_rng(1)
>>> rng.integers(0, 6, size=3).shape
(3,)
"""

import sys as _sys

from clarray._core.own_frames import add_boundaries as _add_boundaries
from clarray.random import legacy
from clarray.random.bit_generator import Philox4x32, SeedSequence
from clarray.random.generator import Generator, default_rng
from clarray.random.legacy import *  # noqa: F403

Philox = Philox4x32

__all__ = ["Generator", "Philox", "Philox4x32", "SeedSequence", "default_rng", *legacy.__all__]

_add_boundaries(_sys.modules[__name__], __all__)
