"""Arrays in a notebook: a table of properties, their text, and a thumbnail of images.

Only the displayed elements are computed: a large pending array stays pending.
"""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

from clarray._core.device_array import DeviceArray, is_scalar
from clarray._core.host_policy import config
from clarray._core.printing import array_repr, part
from clarray._engine.expr.indexing import index
from clarray._engine.expr.node import CONST, MASKED
from clarray._engine.runtime.host_memory import format_bytes
from clarray._engine.runtime.profile_views import TEXT_STYLE, escaped

__all__ = ["html", "png", "thumbnail"]

_MAX_PIXELS = 128  # pixels of a thumbnail, at most
_COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}  # PNG's colour types by the number of channels


_TABLE = "border-collapse:collapse;margin:0 0 .4em 0"
_CELL = "text-align:left;padding:0 1em 0 0;border:none;font-family:monospace"


def html(array: DeviceArray) -> str:
    """Implement ``_repr_html_``: a number's text, or an array's properties with its text or picture."""
    kind = escaped(type(array).__name__)
    if is_scalar(array):
        return f'<div class="{kind}"><code>{escaped(repr(array))}</code></div>'
    state = _state(array)  # before the text or the picture evaluates the array
    rows = {
        "shape": str(array.shape),
        "dtype": array.dtype.name,
        "device": str(array.device),
        "memory": f"{format_bytes(array.nbytes)}, {state}",
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
    """Return an image element of a grey or a colour image (three axes, colours last), or '' for any other array."""
    shape = array.shape
    if array.dtype.kind not in "biuf" or not (len(shape) == 2 or (len(shape) == 3 and shape[2] in (3, 4))):
        return ""
    if min(shape[:2]) < 2:
        return ""
    step = -(-max(shape[:2]) // _MAX_PIXELS)
    key = (slice(None, None, step), slice(None, None, step))
    pixels = part(array, lambda view: index(view, key))
    height, width = pixels.shape[:2]
    image = _grey_image(pixels) if pixels.ndim == 2 else _colour_image(pixels)
    scale = max(_MAX_PIXELS // max(height, width), 1)
    style = f"width:{width * scale}px;height:{height * scale}px;image-rendering:pixelated"
    return f'<img alt="thumbnail" style="{style}" src="data:image/png;base64,{base64.b64encode(png(image)).decode()}"/>'


def _grey_image(values: np.ndarray) -> np.ndarray:
    """Map values to greys, from the least (black) to the largest, and NaN and infinity to transparent pixels."""
    finite = np.isfinite(values)
    halves = np.where(finite, values, 0).astype(np.float64) / 2  # halves, so that all differences are finite
    finite_halves = halves[finite]
    low, high = (finite_halves.min(), finite_halves.max()) if finite_halves.size else (0.0, 0.0)
    grey = np.rint((halves - low) / (high - low) * 255) if high > low else np.full(values.shape, 128.0)
    channels = [np.where(finite, grey, 0), finite * 255] if not finite.all() else [grey]
    return np.stack(channels, axis=-1).astype(np.uint8)


def _colour_image(values: np.ndarray) -> np.ndarray:
    """Map values to colours as matplotlib does: floats and bools from 0 to 1, integers from 0 to 255."""
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
    lines = np.zeros((height, 1 + width * channels), np.uint8)  # each line begins with its filter: none
    lines[:, 1:] = pixels.reshape(height, -1)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in parts)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
