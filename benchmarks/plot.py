"""Draws what the kernel's costs depend on: the size of the index, and the number of callers."""

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

BLUE, ORANGE, GREY = "#1f5fa8", "#d9782d", "#8a8f98"


def draw(figures: dict[str, Any], labels: list[str], path: Path) -> None:
    """Four small pictures in one file; its suffix says which format."""
    mpl.rcParams.update({"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "headgate"})
    picture, axes = plt.subplots(2, 2, figsize=(8, 5.6), layout="constrained")
    sizes = [float(label) for label in labels]
    _by_size(axes[0, 0], sizes, _series(figures, "commit_ms", labels), "commit, one caller", "ms")
    written = [one / 1000 for one in _series(figures, "bytes_written_per_commit", labels)]
    worst = [one / 1000 for one in _series(figures, "bytes_written_worst", labels)]
    _by_size(axes[0, 1], sizes, written, "written per commit", "kB")
    axes[0, 1].plot(sizes, worst, "o--", color=GREY, label="worst")
    axes[0, 1].legend(frameon=False)
    axes[0, 1].set_ylim(0, max(worst) * 1.25)
    _by_size(axes[1, 0], sizes, _series(figures, "lookup_us", labels), "warm look-up", "µs")
    _by_callers(axes[1, 1], figures["callers_curve"])
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None} if path.suffix == ".svg" else None
    picture.savefig(path, dpi=110, metadata=metadata)
    plt.close(picture)


def _series(figures: dict[str, Any], name: str, labels: list[str]) -> list[float]:
    return [figures[f"{name}_{label}"] for label in labels]


def _by_size(axes: Axes, sizes: list[float], series: list[float], title: str, unit: str) -> None:
    axes.plot(sizes, series, "o-", color=BLUE, label="median" if unit == "ms" else "mean")
    axes.set_xscale("log")
    axes.set_ylim(0, max(series) * 1.25)
    axes.set_xlabel("entries in the index")
    axes.set_ylabel(unit)
    finish(axes, title)


def _by_callers(axes: Axes, curve: dict[str, list[float]]) -> None:
    places = range(len(curve["callers"]))
    for name, label, colour in (("sqlite", "SQLite", BLUE), ("postgresql", "PostgreSQL", ORANGE)):
        axes.plot(places, curve[f"{name}_commits_per_second"], "o-", color=colour, label=label)
    axes.set_xticks(places, [str(callers) for callers in curve["callers"]])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("callers that commit to one pointer at once")
    axes.set_ylabel("commits per second")
    axes.legend(frameon=False)
    finish(axes, "group commit")


def finish(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", fontweight="bold")
    axes.grid(visible=True, axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
