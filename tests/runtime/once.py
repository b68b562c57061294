"""A process that launches one small program, in the ways there are, and says how often it was built."""

ONCE = """
import numpy as np
from clarray._engine.runtime import current_device
from clarray._engine.runtime.profiling import profile
source = "kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }"
with profile() as p:
    device = current_device()
    memory = device.upload(np.arange(8, dtype=np.float32))
    kernel = device.program(source, {"twice": ("buffer",)}).kernel("twice")
    for inline in (True, False):
        kernel.launch((8,), (1,), (memory.buffer,), inline)
    out = np.empty(8, np.float32)
    device.read(memory, 0, out)
assert (out == 4 * np.arange(8)).all(), out
print(p.builds)
"""
