"""Commands that install an OpenCL runtime, for messages.

The table in docs/how-to/install.md has the same commands with the tested versions. tests/test_packaging.py compares
them.
"""

from __future__ import annotations

__all__ = ["DRIVERS", "INTEL_CPU", "LIBCLC", "NVIDIA_ICD", "POCL"]

POCL = "pip install pocl-binary-distribution"
INTEL_CPU = "pip install intel-opencl-rt intel-cmplr-lib-rt"

# Mesa 26 calls functions that are not in LLVM's libclc 22. They are in libclc 21, and in Mesa's own.
LIBCLC = (
    "put libclc 21's library in the place of libclc 22's (as root `apt-get download libclc-21 && "
    "dpkg-deb -x libclc-21_*.deb . && cp usr/lib/clc/spirv*.spv /usr/lib/clc/`), or that of "
    "https://gitlab.freedesktop.org/karolherbst/mesa-libclc/-/releases"
)

# In a container the driver may exist without the file that names it.
NVIDIA_ICD = "echo libnvidia-opencl.so.1 > /etc/OpenCL/vendors/nvidia.icd"

# By the vendor of the GPU, on Linux.
DRIVERS = {
    "NVIDIA": f"install NVIDIA's driver; in a container `{NVIDIA_ICD}`",
    "AMD": "install ROCm's OpenCL (`apt-get install rocm-opencl-runtime`), or Mesa's (`apt-get install "
    "mesa-opencl-icd`, with RUSTICL_ENABLE=radeonsi)",
    "Intel": "install Intel's compute runtime (`apt-get install intel-opencl-icd`)",
}
