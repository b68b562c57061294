"""`python -m clarray`: which devices there are, and what one of them does for your data.

`python -m clarray tune` measures a device and keeps what is faster on it. `python -m clarray doctor` finds what is
wrong with a machine's OpenCL, and says what mends it.
"""

import sys

from clarray._api import demo, tune
from clarray._api.doctor import command as doctor


def main() -> int:
    """Run the command that the first argument names."""
    if sys.argv[1:2] == ["tune"]:
        return tune.main(sys.argv[2:])
    if sys.argv[1:2] == ["doctor"]:
        return doctor.main(sys.argv[2:])
    return demo.main()


if __name__ == "__main__":
    sys.exit(main())
