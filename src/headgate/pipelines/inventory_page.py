"""The inventory as one page of HTML that needs nothing else: no network, no other file. Pure.

Names come from whoever may create a table, so each is escaped, and a policy in the page lets no
script run but its own.
"""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

import msgspec

from headgate.amounts import size
from headgate.pipelines.inventory_charts import Bar, Dot, bars, columns, day, line
from headgate.pipelines.inventory_facts import DAY_MS

BARS_MAX = 12
SPARE_FILES_MIN = 10
SMALL_SHARE_MIN = 0.5
COLD_DAYS = 90
GRID_POINTS = 80
GROWTH_DAYS_MAX = 365
SPARK_POINTS = 12
PROBLEMS_MAX = 500
NOBODY = "nobody"
AGES = ((1, "1 day"), (7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "1 year"))
AGE_KINDS = ("fresh", "fresh", "calm", "calm", "cool", "cold")
_PLACE = re.compile(r"<!--\{(\w+)\}-->|/\*\{(\w+)\}\*/")
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)

Row = Mapping[str, Any]


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """What all tables come to."""

    tables: int
    bytes: int = 0
    records: int = 0
    files: int = 0
    delete_files: int = 0
    snapshots: int = 0
    small_file_tables: int = 0
    cold_tables: int = 0
    problems: int = 0
    unknown_sizes: int = 0
    """Tables that were loaded, and whose snapshots do not say how large they are."""


class EarlierRun(msgspec.Struct, frozen=True):
    """What an inventory came to; the last is the one that is shown."""

    time_ms: int
    bytes: int
    tables: int


