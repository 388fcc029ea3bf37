"""Draws how long drops take, how fast files go, and what readers notice of it."""

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from benchmarks.plot import BLUE, GREY, ORANGE, finish
from benchmarks.report import number

Bars = dict[str, tuple[str, str]]
"""By what is written below each: the key of its figure, and its colour."""

DROPS: Bars = {
    "10\nfiles": ("drop_p99_ms_small", BLUE),
    "large\ntable": ("drop_p99_ms_500k", BLUE),
    "50 large\nat once": ("drop_p99_ms_concurrent", BLUE),
}
RATES: Bars = {
    "Headgate": ("purge_files_per_second", BLUE),
    "reference\nserver": ("iceberg_files_per_second", ORANGE),
    "rm -r": ("rm_files_per_second", GREY),
}
LOADS: Bars = {
    "before": ("serving_rps_before", GREY),
    "during\na purge": ("serving_rps_during", BLUE),
}


def draw(figures: dict[str, Any], path: Path) -> None:
    """Three small pictures in one file; its suffix says which format."""
    mpl.rcParams.update({"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "headgate"})
    picture, axes = plt.subplots(
        1, 3, figsize=(10, 3.4), layout="constrained", width_ratios=(3, 3, 2)
    )
    _bars(axes[0], figures, DROPS, "DELETE with purge, 99 of 100", "ms")
    _bars(axes[1], figures, RATES, "purge of a large table", "files per second")
    _bars(axes[2], figures, LOADS, "loadTable", "per second")
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None} if path.suffix == ".svg" else None
    picture.savefig(path, dpi=110, metadata=metadata)
    plt.close(picture)


def _bars(axes: Axes, figures: dict[str, Any], bars: Bars, title: str, unit: str) -> None:
    for name, (key, colour) in bars.items():
        axes.bar_label(axes.bar(name, figures[key], color=colour), [number(figures[key])])
    axes.set_ylabel(unit)
    axes.margins(y=0.15)
    finish(axes, title)
