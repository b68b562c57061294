"""A process that launches one small program on each queue, and prints how often it was built for a queue.

The two queues of PoCL 3.0 share a binary, and so one build.
"""

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
queues = 1 if device.inline is None or device.probed.binary_ids else 2
print(p.builds // queues)
"""
