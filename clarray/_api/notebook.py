"""Arrays in a notebook: what they are and where they lie, their text, and a picture of what may be an image.

No more than what is shown is computed: a large array that is pending stays pending.
"""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

from clarray._core.device_array import DeviceArray, is_number
from clarray._core.host_policy import config
from clarray._core.printing import array_repr, indexed, part
from clarray._engine.expr.node import CONST, MASKED
from clarray._engine.runtime.limits import in_units
from clarray._engine.runtime.profile_views import TEXT_STYLE, escaped

__all__ = ["html", "png", "thumbnail"]

_SIDE = 128  # pixels of a thumbnail, at most
_COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}  # PNG's colour types by the number of channels


_TABLE = "border-collapse:collapse;margin:0 0 .4em 0"
_CELL = "text-align:left;padding:0 1em 0 0;border:none;font-family:monospace"


def html(array: DeviceArray) -> str:
    """``_repr_html_``: a number on one line; an array's shape, dtype, device and memory, and its text or picture."""
    kind = escaped(type(array).__name__)
    if is_number(array):
        return f'<div class="{kind}"><code>{escaped(repr(array))}</code></div>'
    state = _state(array)  # before anything is asked that computes it
    rows = {
        "shape": str(array.shape),
        "dtype": array.dtype.name,
        "device": str(array.device),
        "memory": f"{in_units(array.nbytes)}, {state}",
    }
    lines = "".join(
        f'<tr><th style="{_CELL}">{name}</th><td style="{_CELL}">{escaped(value)}</td></tr>'
        for name, value in rows.items()
    )
    is_image = array.dtype == np.uint8 and array.ndim == 3
    picture = thumbnail(array) if config.thumbnails is True or (config.thumbnails and is_image) else ""
    text = "" if picture and is_image else f'<pre style="{TEXT_STYLE}">{escaped(array_repr(array))}</pre>'
    return f'<div class="{kind}"><table style="{_TABLE}">{lines}</table>{picture}{text}</div>'


def _state(array: DeviceArray) -> str:
    node = array._node
    if node.flags & MASKED:
        return "pending: what a mask selects"
    if node.op is CONST:
        return "a number that the host knows"
    if node.memory is None:
        return "pending"
    if node.memory.shared:
        return "shared with a NumPy array or another library"
    return "computed" if array.base is None else "a view of another array's"


def thumbnail(array: DeviceArray) -> str:
    """An image element of an array of two axes, or three of which the last has colours; '' for any other."""
    shape = array.shape
    if array.dtype.kind not in "biuf" or not (len(shape) == 2 or (len(shape) == 3 and shape[2] in (3, 4))):
        return ""
    if min(shape[:2]) < 2:
        return ""
    step = -(-max(shape[:2]) // _SIDE)
    key = (slice(None, None, step), slice(None, None, step))
    pixels = part(array, lambda view: indexed(view, key))
    height, width = pixels.shape[:2]
    drawn = _grey(pixels) if pixels.ndim == 2 else _coloured(pixels)
    scale = max(_SIDE // max(height, width), 1)
    style = f"width:{width * scale}px;height:{height * scale}px;image-rendering:pixelated"
    return f'<img alt="thumbnail" style="{style}" src="data:image/png;base64,{base64.b64encode(png(drawn)).decode()}"/>'


def _grey(values: np.ndarray) -> np.ndarray:
    """Greys from the least (black) to the largest value; what is not finite is transparent."""
    finite = np.isfinite(values)
    halves = np.where(finite, values, 0).astype(np.float64) / 2  # the difference of any two is finite
    shown = halves[finite]
    low, high = (shown.min(), shown.max()) if shown.size else (0.0, 0.0)
    grey = np.rint((halves - low) / (high - low) * 255) if high > low else np.full(values.shape, 128.0)
    channels = [np.where(finite, grey, 0), finite * 255] if not finite.all() else [grey]
    return np.stack(channels, axis=-1).astype(np.uint8)


def _coloured(values: np.ndarray) -> np.ndarray:
    """Colours as matplotlib takes them: floats and bools from 0 to 1, integers from 0 to 255."""
    if values.dtype.kind in "fb":
        values = np.rint(np.nan_to_num(values.astype(np.float64)).clip(0, 1) * 255)
    return values.clip(0, 255).astype(np.uint8)


def png(pixels: np.ndarray) -> bytes:
    """Encode an image as PNG (ISO/IEC 15948).

    Parameters
    ----------
    pixels : ndarray
        uint8 of height x width x channels: grey, grey and alpha, RGB, or RGBA.
    """
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOURS[channels], 0, 0, 0)
    lines = np.zeros((height, 1 + width * channels), np.uint8)  # each begins with its filter: none
    lines[:, 1:] = pixels.reshape(height, -1)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*each) for each in parts)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
