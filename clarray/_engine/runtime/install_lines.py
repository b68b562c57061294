"""Commands that install an OpenCL runtime, for messages.

The table in docs/how-to/install.md has the same commands with the tested versions. tests/test_packaging.py compares
them.
"""

from __future__ import annotations

__all__ = ["DRIVERS", "INTEL_CPU", "NVIDIA_ICD", "POCL"]

POCL = "pip install pocl-binary-distribution"
INTEL_CPU = "pip install intel-opencl-rt intel-cmplr-lib-rt"

# In a container the driver may exist without the file that names it.
NVIDIA_ICD = "echo libnvidia-opencl.so.1 > /etc/OpenCL/vendors/nvidia.icd"

# By the vendor of the GPU, on Linux.
DRIVERS = {
    "NVIDIA": f"install NVIDIA's driver; in a container `{NVIDIA_ICD}`",
    "AMD": "install ROCm's OpenCL (`apt-get install rocm-opencl-runtime`), or Mesa's (`apt-get install "
    "mesa-opencl-icd`, with RUSTICL_ENABLE=radeonsi)",
    "Intel": "install Intel's compute runtime (`apt-get install intel-opencl-icd`)",
}
