"""What is typed to get an OpenCL runtime: the one place that messages have these lines from.

docs/how-to/install.md has the same lines in its table, with the versions that were tested; tests/test_packaging.py
compares them.
"""

from __future__ import annotations

__all__ = ["DRIVERS", "INTEL_CPU", "NVIDIA_ICD", "POCL"]

POCL = "pip install pocl-binary-distribution"
INTEL_CPU = "pip install intel-opencl-rt intel-cmplr-lib-rt"

# In a container the driver may be there, and the file that names it not.
NVIDIA_ICD = "echo libnvidia-opencl.so.1 > /etc/OpenCL/vendors/nvidia.icd"

# What a GPU of each maker needs under Linux.
DRIVERS = {
    "NVIDIA": f"install NVIDIA's driver; in a container `{NVIDIA_ICD}`",
    "AMD": "install ROCm's OpenCL (`apt-get install rocm-opencl-runtime`), or Mesa's (`apt-get install "
    "mesa-opencl-icd`, with RUSTICL_ENABLE=radeonsi)",
    "Intel": "install Intel's compute runtime (`apt-get install intel-opencl-icd`)",
}
