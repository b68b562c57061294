"""The result of `explain`: text at prompts, and a picture with a list of launches in notebooks."""

from __future__ import annotations

from typing import NamedTuple

from clarray._engine.runtime.profile_views import TEXT_STYLE, escaped

__all__ = ["Box", "Explanation"]

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 150, 38, 14, 30
_FILLS = {"memory": "#8aa0b4", "number": "#b9b9b9", "fused": "#7fb08a", "pass": "#d9a441"}
_MAX_BOXES = 60  # boxes that a picture can hold


class Box(NamedTuple):
    """A value of the expression.

    Parameters
    ----------
    title, subtitle : str
        The operation, and dtype and shape of the value.
    kind : {'memory', 'number', 'fused', 'pass'}
        The value is in memory, a constant, fused into the kernel of its user, or written by a pass.
    operands : tuple of int
        Indices of the operands' boxes.
    """

    title: str
    subtitle: str
    kind: str
    operands: tuple[int, ...]


class Explanation(str):
    """Describe the plan of an evaluation: text, with pictures for notebooks. The type of ``x.explain()``.

    A prompt shows the expression and its launches. ``print`` shows the policies and the OpenCL source as well.

    Attributes
    ----------
    boxes : list of Box
        The expression, its result first.
    launches : list of str
        The kernels that would run, in order.
    policies : dict of str to str
        The policy of each algorithm that shapes these launches.
    sources : list of str
        The programs in OpenCL C.

    Examples
    --------
    >>> import clarray
    >>> plan = (clarray.zeros(4) + 1).explain()
    >>> len(plan.launches), len(plan.sources)
    (1, 1)
    """

    boxes: list[Box]
    launches: list[str]
    policies: dict[str, str]
    sources: list[str]

    def __new__(
        cls, text: str, boxes: list[Box], launches: list[str], policies: dict[str, str], sources: list[str]
    ) -> Explanation:
        explanation = super().__new__(cls, text)
        explanation.boxes = boxes
        explanation.launches = launches
        explanation.policies = policies
        explanation.sources = sources
        return explanation

    def __reduce__(self) -> tuple[type[Explanation], tuple[object, ...]]:
        return Explanation, (str(self), self.boxes, self.launches, self.policies, self.sources)

    def __str__(self) -> str:
        return str.__str__(self)

    def __repr__(self) -> str:
        """Return the text for a prompt: the expression and its launches."""
        plan, policies, _ = str(self).partition("\npolicies")
        return f"{plan}\nprint() also shows the policies and the OpenCL source." if policies else plan

    def _repr_pretty_(self, printer: object, cycle: bool) -> None:
        getattr(printer, "text")(repr(self))  # noqa: B009 - IPython's, which has no type here

    def _repr_html_(self) -> str:
        """Return the picture, the launches, and the collapsed sources."""
        rows = "".join(f"<li><code>{escaped(line)}</code></li>" for line in self.launches)
        ran = f"<ol>{rows}</ol>" if rows else "<p>Nothing is left to run.</p>"
        folded = "".join(
            f'<details><summary>{escaped(title)}</summary><pre style="{TEXT_STYLE}">{escaped(text)}</pre></details>'
            for title, text in (
                ("Policies", "\n".join(f"{name}: {policy}" for name, policy in self.policies.items())),
                *((f"OpenCL source {number}", source) for number, source in enumerate(self.sources, 1)),
            )
            if text
        )
        return f'<div class="clarray-explanation">{self.picture()}{ran}{folded}</div>'

    def picture(self) -> str:
        """Draw the expression as SVG, with each value above its operands.

        Returns
        -------
        str
            An ``<svg>`` element. Empty if the expression has too many values to draw.

        Examples
        --------
        >>> import clarray
        >>> (clarray.zeros(4) + 1).explain().picture().startswith("<svg")
        True
        """
        if not 0 < len(self.boxes) <= _MAX_BOXES:
            return ""
        corners = _corners(self.boxes)
        width = max(x for x, _ in corners) + _WIDTH + 2
        height = max(y for _, y in corners) + _HEIGHT + 2
        lines = [
            f'<line x1="{x + _WIDTH / 2:g}" y1="{y + _HEIGHT:g}" x2="{corners[to][0] + _WIDTH / 2:g}" '
            f'y2="{corners[to][1]:g}" stroke="#888"/>'
            for (x, y), box in zip(corners, self.boxes, strict=True)
            for to in box.operands
        ]
        boxes = [_box_svg(box, *corner) for box, corner in zip(self.boxes, corners, strict=True)]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
            f'viewBox="-1 -1 {width:g} {height:g}" role="img" aria-label="expression">{"".join(lines + boxes)}</svg>'
        )


def _corners(boxes: list[Box]) -> list[tuple[float, float]]:
    """Return the left upper corner of each box: leaves side by side, others above the middle of their operands."""
    depths = [0] * len(boxes)
    for number, box in enumerate(boxes):  # operands follow their first user, and may precede others
        for operand in box.operands:
            depths[operand] = max(depths[operand], depths[number] + 1)
    columns: dict[int, float] = {}
    leaf_count = 0

    def assign_column(number: int) -> float:
        nonlocal leaf_count
        if number not in columns:
            operand_columns = [assign_column(operand) for operand in boxes[number].operands]
            if operand_columns:
                columns[number] = sum(operand_columns) / len(operand_columns)
            else:
                columns[number] = leaf_count
                leaf_count += 1
        return columns[number]

    assign_column(0)
    occupied: set[tuple[int, float]] = set()
    corners: list[tuple[float, float]] = []
    for number in range(len(boxes)):
        column = columns[number]
        while any(depth == depths[number] and abs(column - other) < 1 for depth, other in occupied):
            column += 1
        occupied.add((depths[number], column))
        corners.append((column * (_WIDTH + _GAP_X), depths[number] * (_HEIGHT + _GAP_Y)))
    return corners


def _box_svg(box: Box, x: float, y: float) -> str:
    middle = x + _WIDTH / 2
    text = 'text-anchor="middle" font-family="sans-serif" fill="#111"'
    return (
        f'<g><rect x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="5" fill="{_FILLS[box.kind]}"/>'
        f'<text x="{middle:g}" y="{y + 16:g}" font-size="12" {text}>{escaped(box.title)}</text>'
        f'<text x="{middle:g}" y="{y + 31:g}" font-size="10" {text}>{escaped(box.subtitle)}</text></g>'
    )
