"""Sums of products: what enters a state is a product, or the sum of a block of them."""

from __future__ import annotations

import numpy as np

from clarray._engine.codegen.expression import Call, Inputs, converted
from clarray._engine.expr.node import Node
from clarray._engine.ops.ctype import Dialect
from clarray._engine.ops.monoids import Monoid
from clarray._engine.ops.ufuncs import exact_product_loop, find_loop


def is_product(value: Node) -> bool:
    """Whether a value is a product of linear algebra, which need not be rounded before it is summed."""
    return value.memory is None and bool(value.args) and value.op is exact_product_loop(value.dtype)


def entering(value: Node, monoid: Monoid) -> Node:
    """What is summed, in its dtype: products of float32 that are summed in float64 are exact, and one step less."""
    wide = monoid.accumulated_dtype
    if monoid.algebra == "widened" and is_product(value):
        loop = find_loop(np.multiply, (wide, wide), (wide,))
        return Node(loop, value.args, value.shape, wide, value.size, 0, 0, 0, value.inputs or value.args)
    return converted(value, wide)


class ProductCall:
    """A product as C functions of its two factors, and the calls that add it to a sum of its own dtype."""

    def __init__(self, product: Node, inputs: Inputs, dialect: Dialect) -> None:
        self._factors = [
            Call(name, converted(factor, wanted), inputs)
            for name, factor, wanted in zip(("factor_0", "factor_1"), product.args, product.op.in_dtypes, strict=True)
        ]
        self.text = "".join(factor.text for factor in self._factors)

    def onto(self, total: str, part: int | str, tag: str = "") -> str:
        """`total` and the product of part `part` of what is loaded under `tag`, rounded once, in every kernel."""
        left, right = (factor.call(part, tag) for factor in self._factors)
        return f"fma({left}, {right}, {total})"
