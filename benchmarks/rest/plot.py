"""Draws ours beside the reference: loads, commits, and the tree workload."""

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from benchmarks.plot import BLUE, GREY, ORANGE, finish
from benchmarks.report import number
from benchmarks.rest.tree import PHASES

SERVERS = (("headgate", "Headgate", BLUE), ("reference", "reference server", ORANGE))


def draw(figures: dict[str, Any], path: Path) -> None:
    """Four small pictures in one file; its suffix says which format."""
    mpl.rcParams.update({"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "headgate"})
    picture, axes = plt.subplots(2, 2, figsize=(8, 5.6), layout="constrained")
    loads = {
        "Headgate": (figures["load_table_rps"], BLUE),
        "reference": (figures["load_table_rps_reference"], ORANGE),
        "constant": (figures["load_table_rps_bound"], GREY),
    }
    _bars(axes[0, 0], loads, "loadTable, 20 kB, 32 connections", "per second")
    commits = {
        "Headgate": (figures["commit_rps"], BLUE),
        "reference": (figures["commit_rps_reference"], ORANGE),
    }
    _bars(axes[0, 1], commits, "commits, 16 connections", "per second")
    _pairs(axes[1, 0], figures["tree"], PHASES[:2], "rps", "tree workload", "requests per second")
    _pairs(axes[1, 1], figures["tree"], PHASES, "p99_ms", "tree workload, 99 of 100", "ms")
    axes[1, 1].set_yscale("log")
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None} if path.suffix == ".svg" else None
    picture.savefig(path, dpi=110, metadata=metadata)
    plt.close(picture)


def _bars(axes: Axes, bars: dict[str, tuple[float, str]], title: str, unit: str) -> None:
    for name, (figure, colour) in bars.items():
        axes.bar_label(axes.bar(name, figure, color=colour), [number(round(figure))])
    axes.set_ylabel(unit)
    axes.margins(y=0.15)
    finish(axes, title)


def _pairs(
    axes: Axes, tree: dict[str, Any], phases: tuple[str, ...], figure: str, title: str, unit: str
) -> None:
    width = 0.4
    for at, (name, label, colour) in enumerate(SERVERS):
        places = [place + (at - 0.5) * width for place in range(len(phases))]
        heights = [tree[f"{phase}_{figure}_{name}"] for phase in phases]
        bars = axes.bar(places, heights, width, color=colour, label=label)
        axes.bar_label(bars, [number(height) for height in heights])
    axes.set_xticks(range(len(phases)), phases)
    axes.set_ylabel(unit)
    axes.margins(y=0.15)
    axes.legend(frameon=False)
    finish(axes, title)
