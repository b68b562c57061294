"""Time float64 products of one size by each tile for tensor cores, and what their sums err by at each depth.

The quickest tile stands in `matmul/policy.py`, and the times of all others in `docs/engineering/products.md`. Tiles
whose steps are copied past the registers come last: what a device makes of those is known least.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

import clarray
from clarray._engine.algorithms.matmul.launch_self_test import tensor_tiles
from clarray._engine.algorithms.matmul.policy_tensor import LARGE
from clarray._engine.evaluate import kernel_cache_of

PORTABLE = "work-items, fma"
DEPTHS = (256, 512, 1024, 4096)
SMALL = (256, 512, 1024)


@contextmanager
def policy(cache: Any, **changes: Any) -> Iterator[None]:
    """Plan products with other values of the policy's fields."""
    before = cache.policies
    cache.policies = replace(before, matmul=replace(before.matmul, **changes))
    cache.prepared.clear()
    try:
        yield
    finally:
        cache.policies = before
        cache.prepared.clear()


def seconds(call: Callable[[], Any], rounds: int) -> float:
    """The median time of a call and the wait for it, after one that is not counted."""
    taken = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        call()
        clarray.synchronize()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken[1:])


def rms(found: Any, exact: np.ndarray) -> float:
    """Root mean square error of a corner of a product, in 2^-53 of the root mean square of its elements."""
    corner = np.asarray(clarray.asnumpy(found[: len(exact), : len(exact)]), np.longdouble)
    return float(np.sqrt(np.mean((corner - exact) ** 2) / np.mean(exact**2)) * 2**53)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tiles", nargs="*", help="only those whose name contains one of these")
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=50.0, help="start no further tile after so long")
    asked = parser.parse_args()
    started = time.perf_counter()
    n = asked.size
    random = np.random.default_rng(0)
    a, b = random.standard_normal((n, n)), random.standard_normal((n, n))
    exact = a[:48].astype(np.longdouble) @ b[:, :48].astype(np.longdouble)
    with clarray.device(None) as device:
        cache = kernel_cache_of(device)
        what = device.capabilities
        print(f"{what.name}, compute capability {what.compute_capability}, driver {what.driver}, {n} float64, TFLOP/s")
        x, y = clarray.array(a), clarray.array(b)

        def line(name: str, extra: bool = False) -> float:
            taken = [seconds(lambda: (x @ y).evaluate(), asked.rounds)]
            if extra:
                taken.append(seconds(lambda: (x.T @ y).evaluate(), asked.rounds))
            speeds = "  ".join(f"{2 * n**3 / t / 1e12:6.1f}" for t in taken)
            small = [(x[:s, :s].copy(), y[:s, :s].copy(), s) for s in SMALL if s < n] if extra else []
            times = [(s, seconds(lambda p=p, q=q: (p @ q).evaluate(), asked.rounds)) for p, q, s in small]
            more = ", ".join(f"{s}: {t * 1e3:.3f}" for s, t in times)
            print(f"{name:52} {taken[0] * 1e3:8.3f} ms {speeds}  {more}", flush=True)
            return taken[0]

        print(f"NumPy's error {rms(clarray.array(a[:48] @ b[:, :48]), exact):.2f} x 2^-53")
        with policy(cache, tensor="", warp_tiles=()):
            line(PORTABLE, True)
            print(f"    error {rms(x @ y, exact):.2f} x 2^-53")
        reached: dict[str, float] = {}
        chosen = [name for name in LARGE if not asked.tiles or any(part in name for part in asked.tiles)]
        for name in sorted(chosen, key=lambda name: LARGE[name].stages > 2):
            if time.perf_counter() - started > asked.seconds:
                print(f"{name:52} not tried: {asked.seconds:g} s are over")
                continue
            with policy(cache, tensor=name, warp_tiles=()):
                if not tensor_tiles(cache):
                    print(f"{name:52} not for this device")
                    continue
                (x @ y).evaluate()
                if not tensor_tiles(cache):
                    print(f"{name:52} failed its trial")
                    continue
                reached[name] = line(name)
        if reached:
            best = min(reached, key=lambda name: reached[name])
            print("\nthe quickest, as a @ b, a.T @ b, and smaller ones in ms by the policy's smaller tiles:")
            with policy(cache, tensor=best):
                line(best, True)
            for depth in DEPTHS:
                with policy(cache, tensor=best, tensor_depth=depth, depth=depth):
                    taken = seconds(lambda: (x @ y).evaluate(), asked.rounds)
                    print(f"  sums of {depth}: {taken * 1e3:.3f} ms, error {rms(x @ y, exact):.2f} x 2^-53")


if __name__ == "__main__":
    main()
