"""The array itself: elementwise operations, fusion, reductions, and what a small one costs."""

from __future__ import annotations

from typing import Any

from operations.row import NO_OPENCL, Input, Operation, at_least, near_floor, uniform, within

INPUTS = {
    "a": Input(lambda s: (s["large"],), uniform),
    "b": Input(lambda s: (s["large"],), uniform),
    "rows": Input(lambda s: s["rows"], uniform),
    "square": Input(lambda s: s["square"], uniform),
    "pairs": Input(lambda s: (s["large"] // 2, 2), uniform),
    "two": Input(lambda s: (2, s["large"] // 2), uniform),
    "m": Input(lambda s: (s["math"],), lambda r, n: uniform(r, n) * 10 + 0.01),
    "w": Input(lambda s: (s["math"],), lambda r, n: uniform(r, n) * 2),
    "x": Input(lambda s: (s["small"],), uniform),
}


def end_to_end(xp: Any, x: Any) -> Any:
    return xp.asarray(x).sum()


def ten_operations(xp: Any, x: Any) -> float:
    y = ((x + 1) * x - 2) * (x + 3) + x * x - x / 2
    return float((y + 1).sum())


OPERATIONS = [
    Operation(
        "asarray(x).sum()",
        ("a",),
        end_to_end,
        says={"numexpr": "sum(a)", "pyopencl": lambda cl, a: cl.sum(cl.asarray(a))},
        aims=at_least(1.7) | within(gpu=45e-3),
        from_host=True,
    ),
    Operation(
        "a.sum()",
        ("a",),
        lambda xp, a: a.sum(),
        says={"numexpr": "sum(a)", "pyopencl": lambda cl, a: cl.sum(a)},
        aims=at_least(1.7) | near_floor(1.1),
    ),
    Operation(
        "a.max()",
        ("a",),
        lambda xp, a: a.max(),
        says={"numexpr": "max(a)", "pyopencl": lambda cl, a: cl.max(a)},
        aims=near_floor(1.1),
    ),
    Operation(
        "a.argmax()",
        ("a",),
        lambda xp, a: a.argmax(),
        says={"numexpr": None, **NO_OPENCL},
        aims=near_floor(1.1),
    ),
    Operation(
        "a + b",
        ("a", "b"),
        lambda xp, a, b: a + b,
        says={"numexpr": "a+b"},
        aims=at_least(2.3) | near_floor(1.1),
    ),
    Operation(
        "((a - b)**2).sum()",
        ("a", "b"),
        lambda xp, a, b: ((a - b) ** 2).sum(),
        says={"numexpr": "sum((a-b)**2)", "pyopencl": lambda cl, a, b: cl.sum((a - b) ** 2)},
        aims=at_least(4.5) | near_floor(1.1),
    ),
    Operation(
        "(exp(-a*a/2)*b).sum()",
        ("a", "b"),
        lambda xp, a, b: (xp.exp(-a * a / 2) * b).sum(),
        says={
            "numexpr": "sum(exp(-a*a/2)*b)",
            "pyopencl": lambda cl, a, b: cl.sum(cl.exp(-a * a / 2) * b),
        },
        aims=at_least(8) | near_floor(1.1),
    ),
    Operation(
        "a*b + a - b/2",
        ("a", "b"),
        lambda xp, a, b: a * b + a - b / 2,
        says={"numexpr": "a*b+a-b/2"},
        aims=near_floor(1.1),
    ),
    Operation(
        "a[a > .5].sum()",
        ("a",),
        lambda xp, a: a[a > 0.5].sum(),
        says={
            "numexpr": "sum(where(a>0.5,a,0))",
            # Under jit a shape may not depend on values; this is the form its users write.
            "jax": lambda jnp, a: jnp.where(a > 0.5, a, 0).sum(),
            **NO_OPENCL,
        },
        aims=near_floor(1.1),
    ),
    Operation(
        "sum axis 0",
        ("rows",),
        lambda xp, rows: rows.sum(axis=0),
        says={"numexpr": "sum(rows, axis=0)", **NO_OPENCL},
        aims=at_least(1.5) | near_floor(1.1),
    ),
    Operation(
        "sum axis 1",
        ("rows",),
        lambda xp, rows: rows.sum(axis=1),
        says={"numexpr": "sum(rows, axis=1)", **NO_OPENCL},
        aims=at_least(1.5) | near_floor(1.1),
    ),
    Operation(
        "sum of (n, 2) axis 1",
        ("pairs",),
        lambda xp, pairs: pairs.sum(axis=1),
        says={"numexpr": "sum(pairs, axis=1)", **NO_OPENCL},
        aims=near_floor(1.1),
    ),
    Operation(
        "sum of (2, n) axis 0",
        ("two",),
        lambda xp, two: two.sum(axis=0),
        says={"numexpr": "sum(two, axis=0)", **NO_OPENCL},
        aims=near_floor(1.1),
    ),
    Operation(
        "a[::2].sum()",
        ("a",),
        lambda xp, a: a[::2].sum(),
        says={"numexpr": None, **NO_OPENCL},
        aims=near_floor(1.1),
    ),
    Operation(
        "var",
        ("a",),
        lambda xp, a: a.var(),
        says={"numexpr": None, "torch": lambda torch, a: a.var(correction=0), **NO_OPENCL},
        aims=at_least(5),
    ),
    Operation(
        "std",
        ("a",),
        lambda xp, a: a.std(),
        says={"numexpr": None, "torch": lambda torch, a: a.std(correction=0), **NO_OPENCL},
        aims=near_floor(1.1),
    ),
    Operation(
        "A.T + A",
        ("square",),
        lambda xp, square: square.T + square,
        says={"numexpr": None, **NO_OPENCL},
        aims=near_floor(1.5),
        extra_reads=1,
    ),
    Operation("exp", ("m",), lambda xp, m: xp.exp(m), says={"numexpr": "exp(m)"}, aims=at_least(3)),
    Operation("log", ("m",), lambda xp, m: xp.log(m), says={"numexpr": "log(m)"}, aims=at_least(2.5)),
    Operation("sin", ("m",), lambda xp, m: xp.sin(m), says={"numexpr": "sin(m)"}, aims=at_least(1.5)),
    Operation("pow", ("m", "w"), lambda xp, m, w: m**w, says={"numexpr": "m**w"}, aims=at_least(1.2)),
    Operation(
        "x + x, 100 elements",
        ("x",),
        lambda xp, x: x + x,
        says={"numexpr": "x+x"},
        aims=within(cpu=12e-6, gpu=13e-6),
    ),
    Operation(
        "float(x.sum()), 100 elements",
        ("x",),
        lambda xp, x: float(x.sum()),
        says={"numexpr": "sum(x)", "pyopencl": lambda cl, x: float(cl.sum(x).get())},
        aims=within(cpu=15e-6, gpu=24e-6),
        scalar=True,
    ),
    Operation(
        "float of ten operations, 100 elements",
        ("x",),
        ten_operations,
        says={"numexpr": None, **NO_OPENCL},
        aims=within(gpu=30e-6),
        scalar=True,
    ),
    Operation(
        "x + 1 left pending, 100 elements",
        ("x",),
        lambda xp, x: x + 1,
        says=dict.fromkeys(("numpy", "numexpr", "torch", "jax", "cupy", "pyopencl")),
        aims=within(cpu=3e-6, gpu=3e-6),
        lazy=True,
    ),
]
