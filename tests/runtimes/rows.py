"""The distributions and the OpenCL runtimes that `nox -s runtimes` tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

VENDORS = "/etc/OpenCL/vendors"


@dataclass(frozen=True)
class Suite:
    """A release of Debian, and the packages that its chroot contains beside the minimal system."""

    name: str
    label: str
    packages: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """An OpenCL runtime.

    Attributes
    ----------
    package : str
        The package of the distribution that contains the runtime.
    wheel : bool
        Whether PoCL is installed from pip, too.
    environment : dict
        The variables that select the runtime.
    """

    name: str
    label: str
    package: str
    wheel: bool = False
    environment: dict[str, str] = field(default_factory=dict)


BASE = (
    *("ca-certificates", "python3", "python3-venv", "python3-dev", "g++", "git"),
    *("pocl-opencl-icd", "ocl-icd-libopencl1", "clinfo"),
)
MESA = "mesa-opencl-icd"

SUITES = {
    suite.name: suite
    for suite in (
        Suite("bookworm", "Debian 12", BASE),
        Suite("trixie", "Debian 13", (*BASE, MESA)),
        Suite("sid", "Debian sid", (*BASE, MESA)),
    )
}

# OCL_ICD_VENDORS restricts the loader to one driver. A user of the wheel has not set it.
ROWS = {
    row.name: row
    for row in (
        Row("pocl", "PoCL", "pocl-opencl-icd", environment={"OCL_ICD_VENDORS": f"{VENDORS}/pocl.icd"}),
        Row("wheel", "PoCL, with PoCL from pip", "pocl-opencl-icd", wheel=True),
        Row(
            "rusticl",
            "Mesa's rusticl (llvmpipe)",
            MESA,
            environment={
                "OCL_ICD_VENDORS": f"{VENDORS}/rusticl.icd",
                "RUSTICL_ENABLE": "llvmpipe",
                "CLARRAY_DEVICE": "llvmpipe",
            },
        ),
    )
}


def rows_of(suite: Suite, names: list[str]) -> list[Row]:
    """Return the selected runtimes that a distribution has, in the order of ROWS."""
    return [row for row in ROWS.values() if row.name in names and row.package in suite.packages]


def parse_names(text: str, known: Mapping[str, object]) -> list[str]:
    """Split a comma-separated list of names. Raise ValueError for an unknown name."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise ValueError(f"unknown name {', '.join(unknown) or repr(text)}: choose from {', '.join(known)}")
    return list(dict.fromkeys(names))
