"""``a.flags``: an array's memory layout, and whether it may be written."""

from __future__ import annotations

from typing import Any

from clarray._core.device_array import DeviceArray, is_writeable
from clarray._core.views import make_view, read_only, view_of
from clarray._engine.expr.node import READONLY

_LETTERS = {
    "C": "C_CONTIGUOUS",
    "F": "F_CONTIGUOUS",
    "O": "OWNDATA",
    "W": "WRITEABLE",
    "A": "ALIGNED",
    "X": "WRITEBACKIFCOPY",
    "CONTIGUOUS": "C_CONTIGUOUS",
    "FORTRAN": "F_CONTIGUOUS",
}


class Flags:
    """Describe the memory layout of an array, as attributes or by NumPy's names in capitals. See `numpy.ndarray.flags`.

    Examples
    --------
    >>> import clarray
    >>> flags = clarray.zeros((2, 3)).T.flags
    >>> flags.f_contiguous, flags["C_CONTIGUOUS"]
    (True, False)
    """

    def __init__(self, array: DeviceArray) -> None:
        self._array = array

    @property
    def c_contiguous(self) -> bool:
        """Whether the elements are contiguous in C order (row-major)."""
        return view_of(self._array).contiguous

    @property
    def f_contiguous(self) -> bool:
        """Whether the elements are contiguous in Fortran order (column-major)."""
        return view_of(self._array).f_contiguous

    @property
    def owndata(self) -> bool:
        """Whether the array owns its memory: it is no view, and the memory is not shared with the host."""
        memory = self._array.evaluate()._node.memory
        assert memory is not None
        return self._array.base is None and not memory.shared

    @property
    def writeable(self) -> bool:
        """Whether the elements may be written. Can be set."""
        return is_writeable(self._array)

    @writeable.setter
    def writeable(self, value: bool) -> None:
        array, layout = self._array, view_of(self._array)
        if not value:
            array._node = read_only(array)._node
            return
        base = array.base
        memory = array._node.memory
        assert memory is not None
        if not memory.writeable or (isinstance(base, DeviceArray) and not is_writeable(base)):
            raise ValueError("cannot set WRITEABLE flag to True of this array")
        node = make_view(array, layout)._node
        node.flags = array._node.flags & ~READONLY
        array._node = node

    aligned = property(lambda self: True, doc="True: elements lie where the device can read them.")
    writebackifcopy = property(lambda self: False, doc="False: no array stands in for another one.")
    contiguous = c_contiguous
    fortran = f_contiguous
    behaved = property(lambda self: self.writeable, doc="Aligned and writeable.")
    fnc = property(lambda self: self.f_contiguous and not self.c_contiguous, doc="In Fortran order only.")
    forc = property(lambda self: self.f_contiguous or self.c_contiguous, doc="In Fortran or in C order.")
    carray = property(lambda self: self.behaved and self.c_contiguous, doc="Behaved, and in C order.")
    farray = property(lambda self: not self.c_contiguous, doc="Not in C order: all that NumPy asks of it.")

    def __getitem__(self, name: str) -> bool:
        flag = _LETTERS.get(name, name)
        if flag in _LETTERS.values():
            return bool(getattr(self, flag.lower()))
        if name.lower() in ("fnc", "forc", "behaved", "carray", "farray") and name.isupper():
            return bool(getattr(self, name.lower()))
        raise KeyError("Unknown flag")

    def __setitem__(self, name: str, value: Any) -> None:
        if _LETTERS.get(name, name) != "WRITEABLE":
            raise KeyError("Unknown flag")
        self.writeable = bool(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and repr(self) == repr(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names = ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED", "WRITEBACKIFCOPY")
        return "\n".join(f"  {name} : {self[name]}" for name in names) + "\n"


def setflags(array: DeviceArray, write: Any = None, align: Any = None, uic: Any = None) -> None:
    """Make the array read-only, or writeable again.

    Parameters
    ----------
    write : bool, optional
        Whether the elements may be written. None leaves this as it is.
    align : bool, optional
        True or None. Arrays on a device are always aligned.
    uic : bool, optional
        False or None. Accepted for compatibility with NumPy.

    Raises
    ------
    ValueError
        `write` is true, but the array's memory or its base is read-only. Or `align` is false, or `uic` is true.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.zeros(3)
    >>> x.setflags(write=False)
    >>> x.flags.writeable
    False
    """
    if write is not None:
        array.flags.writeable = bool(write)
    if align is not None and not align:
        raise ValueError("clarray's arrays are always aligned")
    if uic:
        raise ValueError("cannot set WRITEBACKIFCOPY flag to True")