class Inventory(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown."""

    run: str
    metalake: str
    time_ms: int
    totals: Totals
    rows: Sequence[Row]
    """The largest tables, with their times in milliseconds."""
    runs: Sequence[EarlierRun] = ()


def page(inventory: Inventory) -> str:
    """The whole page."""
    template = files(__package__).joinpath("inventory_page.html").read_text("utf-8")
    script = _SCRIPT.search(template)
    assert script, "the page has a script"
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    rows = inventory.rows
    known = [row for row in rows if not row["problem"]]
    parts = {
        "policy": f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        "metalake": escape(inventory.metalake),
        "run": escape(inventory.run),
        "days": str(COLD_DAYS),
        "time": f"{day(inventory.time_ms)} {_clock(inventory.time_ms)} UTC",
        "tiles": _tiles(inventory),
        "largest": _largest(known),
        "small": _small(known),
        "growth": _growth(inventory, known),
        "growers": _growers(known),
        "ages": _ages(known, inventory.time_ms),
        "cold": _cold(known, inventory.time_ms),
        "owners": _shares(known, "Data by owner", lambda row: row["owner"] or NOBODY),
        "schemas": _shares(known, "Data by schema", lambda row: ".".join(row["levels"][:-1])),
        "problems": _problems(rows),
        "shown": _shown(inventory),
        "data": _data(inventory),
    }
    return _PLACE.sub(lambda found: parts[found[1] or found[2]], template)


def is_small(row: Row) -> bool:
    """Whether a table has many files that are too small."""
    return (row["spare_files"] or 0) >= SPARE_FILES_MIN and row["small_share"] >= SMALL_SHARE_MIN


def is_cold(row: Row, now_ms: int) -> bool:
    """Whether nobody has written to a table for long."""
    return not row["problem"] and now_ms - _touched(row) > COLD_DAYS * DAY_MS


def total_at(growth: Sequence[Sequence[Sequence[int]]], times: Sequence[int]) -> list[int]:
    """What tables came to at these times, each by its [time, bytes, records], all in order."""
    steps: Counter[int] = Counter()
    for points in growth:
        before = 0
        for time_ms, amount, *_ in points:
            steps[time_ms] += amount - before
            before = amount
    total, found, at = 0, [], 0
    order = sorted(steps)
    for time_ms in times:
        while at < len(order) and order[at] <= time_ms:
            total += steps[order[at]]
            at += 1
        found.append(total)
    return found


def _tiles(inventory: Inventory) -> str:
    totals = inventory.totals
    small, cold, lost = totals.small_file_tables, totals.cold_tables, totals.problems
    average = size(totals.bytes // totals.files) if totals.files else "-"
    tiles = [
        ("Tables", _many(totals.tables), f"{_many(totals.records)} records", ""),
        ("Data", size(totals.bytes), _since(inventory) + _unknown(totals), ""),
        ("Data files", _many(totals.files), f"{average} on average", ""),
        ("Delete files", _many(totals.delete_files), "to be merged at each read", ""),
        ("Snapshots", _many(totals.snapshots), "are kept", ""),
        ("Many small files", f"{small:,}", "tables to be compacted", "warm" if small else ""),
        ("Cold", f"{cold:,}", f"not written for {COLD_DAYS} days", "cold" if cold else ""),
        ("Not loaded", f"{lost:,}", "listed below" if lost else "all were", "bad" if lost else ""),
    ]
    return "".join(
        f'<div class="tile {kind}"><span>{title}</span><b>{amount}</b><i>{escape(more)}</i></div>'
        for title, amount, more, kind in tiles
    )


def _since(inventory: Inventory) -> str:
    if len(inventory.runs) < 2:
        return "the first inventory"
    before, now = inventory.runs[-2:]
    sign = "+" if now.bytes >= before.bytes else "-"
    return f"{sign}{size(abs(now.bytes - before.bytes))} since {day(before.time_ms)}"


def _unknown(totals: Totals) -> str:
    """What has to be said of a sum that is not all."""
    count = totals.unknown_sizes
    return f"; {count:,} table{'' if count == 1 else 's'} of unknown size" if count else ""


def _largest(rows: Sequence[Row]) -> str:
    found = sorted((row for row in rows if row["bytes"]), key=lambda row: -row["bytes"])[:BARS_MAX]
    shown = [
        Bar(_name(row), row["bytes"], size(row["bytes"]), f"{_name(row)}: {row['records']} records")
        for row in found
    ]
    return bars(shown, "The largest tables") if shown else _none("No table has data yet.")


def _small(rows: Sequence[Row]) -> str:
    found = sorted(filter(is_small, rows), key=lambda row: -row["spare_files"])[:BARS_MAX]
    shown = [
        Bar(
            _name(row),
            row["spare_files"],
            f"{_many(row['files'])} of {size(row['average_bytes'] or 0)}",
            f"{_name(row)}: a compaction could save up to {row['spare_files']:,} files",
        )
        for row in found
    ]
    return bars(shown, "Many small files", "warm") if shown else _none("No table needs compaction.")


def _growth(inventory: Inventory, rows: Sequence[Row]) -> str:
    growth = [points for row in rows if (points := msgspec.json.decode(row["growth"]))]
    marks = [Dot(run.time_ms, run.bytes) for run in inventory.runs]
    begin = min([points[0][0] for points in growth], default=inventory.time_ms)
    begin = max(begin, inventory.time_ms - GROWTH_DAYS_MAX * DAY_MS)
    step = (inventory.time_ms - begin) / GRID_POINTS
    times = [round(begin + number * step) for number in range(GRID_POINTS + 1)]
    dots = [Dot(*both) for both in zip(times, total_at(growth, times), strict=True)]
    return line(dots, marks, "How all tables grew", size)


def _growers(rows: Sequence[Row]) -> str:
    grown = [
        (row["bytes"] - row["bytes_month_ago"], row)
        for row in rows
        if row["bytes"] is not None and row["bytes_month_ago"] is not None
    ]
    found = sorted((one for one in grown if one[0] > 0), key=lambda one: -one[0])[:BARS_MAX]
    shown = [
        Bar(_name(row), more, f"+{size(more)}", f"{_name(row)}: {size(row['bytes'])} now")
        for more, row in found
    ]
    return bars(shown, "What grew most", "calm") if shown else _none("No table grew.")


def _ages(rows: Sequence[Row], now_ms: int) -> str:
    count, amount = Counter[int](), Counter[int]()
    for row in rows:
        days = (now_ms - _touched(row)) / DAY_MS
        group = next((at for at, (most, _) in enumerate(AGES) if days <= most), len(AGES))
        count[group] += 1
        amount[group] += row["bytes"] or 0
    names = [*(f"≤ {name}" for _, name in AGES), "> 1 year"]
    shown = [
        Bar(name, amount[at], f"{count[at]:,}", f"{count[at]:,} tables, {size(amount[at])}")
        for at, name in enumerate(names)
    ]
    return columns(shown, "When tables were written last", size, AGE_KINDS)


def _cold(rows: Sequence[Row], now_ms: int) -> str:
    cold = [row for row in rows if is_cold(row, now_ms)]
    found = sorted(cold, key=lambda row: -(row["bytes"] or 0))[:BARS_MAX]
    shown = [
        Bar(
            _name(row),
            row["bytes"] or 0,
            f"{size(row['bytes'] or 0)}, {(now_ms - _touched(row)) // DAY_MS:,} d",
            f"{_name(row)}: written last on {day(_touched(row))}",
        )
        for row in found
    ]
    if not shown:
        return _none(f"Every table was written within the last {COLD_DAYS} days.")
    return bars(shown, "The largest cold tables", "cold")


def _shares(rows: Sequence[Row], label: str, of: Callable[[Row], str]) -> str:
    """What belongs together, by what it comes to."""
    amount, count = Counter[str](), Counter[str]()
    for row in rows:
        amount[of(row)] += row["bytes"] or 0
        count[of(row)] += 1
    found = sorted(amount, key=lambda name: (-amount[name], name))[:BARS_MAX]
    shown = [Bar(one, amount[one], f"{size(amount[one])} in {_many(count[one])}") for one in found]
    return bars(shown, label) if shown else _none("There are no tables.")


def _problems(rows: Sequence[Row]) -> str:
    found = [row for row in rows if row["problem"]][:PROBLEMS_MAX]
    if not found:
        return ""
    entries = "".join(
        f"<li><b>{escape(_name(row))}</b> {escape(row['problem'])}</li>" for row in found
    )
    return f'<section class="card wide bad"><h2>Not loaded</h2><ul>{entries}</ul></section>'


def _shown(inventory: Inventory) -> str:
    all_of, shown = inventory.totals.tables, len(inventory.rows)
    return "" if shown >= all_of else f"The largest {shown:,} of {all_of:,}; the table has all."


def _data(inventory: Inventory) -> str:
    """The rows for the script of the page; nothing in them can end the element they are in."""
    now_ms = inventory.time_ms
    rows = [
        [
            _name(row),
            row["owner"] or "",
            row["bytes"],
            row["records"],
            row["files"],
            row["average_bytes"],
            row["delete_files"],
            row["snapshots"],
            _change(row),
            row["created"],
            row["written"],
            f"{row['format']} v{row['format_version']}" if row["format"] else "",
            row["location"] or "",
            _sparkline(row),
            ("p" if row["problem"] else "")
            + ("s" if is_small(row) else "")
            + ("c" if is_cold(row, now_ms) else ""),
        ]
        for row in inventory.rows
    ]
    text = msgspec.json.encode({"now": now_ms, "rows": rows}).decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _change(row: Row) -> int | None:
    """How much a table has grown since the last run, or since it is known."""
    if row["bytes"] is None or row["bytes_before"] is None:
        return None
    return int(row["bytes"] - row["bytes_before"])


def _sparkline(row: Row) -> list[int]:
    points = msgspec.json.decode(row["growth"]) if row["growth"] else []
    step = max(1, -(-len(points) // SPARK_POINTS))
    return [point[1] for point in points[::-step][::-1]]


def _touched(row: Row) -> int:
    return int(row["written"] or row["created"] or 0)


def _name(row: Row) -> str:
    return ".".join(row["levels"])


def _many(count: int) -> str:
    """So many, in few characters."""
    if count < 100_000:
        return f"{count:,}"
    return f"{count / 1e6:.1f} M" if count >= 1_000_000 else f"{count // 1_000} k"


def _none(words: str) -> str:
    return f'<p class="none">{escape(words)}</p>'


def _clock(time_ms: int) -> str:
    minutes = time_ms // 60_000 % (24 * 60)
    return f"{minutes // 60:02}:{minutes % 60:02}"
