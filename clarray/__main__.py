"""`python -m clarray`: which devices there are, and what one of them does for your data.

`python -m clarray run script.py` runs a program that is written for NumPy. `python -m clarray tune` measures a device
and keeps what is faster on it. `python -m clarray doctor` finds what is wrong with a machine's OpenCL, and says what
mends it.
"""

import sys
from importlib import import_module

COMMANDS = {
    "doctor": "clarray._api.doctor.command",
    "run": "clarray.run.command",
    "tune": "clarray._api.tune",
}


def main() -> int:
    """Run the command that the first argument names."""
    module = COMMANDS.get(sys.argv[1] if len(sys.argv) > 1 else "")
    if module is None:
        return import_module("clarray._api.demo").main()
    return import_module(module).main(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
