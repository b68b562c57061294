"""A program as text that runs as it stands and fails where clarray is not NumPy."""

from __future__ import annotations

import platform

import numpy as np

from .compare import Difference
from .execute import evaluates
from .program import Program, source_of_values

HEAD = '''"""{title}

{how}
"""

import copy
import io
import pickle
import warnings

import numpy as np

import clarray as cl

warnings.simplefilter("ignore")
np.seterr(all="ignore")
{tools}

{functions}

theirs, ours = program(np), program(cl)
{end}
'''

FUNCTION = """def {name}(xp):
    errors = {{}}
{body}
    return locals()

"""

EARLIER = """
for _ in range({repeats}):
    evaluate(list(earlier(cl).values()))
"""

EVALUATE = """
def evaluate(value):
    if isinstance(value, cl.DeviceArray):
        value.evaluate()
    elif isinstance(value, (tuple, list)):
        for one in value:
            evaluate(one)

"""


def printed(program: Program, found: Difference | None, raising: frozenset[int] = frozenset()) -> str:
    """Give the text of a program.

    Parameters
    ----------
    raising : frozenset of int
        The statements that raise on either side.
    """
    functions = FUNCTION.format(name="program", body=body_of(program, raising))
    if program.repeats:
        functions += "\n" + FUNCTION.format(name="earlier", body=body_of(program.earlier(), raising))
        functions += EARLIER.format(repeats=program.repeats)
    tools = "" if "values(" not in functions else f"from typing import Any\n\n\n{source_of_values()}\n"
    tools += EVALUATE if "evaluate(" in functions else ""
    title = str(found).replace("\\", "\\\\").replace('"""', "'''") if found else "A program that was running."
    how = f"order: {program.order}; NumPy {np.__version__}, Python {platform.python_version()}. {program.note}".strip()
    return HEAD.format(title=title, how=how, tools=tools, functions=functions, end=ending(found))


def body_of(program: Program, raising: frozenset[int]) -> str:
    """Give the lines of a function that runs a program."""
    lines = [datum.text for datum in program.data]
    for k, statement in enumerate(program.statements):
        if k in raising:
            lines += ["try:", f"    {statement.text}", "except Exception as error:", f"    errors[{k}] = error"]
        else:
            lines.append(statement.text)
        if evaluates(program, k) and statement.names.makes:
            wanted = ", ".join(f"locals().get({name!r})" for name in sorted(statement.names.makes))
            lines.append(f"evaluate([{wanted}])")
    return "\n".join(f"    {line}" for line in lines)


def ending(found: Difference | None) -> str:
    """Show both values, and assert that they are alike."""
    if found is None:
        return ""
    if not found.name:
        return (
            'print("NumPy:", theirs["errors"])\nprint("clarray:", ours["errors"])\n'
            'a, b = ({k: type(e) for k, e in side["errors"].items()} for side in (theirs, ours))\nassert a == b'
        )
    lines = [
        f"a, b = theirs[{found.name!r}], ours[{found.name!r}]",
        'print("NumPy:", repr(a))',
        'print("clarray:", repr(b))',
    ]
    checks = {
        "dtype": "assert a.dtype == b.dtype, (a.dtype, b.dtype)",
        "shape": "assert np.shape(a) == cl.shape(b), (np.shape(a), cl.shape(b))",
        "writeable": "assert a.flags.writeable == b.flags.writeable, (a.flags.writeable, b.flags.writeable)",
        "layout": "assert a.strides == b.strides, (a.strides, b.strides)",
        "shares": f"# NumPy {found.theirs}, clarray {found.ours}",
    }
    value = "np.testing.assert_allclose(np.asarray(b), a, rtol=1e-3 if np.asarray(a).dtype.itemsize < 4 else 1e-6)"
    lines.append(checks.get(found.kind, value))
    return "\n".join(lines)
