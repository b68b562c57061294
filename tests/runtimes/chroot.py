"""A chroot of a Debian release: its creation, and commands in it with a time limit.

Each command runs in mount and PID namespaces of its own (``unshare``). The kernel removes the mounts and kills all
processes when the command ends, also if this script is killed. So no mount is left behind.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .rows import Suite

ROOT = Path(__file__).resolve().parents[2]
CHECKOUT = "srv/clarray"
USER = "srv/user"
PYTHON = "/srv/venv/bin/python"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
GRACE = 180  # seconds that a command gets beyond its limit, to end by itself

PASSED_ON = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "PIP_INDEX_URL")
# The kernel kills the command if this script dies.
NAMESPACES = ("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child")
# Bash stays process 1 of the namespace, and reaps orphans. So the script must not end with the command itself.
MOUNTS = """
mount -t proc proc "$1/proc"
mount -t sysfs sys "$1/sys"
mount --rbind /dev "$1/dev"
mount -t tmpfs -o mode=1777 shm "$1/dev/shm"
exec chroot "$1" /bin/bash -c "cd /$2 || exit 1
$3
exit \\$?"
"""


def clean_environment() -> dict[str, str]:
    """Return an environment without the settings of the host, except its proxies and its package index."""
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return environment | {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": f"/{USER}",
        "LANG": "C.UTF-8",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_CERT": CERTIFICATES,
        "SSL_CERT_FILE": CERTIFICATES,
        "REQUESTS_CA_BUNDLE": CERTIFICATES,
    }


def run_limited(command: list[str], log: Path, minutes: float, environment: dict[str, str]) -> int:
    """Run a command with its output in a log. Kill it after its time limit, and if this script is interrupted."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
        try:
            return process.wait(minutes * 60 + GRACE)
        except subprocess.TimeoutExpired:
            return 124
        finally:
            process.kill()  # and with it, by --kill-child, all processes of the namespace
            process.wait()


class Chroot:
    """The chroot of a Debian release in a folder."""

    def __init__(self, suite: Suite, folder: Path, logs: Path) -> None:
        self.suite = suite
        self.root = folder / suite.name
        self.logs = logs

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold a lock on the chroot. Raise RuntimeError if another run holds it."""
        with self.root.with_name(f"{self.suite.name}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RuntimeError(f"another run uses {self.root}") from None
            yield

    def create(self, mirror: str, minutes: float) -> None:
        """Make the chroot by debootstrap, unless it exists. Raise RuntimeError if debootstrap fails."""
        if self.root.exists():
            return
        partial = self.root.with_name(f"{self.suite.name}.partial")
        remove(partial)
        partial.mkdir(parents=True)
        packages = ",".join(self.suite.packages)
        command = ["debootstrap", "--variant=minbase", f"--include={packages}", self.suite.name, str(partial), mirror]
        log = self.log("debootstrap")
        status = run_limited([*NAMESPACES, "--mount-proc", *command], log, minutes, dict(os.environ))
        if status:
            raise RuntimeError(f"debootstrap returned {status}: see {log}")
        partial.rename(self.root)

    def prepare(self, minutes: float) -> None:
        """Copy the checkout into the chroot and install it. Raise RuntimeError if pip fails."""
        for name in ("/etc/resolv.conf", CERTIFICATES):
            if Path(name).exists():
                shutil.copyfile(name, self.root / name[1:])
        (self.root / USER).mkdir(exist_ok=True)
        copy_checkout(self.root / CHECKOUT)
        script = f'[ -x {PYTHON} ] || python3 -m venv /srv/venv\n{PYTHON} -m pip install -e ".[test]"'
        self._install(script, "install", minutes)

    def install_wheel(self, wanted: bool, minutes: float) -> None:
        """Install PoCL from pip beside the runtimes of the distribution, or remove it."""
        action = "install" if wanted else "uninstall -y"
        self._install(f"{PYTHON} -m pip {action} pocl-binary-distribution", "wheel", minutes)

    def _install(self, script: str, name: str, minutes: float) -> None:
        status = self.run(script, name, minutes, {})
        if status:
            raise RuntimeError(f"the installation returned {status}: see {self.log(name)}")

    def log(self, name: str) -> Path:
        """Return the path of a command's log."""
        return self.logs / f"{self.suite.name}-{name}.log"

    def run(self, script: str, name: str, minutes: float, environment: dict[str, str]) -> int:
        """Run a shell script in the copy of the checkout, and return its exit status."""
        command = [*NAMESPACES, "bash", "-euc", MOUNTS, "bash", str(self.root), CHECKOUT, script]
        return run_limited(command, self.log(name), minutes, clean_environment() | environment)


def remove(root: Path) -> None:
    """Remove a chroot. Raise RuntimeError if something is mounted in it: it could be the host's /dev."""
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    mounted = [mount for mount in mounts if Path(mount).is_relative_to(root)]
    if mounted:
        raise RuntimeError(f"unmount {', '.join(mounted)} first")
    if root.exists():
        shutil.rmtree(root)


def copy_checkout(target: Path) -> None:
    """Copy the files of the checkout, with changes that are not committed, but without files that git ignores."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.decode().split("\0")
    shutil.rmtree(target, ignore_errors=True)
    for name in filter(None, names):
        source, copy = ROOT / name, target / name
        if source.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
