"""``a.flags``: how an array's memory is laid out, and whether it may be written."""

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
    """Layout of an array's memory, by attribute or by NumPy's names in capitals; see `numpy.ndarray.flags`."""

    def __init__(self, array: DeviceArray) -> None:
        self._array = array

    @property
    def c_contiguous(self) -> bool:
        """Whether the elements lie one after the other in C order."""
        return view_of(self._array).contiguous

    @property
    def f_contiguous(self) -> bool:
        """Whether the elements lie one after the other in Fortran order."""
        return view_of(self._array).f_contiguous

    @property
    def owndata(self) -> bool:
        """Whether the memory is the array's own."""
        memory = self._array.evaluate()._node.memory
        assert memory is not None
        return self._array.base is None and not memory.shared

    @property
    def writeable(self) -> bool:
        """Whether elements may be written; it can be set."""
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
        known = _LETTERS.get(name, name)
        if known in _LETTERS.values():
            return bool(getattr(self, known.lower()))
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
    """Set whether an array may be written; the other flags follow from its memory.

    Parameters
    ----------
    write : bool, optional
        Whether elements may be written; as it is when None.
    align : bool, optional
        True or None: the arrays of a device are aligned.
    uic : bool, optional
        False or None: no array stands in for another one.

    Raises
    ------
    ValueError
        The array cannot be what is asked: writeable where its memory or its base is not, not aligned, or a stand-in.
    """
    if write is not None:
        array.flags.writeable = bool(write)
    if align is not None and not align:
        raise ValueError("clarray's arrays are always aligned")
    if uic:
        raise ValueError("cannot set WRITEBACKIFCOPY flag to True")
