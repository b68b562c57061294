"""`python -m clarray`: which devices there are, and what one of them does for your data.

`python -m clarray tune` measures a device and keeps what is faster on it.
"""

import sys


def main() -> int:
    """Run the command that the first argument names."""
    if sys.argv[1:2] == ["tune"]:
        from clarray._api.tune import main as tune

        return tune(sys.argv[2:])
    from clarray._api.demo import main as demo

    return demo()


if __name__ == "__main__":
    sys.exit(main())
