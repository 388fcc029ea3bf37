"""Draws what authorization costs: beside the same without it, and one check beside pycasbin's."""

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from benchmarks.plot import BLUE, GREY, ORANGE, finish
from benchmarks.report import number

LOADS = {"load_table": "as clients\nask", "load_table_anew": "worked out\nanew"}
LISTS = {
    "list": "all users",
    "list_schema": "right on\nthe schema",
    "list_tables": "right on\neach table",
    "list_denied": "one table\ndenied",
}
WIDTH = 0.4


def draw(figures: dict[str, Any], path: Path) -> None:
    """Three small pictures in one file; its suffix says which format."""
    mpl.rcParams.update({"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "headgate"})
    picture, axes = plt.subplots(
        1, 3, figsize=(10, 3.4), layout="constrained", width_ratios=(2, 4, 2.4)
    )
    _pairs(axes[0], figures, LOADS, "loadTable, 20 kB")
    _pairs(axes[1], figures, LISTS, "a list of 10,496 tables, worked out anew")
    _checks(axes[2], figures)
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None} if path.suffix == ".svg" else None
    picture.savefig(path, dpi=110, metadata=metadata)
    plt.close(picture)


def _pairs(axes: Axes, figures: dict[str, Any], keys: dict[str, str], title: str) -> None:
    for at, (name, colour) in enumerate((("on", BLUE), ("off", GREY))):
        places = [place + (at - 0.5) * WIDTH for place in range(len(keys))]
        heights = [figures[f"{key}_rps_{name}"] for key in keys]
        bars = axes.bar(places, heights, WIDTH, color=colour, label=f"authorization {name}")
        axes.bar_label(bars, [number(round(height)) for height in heights])
    axes.set_xticks(range(len(keys)), list(keys.values()))
    axes.set_ylabel("per second")
    axes.margins(y=0.35)
    axes.legend(frameon=False, loc="upper right")
    finish(axes, title)


def _checks(axes: Axes, figures: dict[str, Any]) -> None:
    bars = {
        "Headgate\n1,000": ("check_us_1k_policies", BLUE),
        "Headgate\n100,000": ("check_us_100k_policies", BLUE),
        "pycasbin\n1,000": ("pycasbin_us", ORANGE),
    }
    for name, (key, colour) in bars.items():
        axes.bar_label(axes.bar(name, figures[key], color=colour), [number(figures[key])])
    axes.set_yscale("log")
    axes.set_ylabel("µs")
    axes.margins(y=0.15)
    finish(axes, "one check, by grants")
