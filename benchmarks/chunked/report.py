"""Tables of what was measured, and the gates: what was aimed at, reached or missed."""

from __future__ import annotations

from chunked.cluster import Said
from chunked.model import Parts
from chunked.rows import Row

PLAIN = 0.9  # of plain clarray's speed, that a fused chain reaches on one worker
ON_TWO = 1.8  # times one GPU's speed, that two reach
NETWORK = 12.5e9  # bytes per second, of 100 Gbit/s


def mib(nbytes: float) -> str:
    return f"{nbytes / 2**20:,.0f}"


def head_of_rows(nbytes: int) -> None:
    print(f"two arrays of {mib(nbytes)} MiB, one worker\n")
    print(f"{'row':16} {'chunks':8} {'ms':>9} {'x NumPy':>8} {'x plain':>8} {'spilled MiB':>12} {'peak MiB':>9}")


def show_row(row: Row, best: dict[str, Said]) -> None:
    """A line for each library."""
    for name, said in best.items():
        times = {
            peer: best[peer].seconds / said.seconds if peer in best else float("nan") for peer in ("numpy", "plain")
        }
        print(
            f"{row.name:16} {name:8} {said.seconds * 1e3:9.1f} {times['numpy']:8.2f} {times['plain']:8.2f} "
            f"{mib(said.spilled):>12} {mib(said.peak) if said.peak else '-':>9}",
            flush=True,
        )


def head_of_scaled(name: str, n: int) -> None:
    print(f"\n{name} on one worker and on {n}, with a device or a share of the cores each\n")
    heads = ("ms, 1", f"ms, {n}", "strong", f"ms, {n}x", "weak", "MiB moved", "transfers", "peak MiB")
    print(f"{'row':16}" + "".join(f"{head:>11}" for head in heads))


def show_scaled(row: Row, n: int, one: Said, strong: Said, weak: Said, grown: float) -> None:
    """Efficiencies of several workers, and what moved between them."""
    figures = (
        f"{one.seconds * 1e3:.1f}",
        f"{strong.seconds * 1e3:.1f}",
        f"{one.seconds / strong.seconds / n:.0%}",
        f"{weak.seconds * 1e3:.1f}",
        f"{one.seconds * grown / weak.seconds:.0%}",
        mib(strong.moved),
        f"{strong.transferring(n):.0%}",
        mib(strong.peak),
    )
    print(f"{row.name:16}" + "".join(f"{figure:>11}" for figure in figures), flush=True)


def show_model(rows: list[Parts], times: int = 1) -> None:
    """Speed-ups and efficiencies by the model: 8 devices of one machine, and 64 machines on a network."""
    size = "arrays of this size" if times == 1 else f"chunks {times} times as large"
    print(f"\non paper, {size}: 8 devices that move as these workers do, 64 machines on 100 Gbit/s at most\n")
    heads = ("8, ms", "strong", "weak", "64, ms", "strong", "weak")
    print(f"{'row':16}" + "".join(f"{head:>10}" for head in heads))
    for parts in (row.larger(times) for row in rows):
        figures = []
        for workers, bandwidth in ((8, parts.bandwidth), (64, min(parts.bandwidth, NETWORK))):
            seconds = parts.strong(workers, bandwidth)
            weak = parts.ideal_weak(workers) / parts.weak(workers, bandwidth)
            figures += [f"{seconds * 1e3:.1f}", f"{parts.seconds / seconds / workers:.0%}", f"{weak:.0%}"]
        print(f"{parts.row.name:16}" + "".join(f"{figure:>10}" for figure in figures))


class Gates:
    """What is aimed at, each with what was found."""

    def __init__(self, gpus: bool) -> None:
        self.gpus = gpus
        self.found: list[tuple[bool, str]] = []

    def beside(self, row: Row, best: dict[str, Said]) -> None:
        ours = best.get("clarray")
        if ours is None:
            return
        if row.name == "chain":
            part = best["plain"].seconds / ours.seconds
            self.found.append(
                (part >= PLAIN, f"a fused chain on one worker at {part:.2f} of plain clarray, asked {PLAIN}")
            )
        if "numpy" in best and not self.gpus:
            times = best["numpy"].seconds / ours.seconds
            self.found.append((times > 1, f"{row.name}: {times:.2f} times NumPy chunks, asked more than 1"))

    def scaled(self, row: Row, name: str, n: int, one: Said, strong: Said) -> None:
        if self.gpus and n == 2 and name == "clarray":
            times = one.seconds / strong.seconds
            self.found.append((times >= ON_TWO, f"{row.name}: {times:.2f} times one GPU on two, asked {ON_TWO}"))

    def show(self) -> None:
        reached = sum(ok for ok, _ in self.found)
        print(f"\ngates: {reached} of {len(self.found)} reached")
        for ok, text in self.found:
            print("  reached " if ok else "  MISSED  ", text)
