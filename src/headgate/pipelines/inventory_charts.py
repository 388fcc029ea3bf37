"""Plots as SVG that stands in a page: no script, no font, no colour of its own. Pure.

Colours are those that the page gives to the classes, by day and by night.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import NamedTuple

WIDTH = 640
NAME_CHARS = 30
NAME_WIDTH = 220
TEXT_WIDTH = 140
ROW = 26
BAR = 14
PLOT_HEIGHT = 312
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 14, 30
TICKS = 4
"""Lines across a plot, besides the one at zero."""
ROUND = (4, 8, 12, 16, 20, 24, 32, 40, 60, 80, 100)
"""What a scale may end at: a quarter of it is a number that people read easily."""
COLUMN_GAP = 0.28

Words = Callable[[int], str]


class Bar(NamedTuple):
    """One of several amounts that are compared."""

    name: str
    amount: int
    text: str
    """The amount in words."""
    title: str = ""
    """What is shown of it when it is pointed at; the name if there is none."""


class Dot(NamedTuple):
    """An amount at a time."""

    time_ms: int
    amount: int


def bars(rows: Sequence[Bar], label: str, kind: str = "") -> str:
    """Amounts as bars below each other, with their names before them."""
    most = max((row.amount for row in rows), default=0) or 1
    room = WIDTH - NAME_WIDTH - TEXT_WIDTH
    parts = []
    for number, row in enumerate(rows):
        middle = number * ROW + ROW // 2
        length = max(2, round(room * row.amount / most))
        parts.append(
            f"<g><title>{escape(row.title or row.name)}</title>"
            f'<text class="name" x="{NAME_WIDTH - 10}" y="{middle + 4}">{_name(row.name)}</text>'
            f'<rect class="track" x="{NAME_WIDTH}" y="{middle - BAR // 2}" width="{room}" '
            f'height="{BAR}" rx="3"/>'
            f'<rect class="bar {kind}" x="{NAME_WIDTH}" y="{middle - BAR // 2}" width="{length}" '
            f'height="{BAR}" rx="3"/>'
            f'<text class="amount" x="{WIDTH - TEXT_WIDTH + 10}" y="{middle + 4}">'
            f"{escape(row.text)}</text></g>"
        )
    return _svg(len(rows) * ROW, label, parts)


def columns(rows: Sequence[Bar], label: str, words: Words, kinds: Sequence[str]) -> str:
    """Amounts as columns beside each other; `kinds` are the classes of their colours."""
    top = ceiling(max((row.amount for row in rows), default=0))
    width = (WIDTH - LEFT - RIGHT) / max(len(rows), 1)
    parts = _grid(top, words)
    for number, row in enumerate(rows):
        x = LEFT + width * (number + COLUMN_GAP / 2)
        high = (PLOT_HEIGHT - TOP - BOTTOM) * row.amount / top
        y, middle = PLOT_HEIGHT - BOTTOM - high, x + width * (1 - COLUMN_GAP) / 2
        parts.append(
            f"<g><title>{escape(row.title or row.name)}</title>"
            f'<rect class="bar {kinds[number]}" x="{x:.1f}" y="{y:.1f}" '
            f'width="{width * (1 - COLUMN_GAP):.1f}" height="{high:.1f}" rx="3"/>'
            f'<text class="over" x="{middle:.1f}" y="{y - 5:.1f}">{escape(row.text)}</text>'
            f'<text class="tick mid" x="{middle:.1f}" y="{PLOT_HEIGHT - 10}">'
            f"{escape(row.name)}</text></g>"
        )
    return _svg(PLOT_HEIGHT, label, parts)


def line(dots: Sequence[Dot], marks: Sequence[Dot], label: str, words: Words) -> str:
    """An amount over time as a line with an area below; marks are amounts known for sure."""
    every = [*dots, *marks]
    first, last = min(dot.time_ms for dot in every), max(dot.time_ms for dot in every)
    top = ceiling(max(dot.amount for dot in every))

    def place(dot: Dot) -> tuple[float, float]:
        share = (dot.time_ms - first) / max(last - first, 1)
        x = LEFT + (WIDTH - LEFT - RIGHT) * share
        return x, PLOT_HEIGHT - BOTTOM - (PLOT_HEIGHT - TOP - BOTTOM) * dot.amount / top

    parts = _grid(top, words)
    if dots:
        path = " ".join("{:.1f},{:.1f}".format(*place(dot)) for dot in dots)
        begin, end = place(dots[0])[0], place(dots[-1])[0]
        floor = PLOT_HEIGHT - BOTTOM
        parts.append(
            f'<polygon class="area" points="{begin:.1f},{floor} {path} {end:.1f},{floor}"/>'
        )
        parts.append(f'<polyline class="line" points="{path}"/>')
    for dot in marks:
        x, y = place(dot)
        said = escape(f"{day(dot.time_ms)}: {words(dot.amount)}")
        parts.append(
            f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="3.5"><title>{said}</title></circle>'
        )
    parts += _days(first, last)
    return _svg(PLOT_HEIGHT, label, parts)


def ceiling(amount: int) -> int:
    """The next round amount: what a scale ends at."""
    power = 1
    while power * 100 < amount:
        power *= 10
    return next(step * power for step in ROUND if step * power >= amount)


def day(time_ms: int) -> str:
    """A time as the day it is in."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%d")


def _grid(top: int, words: Words) -> list[str]:
    parts = []
    for number in range(TICKS + 1):
        y = PLOT_HEIGHT - BOTTOM - (PLOT_HEIGHT - TOP - BOTTOM) * number / TICKS
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="tick" x="{LEFT - 8}" y="{y + 4:.1f}">'
            f"{escape(words(top * number // TICKS))}</text>"
        )
    return parts


def _days(first: int, last: int) -> list[str]:
    """Dates below a plot; one is enough if all is of one day."""
    places = {0.0: "start", 0.5: "mid", 1.0: ""} if day(first) != day(last) else {1.0: ""}
    return [
        f'<text class="tick {kind}" x="{LEFT + (WIDTH - LEFT - RIGHT) * share:.1f}" '
        f'y="{PLOT_HEIGHT - 10}">{day(round(first + (last - first) * share))}</text>'
        for share, kind in places.items()
    ]


def _svg(height: int, label: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}">'
        f"{''.join(parts)}</svg>"
    )


def _name(name: str) -> str:
    """A name that fits: of a long one its end says more than its beginning."""
    return escape(name if len(name) <= NAME_CHARS else f"…{name[1 - NAME_CHARS :]}")
