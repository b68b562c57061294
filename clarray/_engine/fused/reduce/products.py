"""Sums of products, whose states take single products or sums of blocks of products."""

from __future__ import annotations

import numpy as np

from clarray._engine.codegen.expression import Call, Inputs, converted
from clarray._engine.expr.node import Node
from clarray._engine.ops.ctype import Dialect
from clarray._engine.ops.monoids import Monoid
from clarray._engine.ops.ufuncs import exact_product_loop, find_loop


def is_product(value: Node) -> bool:
    """Return whether a value is a product of linear algebra, which need not be rounded before it is summed."""
    return value.memory is None and bool(value.args) and value.op is exact_product_loop(value.dtype)


def state_entry(value: Node, monoid: Monoid) -> Node:
    """Return the value in the dtype in which it enters a state.

    A product of float32 that is summed in float64 is computed in float64: that is exact, and saves the conversion.
    """
    wide = monoid.accumulated_dtype
    if monoid.algebra == "widened" and is_product(value):
        loop = find_loop(np.multiply, (wide, wide), (wide,))
        return Node(loop, value.args, value.shape, wide, value.size)
    return converted(value, wide)


class ProductCall:
    """C functions of a product's two factors, and the calls that add the product to a sum of its own dtype."""

    def __init__(self, product: Node, inputs: Inputs, dialect: Dialect) -> None:
        self._factors = [
            Call(name, converted(factor, dtype), inputs=inputs)
            for name, factor, dtype in zip(("factor_0", "factor_1"), product.args, product.op.in_dtypes, strict=True)
        ]
        self.text = "".join(factor.text for factor in self._factors)

    def onto(self, total: str, part: int | str, tag: str = "") -> str:
        """Return the sum of `total` and the product of part `part` of the load `tag`."""
        first, second = (factor.call(part, tag) for factor in self._factors)
        return f"MULTIPLY_ADD({first}, {second}, {total})"
