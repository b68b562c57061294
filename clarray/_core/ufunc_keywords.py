"""The keywords of ufunc calls, with NumPy's names and defaults."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from clarray._engine.expr.view import check_order

__all__ = ["ProductKeywords", "UfuncKeywords", "check_keywords"]


class UfuncKeywords(NamedTuple):
    """The keywords of a call of an elementwise ufunc."""

    out: Any = None
    where: Any = True
    dtype: Any = None
    signature: Any = None
    sig: Any = None
    casting: str = "same_kind"
    order: Any = "K"
    subok: bool = True

    def normalized(self) -> UfuncKeywords:
        """Return the keywords with `order` in upper case and `sig` as `signature`.

        Raises
        ------
        ValueError
            `order` is none of 'C', 'F', 'A' and 'K'.
        """
        if self.order == "K" and self.sig is None:  # the most frequent keywords
            return self
        order = "K" if self.order is None else check_order(self.order)
        return self._replace(order=order, signature=self.sig if self.signature is None else self.signature)


class ProductKeywords(NamedTuple):
    """The keywords of a call of a generalized ufunc, which multiplies vectors or matrices."""

    out: Any = None
    axes: Any = None
    axis: Any = None
    keepdims: bool = False
    dtype: Any = None
    signature: Any = None
    sig: Any = None
    casting: str = "same_kind"
    order: Any = "K"
    subok: bool = True


def check_keywords(ufunc: np.ufunc, names: Iterable[str]) -> None:
    """Raise NumPy's TypeError for an unknown keyword of a ufunc."""
    keywords = UfuncKeywords._fields if ufunc.signature is None else ProductKeywords._fields
    for name in names:
        if name not in keywords:
            raise TypeError(f"{ufunc.__name__}() got an unexpected keyword argument {name!r}")
