"""The benchmarks' charts: every figure, name and legend lies within its frame, whatever was measured."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.scripts import import_script

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
DEVICE = {"name": "NVIDIA H200", "platform": "NVIDIA CUDA", "kind": "gpu"}
CPU = {"name": "pthread-AMD EPYC", "platform": "Portable Computing Language", "kind": "cpu"}
OPERATIONS = ("a.sum()", "A.T + A", "float of ten operations, 100 elements", "x + x, 100 elements", "a[a > .5].sum()")
# Times NumPy's speed: of clarray, and of another library beside it.
RATIOS = {
    "all beyond": [(4980, 700), (5350, 2500), (2160, 3000), (390, 500), (1.5, 1)],
    "both sides": [(5350, 3000), (0.0152, 0.03), (0.089, 0.04), (4.9, 1.1), (1.05e3, 0.9)],
    "all behind": [(0.0152, 0.03), (0.5, 0.4), (0.7, 0.2), (0.9, 0.95), (0.02, 0.01)],
    "one value": [(1.0, 1.0)],
    "nearly the same": [(1.01, 1.0), (1.02, 0.99)],
    "enormous": [(9.87654e8, 3.0), (2.0, 1e-7)],
}


@pytest.fixture
def chart(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("matplotlib")
    return import_script("benchmarks", "chart")


def drawn(chart: ModuleType, monkeypatch: pytest.MonkeyPatch, name: str, run: dict[str, Any], path: Path) -> Any:
    """The figure as it was saved, which is not closed."""
    kept: list[Any] = []
    close = chart.plt.close
    monkeypatch.setattr(chart.plt, "close", kept.append)
    getattr(chart, name)(run, path)
    (figure,) = kept
    close(figure)  # which lets go of the window, and leaves what was drawn
    assert path.stat().st_size > 1000
    figure.canvas.draw()
    return figure


def assert_all_within(figure: Any) -> None:
    whole = figure.bbox
    for axes in figure.axes:
        frame = axes.get_window_extent()
        legend = axes.get_legend().get_window_extent()
        assert within(legend, frame)
        for text in axes.texts:
            extent = text.get_window_extent()
            assert within(extent, frame), text.get_text()
            assert not extent.overlaps(legend)
        for bar in axes.patches:
            extent = bar.get_window_extent()
            assert within(extent, frame)
            assert not extent.overlaps(legend)
        around = [axes.title, axes.xaxis.label, *axes.get_yticklabels()]
        assert all(within(text.get_window_extent(), whole) for text in around if text.get_visible() and text.get_text())


def within(inner: Any, outer: Any) -> bool:
    near = 0.5  # of a pixel
    return (
        inner.x0 >= outer.x0 - near
        and inner.x1 <= outer.x1 + near
        and inner.y0 >= outer.y0 - near
        and inner.y1 <= outer.y1 + near
    )


@pytest.mark.parametrize(
    "peers", [["torch"], ["torch", "cupy"], ["numexpr", "torch", "jax", "pyopencl", "cupy"]], ids=len
)
@pytest.mark.parametrize("ratios", RATIOS.values(), ids=RATIOS)
def test_operations(
    chart: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    ratios: list[tuple[float, float]],
    peers: list[str],
) -> None:
    rows = [
        {"operation": name, "median_seconds": {"numpy": 1.0, "clarray": 1 / ours, **dict.fromkeys(peers, 1 / theirs)}}
        for name, (ours, theirs) in zip(OPERATIONS, ratios, strict=False)
    ]
    run = {"rows": rows, "device": DEVICE, "date": "2026-11-21", "host": {"cores": 2}}
    figure = drawn(chart, monkeypatch, "draw", run, tmp_path / "chart.png")
    assert_all_within(figure)
    assert [text.get_text() for text in figure.axes[0].texts] == [chart.readable(ours) for ours, _ in ratios]


@pytest.mark.parametrize("ratios", RATIOS.values(), ids=RATIOS)
def test_programs(
    chart: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ratios: list[tuple[float, float]]
) -> None:
    rows = [
        {"program": name, "size": size, "best_seconds": {"numpy": 1.0, "clarray": 1 / ours, "cupy": 1 / theirs}}
        for size in ("small", "medium")
        for name, (ours, theirs) in zip(OPERATIONS, ratios, strict=False)
    ]
    run = {"rows": rows, "device": CPU, "date": "2026-11-21", "host": {"cores": 2}}
    figure = drawn(chart, monkeypatch, "draw_programs", run, tmp_path / "chart.svg")
    assert len(figure.axes) == 2
    assert_all_within(figure)


@pytest.mark.parametrize(
    ("ratio", "text"), [(4983.2, "4,980"), (389.4, "389"), (4.9, "4.9"), (0.0152, "0.0152"), (1048576, "1,050,000")]
)
def test_figures_are_written_as_readers_do(chart: ModuleType, ratio: float, text: str) -> None:
    assert chart.readable(ratio) == text
