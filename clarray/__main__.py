"""`python -m clarray`: which devices there are, and what one of them does for your data."""

import sys

from clarray.demo import main

if __name__ == "__main__":
    sys.exit(main())
