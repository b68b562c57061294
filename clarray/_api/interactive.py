"""Interactive prompts: show an array as NumPy does, with a comment that names its device.

    Python's prompt     sys.displayhook    array([0., 1., 2.])  # on the cpu, AMD EPYC
    IPython, notebooks  _repr_pretty_      the same, unless the array is part of another object

`repr` and `str` are NumPy's, so scripts, doctests and logs are the same. ``clarray.config.show_device = False`` shows
NumPy's text at prompts too.
"""

from __future__ import annotations

import builtins
import sys
from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray, is_scalar
from clarray._core.host_policy import config

__all__ = ["install_display", "pretty", "text_with_device"]


def text_with_device(array: DeviceArray) -> str:
    """Return an array's `repr` with a comment that names the device."""
    text = repr(array)
    if is_scalar(array) or not config.show_device:
        return text
    capabilities = array.device.capabilities
    comment = f"# on the {capabilities.kind}, {capabilities.name}"
    last_line = text[text.rfind("\n") + 1 :]
    fits = len(last_line) + 2 + len(comment) <= np.get_printoptions()["linewidth"]
    return f"{text}  {comment}" if fits else f"{text}\n{comment}"


def pretty(array: DeviceArray, printer: Any, cycle: bool) -> None:
    """Implement IPython's ``_repr_pretty_``. It names the device only if IPython displays the array alone."""
    is_shown_alone = len(getattr(printer, "stack", ())) <= 1
    text = text_with_device(array) if is_shown_alone and _is_in_ipython() else repr(array)
    for number, line in enumerate(text.split("\n")):
        if number:
            printer.break_()
        printer.text(line)


def _is_in_ipython() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


def install_display() -> None:
    """Make Python's interactive prompt, if the process has one, show arrays with their device."""
    if not (hasattr(sys, "ps1") or sys.flags.interactive) or _is_in_ipython():
        return
    show = sys.displayhook

    def show_with_device(value: Any) -> None:
        if not isinstance(value, DeviceArray):
            show(value)
            return
        builtins._ = None  # type: ignore[attr-defined]  # as Python does: `repr` may read it
        print(text_with_device(value))
        builtins._ = value  # type: ignore[attr-defined]

    sys.displayhook = show_with_device
