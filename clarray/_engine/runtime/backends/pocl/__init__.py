"""PoCL: the machine code of its kernels, the files that it works with, its header, and patches of its wheel.

In: pyopencl's devices and programs. Out: the methods of `Backend`. Imports modules of `runtime` that know no `Device`.
"""
