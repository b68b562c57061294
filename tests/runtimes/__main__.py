"""Test clarray on the OpenCL runtimes of Debian's releases: PoCL, PoCL beside pip's PoCL, and Mesa's rusticl.

    python -m tests.runtimes trixie --rows pocl,rusticl --sample 20 --write

For each release the script makes a chroot with debootstrap, or takes an existing one. It copies the checkout into the
chroot and installs it there. Then it runs the doctor, measures the time of ``x + x``, and runs the smoke set and a
sample of the suite for each runtime. At the end it prints a table. ``--write`` also writes it to the page Install.

The script needs root's rights on Debian or Ubuntu, and the packages debootstrap, git and util-linux. A container needs
the right to mount (``docker run --privileged``).
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
from pathlib import Path

from .chroot import ROOT, Chroot, remove
from .rows import ROWS, SUITES, parse_names, rows_of
from .steps import LIMITS, TESTS, run_row
from .table import format_table, replace_table

PAGE = ROOT / "docs" / "how-to" / "install.md"
TOOLS = {"debootstrap": "debootstrap", "git": "git", "unshare": "util-linux"}
ORDER = [(suite.label, row.label) for suite in SUITES.values() for row in ROWS.values()]


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.runtimes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("suites", nargs="*", metavar="suite", help=f"releases: {', '.join(SUITES)} (default: all)")
    add("--rows", default=",".join(ROWS), help=f"runtimes, separated by commas: {', '.join(ROWS)} (default: all)")
    add("--tests", default="all", help="smoke, sample, all or none (default: all)")
    add("--sample", type=int, default=10, help="take one test of so many for the sample (default: 10)")
    add("--minutes", type=float, default=90, help="limit for the smoke set, and for the sample (default: 90)")
    add("-n", type=int, default=2, help="processes of pytest (default: 2)")
    add("--chroots", type=Path, default=Path("/var/cache/clarray-runtimes"), help="folder of the chroots")
    add("--fresh", action="store_true", help="make the chroots again, with the newest packages")
    add("--mirror", default="http://deb.debian.org/debian", help="Debian's mirror")
    add("--out", type=Path, default=Path("runtimes-results"), help="folder of the logs")
    add("--write", action="store_true", help=f"write the table to {PAGE.relative_to(ROOT)}")
    options = parser.parse_args(arguments)
    choices = {"all": list(TESTS), "none": [], **{name: [name] for name in TESTS}}
    if options.tests not in choices:
        parser.error(f"--tests is one of {', '.join(choices)}")
    options.tests = choices[options.tests]
    try:
        options.suites = parse_names(",".join(options.suites or SUITES), SUITES)
        options.rows = parse_names(options.rows, ROWS)
    except ValueError as error:
        parser.error(str(error))
    return options


def missing_requirements() -> list[str]:
    """Return what the host lacks."""
    missing = [f"install {package}" for tool, package in TOOLS.items() if shutil.which(tool) is None]
    return ["run it as root", *missing] if os.geteuid() else missing


def run_suite(name: str, options: argparse.Namespace) -> list[tuple[str, ...]]:
    """Run all selected runtimes of a release. Without a working installation there are no results."""
    chroot = Chroot(SUITES[name], options.chroots.resolve(), options.out.resolve())
    results = []
    try:
        with chroot.locked():
            if options.fresh:
                remove(chroot.root)
            print(f"{name}: debootstrap", flush=True)
            chroot.create(options.mirror, LIMITS["debootstrap"])
            print(f"{name}: install", flush=True)
            chroot.prepare(LIMITS["install"])
            for row in rows_of(SUITES[name], options.rows):
                print(f"{name}: {row.label}", flush=True)
                results.append(run_row(chroot, row, options))
    except RuntimeError as error:
        print(f"{name}: {error}", file=sys.stderr)
    return results


def main(arguments: list[str] | None = None) -> int:
    """Return 1 if a selected runtime has no row in the table."""
    options = parse(arguments)
    missing = missing_requirements()
    if missing:
        sys.exit(f"tests.runtimes: {'; '.join(missing)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("tests.runtimes: terminated"))
    for folder in (options.chroots, options.out):
        folder.mkdir(parents=True, exist_ok=True)
    results: list[tuple[str, ...]] = []
    try:
        for name in options.suites:
            results += run_suite(name, options)
    finally:
        print(f"\n{format_table(results)}\n\nlogs: {options.out.resolve()}", flush=True)
        if options.write and results:
            PAGE.write_text(replace_table(PAGE.read_text(), results, ORDER))
    expected = sum(len(rows_of(SUITES[name], options.rows)) for name in options.suites)
    return int(len(results) < expected)


if __name__ == "__main__":
    sys.exit(main())
