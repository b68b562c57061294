"""PoCL: the machine code of its kernels, its files, its header, and patches of its wheel.

In: pyopencl's devices and programs. Out: the methods of `Backend`. Imports modules of `runtime` that do not import
`Device`.
"""
