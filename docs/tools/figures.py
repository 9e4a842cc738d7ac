"""The pictures of the chapter on convolutions, drawn when the documentation is built."""

from __future__ import annotations

import itertools
import pathlib
from dataclasses import dataclass

CELL = 20
INK = {"input": "#5b8ff0", "padding": "none", "kernel": "#f0a040", "output": "#57b894", "now": "#1f7a5a", "line": "#808890"}


@dataclass
class Conv:
    """A convolution of a square image with a square filter, or with `transposed` its transpose."""

    image: int
    filter: int
    padding: int = 0
    stride: int = 1
    dilation: int = 1
    transposed: bool = False

    @property
    def reach(self) -> int:
        """The length that the filter covers."""
        return (self.filter - 1) * self.dilation + 1

    @property
    def between(self) -> int:
        """Zeros between neighbours of the image: a transposed convolution spreads its input by the stride."""
        return self.stride - 1 if self.transposed else 0

    @property
    def border(self) -> int:
        """Zeros around the image: a transposed convolution is padded to what is left of the filter's reach."""
        return self.reach - 1 - self.padding if self.transposed else self.padding

    @property
    def spread(self) -> int:
        """The length of the image with zeros between and around."""
        return self.image + self.between * (self.image - 1) + 2 * self.border

    @property
    def step(self) -> int:
        """How far the filter moves."""
        return 1 if self.transposed else self.stride

    @property
    def output(self) -> int:
        """The length of the result."""
        return (self.spread - self.reach) // self.step + 1

    def is_zero(self, position: int) -> bool:
        """Whether a row or column of the spread image holds zeros only."""
        inner = position - self.border
        return inner < 0 or inner >= self.spread - 2 * self.border or inner % (self.between + 1) > 0


def _square(x: float, y: float, fill: str, dashed: bool = False, opacity: float = 1.0, line: str = INK["line"]) -> str:
    dash = ' stroke-dasharray="3 2"' if dashed else ""
    return (f'<rect x="{x:g}" y="{y:g}" width="{CELL}" height="{CELL}" fill="{fill}" fill-opacity="{opacity:g}" '
            f'stroke="{line}" stroke-width="1"{dash}/>')  # fmt: skip


def _frame(conv: Conv, row: int, column: int, left: float, top: float) -> list[str]:
    # The spread image, above it the filter at one position; to its right the result.
    parts = []
    for i, j in itertools.product(range(conv.spread), repeat=2):
        zero = conv.is_zero(i) or conv.is_zero(j)
        parts.append(_square(left + j * CELL, top + i * CELL, "none" if zero else INK["input"], zero, 0.75))
    for i, j in itertools.product(range(conv.filter), repeat=2):
        y = row * conv.step + i * conv.dilation
        x = column * conv.step + j * conv.dilation
        parts.append(_square(left + x * CELL, top + y * CELL, INK["kernel"], False, 0.6, "#b06000"))
    right = left + (conv.spread + 1) * CELL
    middle = top + (conv.spread - conv.output) * CELL / 2
    for i, j in itertools.product(range(conv.output), repeat=2):
        now = (i, j) == (row, column)
        done = (i, j) <= (row, column)
        fill = INK["now"] if now else INK["output"] if done else "none"
        parts.append(_square(right + j * CELL, middle + i * CELL, fill, not done))
    return parts


def draw(conv: Conv, title: str) -> str:
    """Return a picture (SVG) of the first, the second, and the last position of the filter.

    The image is blue, zeros around and between are dashed, the filter is orange, and the result green as far as it is computed.
    """
    last = conv.output - 1
    positions = list(dict.fromkeys([(0, 0), (0, min(1, last)), (last, last)]))
    width = (conv.spread + 1 + conv.output) * CELL
    height = conv.spread * CELL
    parts = []
    for k, (row, column) in enumerate(positions):
        parts += _frame(conv, row, column, 1 + k * (width + 2 * CELL), 1)
    total = len(positions) * (width + 2 * CELL) - 2 * CELL + 2
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total:g} {height + 2}" width="{total:g}" role="img">'
            f"<title>{title}</title>{''.join(parts)}</svg>\n")  # fmt: skip


PICTURES = {
    "valid": (Conv(4, 3), "A 3x3 filter over a 4x4 image"),
    "padded": (Conv(4, 3, padding=2), "A 3x3 filter over a 4x4 image with two zeros around"),
    "half": (Conv(4, 3, padding=1), "Half padding: the result is as large as the image"),
    "full": (Conv(3, 3, padding=2), "Full padding: each position in which filter and image meet"),
    "strided": (Conv(5, 3, stride=2), "A stride of 2"),
    "strided_padded": (Conv(5, 3, padding=1, stride=2), "A stride of 2 with one zero around"),
    "dilated": (Conv(6, 3, dilation=2), "A dilation of 2: the filter skips every second element"),
    "valid_transposed": (Conv(2, 3, transposed=True), "The transpose of a 3x3 filter over a 4x4 image"),
    "half_transposed": (Conv(4, 3, padding=1, transposed=True), "The transpose with half padding"),
    "full_transposed": (Conv(5, 3, padding=2, transposed=True), "The transpose with full padding"),
    "strided_transposed": (Conv(2, 3, stride=2, transposed=True), "The transpose of a stride of 2: zeros between"),
    "strided_padded_transposed": (Conv(3, 3, padding=1, stride=2, transposed=True), "A transposed stride of 2 with padding"),
}


def write(folder: pathlib.Path) -> None:
    """Write all pictures into a folder, ``conv_NAME.svg``."""
    folder.mkdir(exist_ok=True)
    for name, (conv, title) in PICTURES.items():
        path = folder / f"conv_{name}.svg"
        text = draw(conv, title)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
