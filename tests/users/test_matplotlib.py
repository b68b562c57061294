"""matplotlib draws device arrays as it draws ndarrays: the same artists, from one copy of the values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray

pytest.importorskip("matplotlib")

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

X = np.sin(np.arange(60.0)).astype(np.float32)
IMAGE = X.reshape(6, 10)

DRAWN: dict[str, Callable[[Any, Any, Any], Any]] = {
    "bar": lambda ax, x, image: ax.bar(x[:9], x[9:18]),
    "barh": lambda ax, x, image: ax.barh(x[:9], x[9:18], xerr=abs(x[:9])),
    "boxplot": lambda ax, x, image: ax.boxplot(x),
    "boxplot of columns": lambda ax, x, image: ax.boxplot(image),
    "contourf": lambda ax, x, image: ax.contourf(image),
    "errorbar": lambda ax, x, image: ax.errorbar(x, x, yerr=abs(x)),
    "fill_between": lambda ax, x, image: ax.fill_between(x, x, where=x > 0),
    "hexbin": lambda ax, x, image: ax.hexbin(x, x, gridsize=5),
    "hist": lambda ax, x, image: ax.hist(x, 10),
    "hist of rows": lambda ax, x, image: ax.hist(image, 5, stacked=True),
    "hist of integers": lambda ax, x, image: ax.hist((x * 9).astype("i4"), bins="auto"),
    "hist2d": lambda ax, x, image: ax.hist2d(x, x, 5),
    "imshow": lambda ax, x, image: ax.imshow(image),
    "pcolormesh": lambda ax, x, image: ax.pcolormesh(image),
    "pie": lambda ax, x, image: ax.pie(abs(x[:5])),
    "plot": lambda ax, x, image: ax.plot(x, image.reshape(-1)),
    "plot of columns": lambda ax, x, image: ax.plot(image),
    "quiver": lambda ax, x, image: ax.quiver(x, x),
    "scatter": lambda ax, x, image: ax.scatter(x, x, s=abs(x) * 20, c=x),
    "stackplot": lambda ax, x, image: ax.stackplot(abs(x), abs(x), x * x),
    "stairs": lambda ax, x, image: ax.stairs(x),
    "stem": lambda ax, x, image: ax.stem(x),
    "step": lambda ax, x, image: ax.step(x, x),
    "violinplot": lambda ax, x, image: ax.violinplot(x),
}


def drawn(name: str, xp: Any) -> np.ndarray:
    figure = Figure(figsize=(3, 2), dpi=50)
    canvas = FigureCanvasAgg(figure)
    DRAWN[name](figure.add_subplot(), xp.array(X), xp.array(IMAGE))
    canvas.draw()
    return np.asarray(canvas.buffer_rgba()).copy()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DRAWN)
def test_pictures_are_the_same(name: str) -> None:
    expected = drawn(name, np)
    assert len(np.unique(expected)) > 2  # there is something in it
    assert np.array_equal(drawn(name, clarray), expected)


@pytest.mark.parametrize("name", ["hist", "boxplot", "violinplot", "plot", "imshow"])
def test_values_are_copied_whole(name: str) -> None:
    """Element by element each value would wait for the device: a histogram took a hundred times as long as NumPy's."""
    with clarray.profile() as p:
        drawn(name, clarray)
    assert sum(record.kind == "transfer" for record in p.records) < 40
