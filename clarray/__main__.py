"""`python -m clarray`: which devices there are, and what one of them does for your data.

`python -m clarray tune` measures a device and keeps what is faster on it.
"""

import sys

from clarray._api import demo, tune


def main() -> int:
    """Run the command that the first argument names."""
    if sys.argv[1:2] == ["tune"]:
        return tune.main(sys.argv[2:])
    return demo.main()


if __name__ == "__main__":
    sys.exit(main())
