"""Check the GPUs on the machine's bus, their drivers, and the device nodes that a driver opens. Linux only."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clarray._api.doctor.findings import PROBLEM, Finding
from clarray._engine.runtime.environment import vendor_files
from clarray._engine.runtime.install_lines import DRIVERS

__all__ = ["hardware"]

_PCI = Path("/sys/bus/pci/devices")
_DRM = Path("/sys/class/drm")
_DEV = Path("/dev")

_RENDER_NODES = "dri/renderD*"  # the device nodes of all makers' open drivers
_GROUPS = "`sudo usermod -aG render,video $USER`, and log in again"


@dataclass(frozen=True, kw_only=True)
class Maker:
    """Properties of a maker's GPUs.

    Parameters
    ----------
    name : str
        Name in OpenCL's platforms and devices.
    pci : str
        Vendor number on the bus.
    classes : tuple of str
        Prefixes of the bus's device classes: display adapters, and AMD's accelerators, which have no display.
    libraries : tuple of str
        Words in the names of drivers' libraries for these GPUs.
    nodes : tuple of str
        Patterns of the required device nodes.
    missing : str
        Remedy for missing nodes.
    forbidden : str
        Remedy for nodes that the user must not open.
    """

    name: str
    pci: str
    classes: tuple[str, ...]
    libraries: tuple[str, ...]
    nodes: tuple[str, ...]
    missing: str
    forbidden: str


_MAKERS = (
    Maker(
        name="NVIDIA",
        pci="0x10de",
        classes=("0x03",),
        libraries=("nvidia",),
        nodes=("nvidiactl", "nvidia[0-9]*"),
        missing="load the kernel's module (`nvidia-smi` does), or give the container its GPU (`docker run --gpus all`)",
        forbidden="`sudo chmod a+rw /dev/nvidia*` until the next start (the module's option NVreg_DeviceFileMode keeps "
        "it); in a container `docker run --gpus all`",
    ),
    Maker(
        name="AMD",
        pci="0x1002",
        classes=("0x03", "0x12"),
        libraries=("amdocl", "rusticl", "mesa"),
        nodes=(_RENDER_NODES, "kfd"),
        missing="load the kernel's module (`sudo modprobe amdgpu`), or give the container its GPU (`docker run "
        "--device /dev/kfd --device /dev/dri`)",
        forbidden=f"{_GROUPS}; in a container `docker run --device /dev/kfd --device /dev/dri --group-add render`",
    ),
    Maker(
        name="Intel",
        pci="0x8086",
        classes=("0x03",),
        libraries=("igdrcl", "rusticl", "mesa"),
        nodes=(_RENDER_NODES,),
        missing="load the kernel's module (`sudo modprobe i915`, or `xe`), or give the container its GPU (`docker run "
        "--device /dev/dri`)",
        forbidden=f"{_GROUPS}; in a container `docker run --device /dev/dri --group-add render`",
    ),
)


def hardware(listed: str) -> Iterator[Finding]:
    """Compare the GPUs on the machine's bus with OpenCL's list, and check the permissions of device nodes.

    Parameters
    ----------
    listed : str
        Names of OpenCL's GPUs and their platforms. A maker is not checked if its name is among them.
    """
    libraries = " ".join(Path(library).name for library in vendor_files().values()).lower()
    for maker in filter(_is_on_bus, _MAKERS):
        if maker.name.lower() in listed.lower():
            continue
        if not any(word in libraries for word in maker.libraries):
            what = f"{maker.name}'s display adapter is on the bus, and no OpenCL driver for it"
            yield Finding(PROBLEM, what, DRIVERS[maker.name])
        if sys.platform == "linux":
            yield from _node_findings(maker)


def _is_on_bus(maker: Maker) -> bool:
    for device in _PCI.glob("*") if _PCI.is_dir() else []:
        if _read(device / "vendor") == maker.pci and _read(device / "class").startswith(maker.classes):
            return True
    return False


def _node_findings(maker: Maker) -> Iterator[Finding]:
    """Check that each of a maker's device nodes exists and can be opened."""
    nodes_by_pattern = {
        pattern: [node for node in sorted(_DEV.glob(pattern)) if _may_belong_to(node, maker)] for pattern in maker.nodes
    }
    missing = [str(_DEV / pattern) for pattern, nodes in nodes_by_pattern.items() if not nodes]
    if missing:
        yield Finding(PROBLEM, f"{maker.name}'s GPU has no device node ({', '.join(missing)})", maker.missing)
    for node in (node for nodes in nodes_by_pattern.values() for node in nodes):
        if not _is_allowed_to_open(node):
            yield Finding(PROBLEM, f"no permission to open {node}, of {maker.name}'s GPU", maker.forbidden)


def _may_belong_to(node: Path, maker: Maker) -> bool:
    """Return whether a node may belong to a maker. GPUs of several makers have render nodes."""
    return _read(_DRM / node.name / "device" / "vendor") in ("", maker.pci)


def _is_allowed_to_open(node: Path) -> bool:
    """Try to open a node: its mode does not show a container's restrictions."""
    try:
        os.close(os.open(node, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
    except PermissionError:
        return False
    except OSError:
        pass  # the node has no device, or the device is in use: the driver reports the error
    return True


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
