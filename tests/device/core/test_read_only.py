"""What may not be written is said before anything else is looked at: dtypes, shapes, axes, positions."""

from __future__ import annotations

import pytest

from ..outcomes import difference

NAMES = {
    "READ_ONLY": "xp.broadcast_to(xp.array([True, False]), (3, 2))",
    "NUMBERS": "xp.broadcast_to(xp.array([1, 0], 'c8'), (3, 2))",
    "ROW": "xp.broadcast_to(xp.array([True]), (2,))",
    "COMPLEX": "xp.ones((3, 2), 'c8')",
}
TABLE = """
xp.add(COMPLEX, 1, out=READ_ONLY)
xp.add(COMPLEX, 'x', out=READ_ONLY)
xp.add(COMPLEX, np.ones(7), out=READ_ONLY)
xp.add(COMPLEX, 1, out=READ_ONLY, where=np.ones(7, bool))
xp.add(READ_ONLY, 1, out=READ_ONLY, dtype='f4', casting='no')
xp.bitwise_and(COMPLEX, 1, out=READ_ONLY)
xp.divmod(COMPLEX, 1, out=(None, READ_ONLY))
xp.add.reduce(COMPLEX, out=ROW)
xp.add.reduce(COMPLEX, out=READ_ONLY)
xp.add.reduce(COMPLEX, axis=5, out=READ_ONLY)
xp.add.accumulate(COMPLEX, out=ROW)
xp.add.reduceat(COMPLEX, [0, 9], out=ROW)
xp.bitwise_and.reduce(COMPLEX, out=ROW)
xp.maximum.reduce(COMPLEX[:0], out=ROW)
xp.sum(COMPLEX, 0, out=READ_ONLY)
xp.mean(COMPLEX, 0, out=READ_ONLY)
xp.mean(COMPLEX, 9, out=READ_ONLY)
xp.var(COMPLEX, 0, out=ROW)
xp.std(COMPLEX, 0, out=ROW)
xp.max(COMPLEX, 0, out=READ_ONLY)
xp.all(COMPLEX, 9, out=READ_ONLY)
xp.ptp(COMPLEX, 0, out=ROW)
xp.argmax(COMPLEX, 0, out=ROW)
xp.cumsum(COMPLEX, 0, out=ROW)
xp.clip(COMPLEX, 0, 1, out=ROW)
xp.clip(COMPLEX, 0, None, out=ROW)
xp.round(COMPLEX.real, 1, out=ROW)
xp.matmul(COMPLEX, COMPLEX, out=READ_ONLY)
xp.vecdot(COMPLEX, COMPLEX, out=READ_ONLY)
xp.concatenate([COMPLEX, COMPLEX], out=xp.broadcast_to(ROW, (6, 2)))
xp.median(COMPLEX.real, 0, out=ROW)
xp.nansum(COMPLEX, 0, out=ROW)
xp.fix(COMPLEX.real, out=ROW)
READ_ONLY.__iadd__(COMPLEX)
READ_ONLY.__irshift__(READ_ONLY)
READ_ONLY.__iadd__('x')
NUMBERS.__iand__(READ_ONLY)
NUMBERS.__imatmul__(COMPLEX)
NUMBERS.real.astype('i4').__ipow__(-1)
xp.copyto(READ_ONLY, 1j)
xp.copyto(READ_ONLY, np.ones(7))
xp.copyto(READ_ONLY, 1, where=np.ones(2))
READ_ONLY.sort(9)
READ_ONLY.partition(9)
READ_ONLY.put([9], 1)
xp.putmask(READ_ONLY, [True], 1j)
xp.place(READ_ONLY, [True], 1j)
xp.fill_diagonal(READ_ONLY, 1j)
READ_ONLY.__setitem__((0, 0), 1j)
READ_ONLY.__setitem__((9, 9), 1)
READ_ONLY.fill('x')
READ_ONLY.__setattr__('real', READ_ONLY)
READ_ONLY.__setattr__('real', READ_ONLY.T)
READ_ONLY.__setattr__('real', READ_ONLY[:0])
READ_ONLY.__setitem__(..., READ_ONLY)
xp.copyto(READ_ONLY, READ_ONLY)
xp.copyto(READ_ONLY, READ_ONLY, where=np.ones(2, bool))
xp.copyto(READ_ONLY, READ_ONLY.copy())
"""
LINES = [line for line in TABLE.splitlines() if line]


@pytest.mark.parametrize("line", LINES)
def test_read_only(line: str) -> None:
    for name, array in NAMES.items():
        line = line.replace(name, array)
    found = difference(line)
    assert found is None, f"{line}: {found}"
