"""The page of an inventory: whole, harmless, and quick."""

import base64
import hashlib
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headgate.errors import BadRequest, BadSetting, CatalogNotFound
from headgate.pipelines.inventory import (
    InventoryOptions,
    check_page,
    check_run,
    chosen,
    write_page,
)
from headgate.pipelines.inventory_charts import Bar, Dot, bars, ceiling, columns, line
from headgate.pipelines.inventory_facts import COLUMNS, DAY_MS
from headgate.pipelines.inventory_page import (
    EarlierRun,
    Inventory,
    Totals,
    is_cold,
    is_small,
    page,
    total_at,
)

NOW_MS = 1_800_000_000_000
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&<!--"
OUTSIDE = re.compile(
    r"""(?:src|href|action|xlink:href)\s*=|url\(|@import|https?://(?!www\.w3\.org)"""
)


def row(name: str = "t", **more: Any) -> dict[str, Any]:
    made = dict.fromkeys(column.name for column in COLUMNS)
    made |= {
        "levels": ["main", "s", name],
        "owner": "ann",
        "format": "parquet",
        "format_version": 2,
        "bytes": 1_000,
        "records": 10,
        "files": 1,
        "average_bytes": 1_000,
        "delete_files": 0,
        "spare_files": 0,
        "small_share": 0.0,
        "snapshots": 1,
        "created": NOW_MS - DAY_MS,
        "written": NOW_MS - DAY_MS,
        "bytes_month_ago": 0,
        "growth": msgspec.json.encode([(NOW_MS - DAY_MS, 1_000, 10)]).decode(),
        "location": "file:///t",
    }
    return made | more


def failed(name: str, why: str) -> dict[str, Any]:
    made = dict.fromkeys(column.name for column in COLUMNS)
    return made | {"levels": ["main", "s", name], "problem": why}


def shown(*rows: dict[str, Any], tables: int | None = None, **more: Any) -> str:
    totals = Totals(tables=len(rows) if tables is None else tables)
    given = {"run": "r1", "metalake": "lake", "time_ms": NOW_MS, "totals": totals, **more}
    return page(Inventory(rows=rows, **given))


class Elements(HTMLParser):
    """What a browser would find: elements, and the scripts that would run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._in_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._in_script = tag == "script" and not attrs
        if self._in_script:
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.scripts[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False


def data(text: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    return msgspec.json.decode(found[1])


def plots(text: str) -> Iterator[ET.Element]:
    return (ET.fromstring(found) for found in re.findall(r"<svg.*?</svg>", text, re.DOTALL))


def test_names_cannot_become_elements() -> None:
    """A table, an owner, a location, a reason, a run and a metalake of HTML stay text."""
    text = shown(
        row(EVIL, owner=EVIL, location=EVIL, spare_files=50, small_share=0.9, written=1),
        failed(EVIL, EVIL),
        run=EVIL,
        metalake=EVIL,
    )
    page = Elements(text)

    assert len(page.scripts) == 1
    assert [tag for tag, _ in page.found if tag == "img"] == []
    assert [attributes for _, attributes in page.found if "onerror" in attributes] == []
    assert data(text)["rows"][0][0] == f"main.s.{EVIL}"


def test_only_its_own_script_may_run() -> None:
    """The policy names the script by its digest, and lets nothing else in from anywhere."""
    page = Elements(shown(row()))
    policy = next(
        str(attributes["content"])
        for tag, attributes in page.found
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    digest = base64.b64encode(hashlib.sha256(page.scripts[0].encode()).digest()).decode()

    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy


def test_it_needs_nothing_from_elsewhere() -> None:
    """No address, no other file."""
    text = shown(row())

    assert OUTSIDE.findall(text) == []


def test_no_place_is_left_open() -> None:
    """Every place of the template is filled in, and what is filled in is not read again."""
    text = shown(row("<!--{data}-->"), failed("x", "/*{run}*/"))

    assert re.findall(r"<!--\{\w+\}-->", text) == []
    assert data(text)["rows"][0][0] == "main.s.<!--{data}-->"


def test_every_plot_is_an_image_on_its_own() -> None:
    """Each is well-formed, has a label and no number that is none."""
    text = shown(
        row("small", spare_files=50, files=60, small_share=0.9),
        row("cold", written=NOW_MS - 200 * DAY_MS),
        failed("lost", "gone"),
        runs=(EarlierRun(NOW_MS - 5 * DAY_MS, 700, 1), EarlierRun(NOW_MS, 3_000, 3)),
    )
    found = list(plots(text))

    assert len(found) == 8
    assert all(plot.get("aria-label") for plot in found)
    assert not re.search(r'="-?(nan|inf)', text)


def test_a_lake_without_tables_has_a_page() -> None:
    """It says that there is nothing, and is whole."""
    text = shown()

    assert "No table has data yet." in text
    assert data(text)["rows"] == []


def test_how_much_data_grew_is_said_where_the_data_is() -> None:
    """With how many tables are not in that sum."""
    text = shown(
        row(),
        row("blind", bytes=None),
        totals=Totals(tables=2, bytes=3_000, records=10, unknown_sizes=1),
        runs=(EarlierRun(NOW_MS - 5 * DAY_MS, 700, 1), EarlierRun(NOW_MS, 3_000, 2)),
    )
    tiles = dict(re.findall(r"<span>(.*?)</span><b>.*?</b><i>(.*?)</i>", text))

    assert tiles["Tables"] == "10 records"
    assert tiles["Data"] == "+2.3 kB since 2027-01-10; 1 table of unknown size"


def test_what_was_not_loaded_is_listed_with_the_reason() -> None:
    """Name and reason are both there."""
    text = shown(failed("lost", "the file is gone"))

    assert "Not loaded" in text
    assert "<b>main.s.lost</b> the file is gone" in text


def test_ten_thousand_tables_make_a_page_of_a_few_megabytes() -> None:
    """Rows are data for the script, not elements, so a browser opens it at once."""
    growth = msgspec.json.encode([(NOW_MS - at, at * 1_000, 1) for at in range(24)]).decode()
    rows = [row(f"table_{number}", growth=growth) for number in range(10_000)]
    text = shown(*rows)

    assert len(text) < 5_000_000
    assert len(Elements(text).found) < 1_000
    assert len(data(text)["rows"]) == 10_000


def test_more_tables_than_are_shown_are_told_of() -> None:
    """Nobody takes the largest for all."""
    assert "The largest 1 of 70,000" in shown(row(), tables=70_000)


@pytest.mark.parametrize(
    ("spare", "share", "small"), [(9, 0.9, False), (10, 0.4, False), (10, 0.5, True)]
)
def test_many_small_files_are_many_and_most(spare: int, share: float, small: bool) -> None:
    """A few spare files are no offence, nor are some among very many."""
    assert is_small(row(spare_files=spare, small_share=share)) is small


def test_a_table_is_cold_after_ninety_days() -> None:
    """Counted from the last change of rows, or from when it was made."""
    assert is_cold(row(written=NOW_MS - 91 * DAY_MS), NOW_MS)
    assert not is_cold(row(written=NOW_MS - 89 * DAY_MS), NOW_MS)
    assert is_cold(row(written=None, created=NOW_MS - 91 * DAY_MS), NOW_MS)


def test_tables_are_summed_up_over_time() -> None:
    """Each has its last size until it tells another one."""
    growth = [[[10, 100, 1], [30, 40, 1]], [[20, 7, 1]]]

    assert total_at(growth, [5, 10, 20, 29, 30, 99]) == [0, 100, 107, 107, 47, 47]


@pytest.mark.parametrize(
    ("amount", "end"), [(0, 4), (1, 4), (9, 12), (11, 12), (99, 100), (101, 120), (4_100, 6_000)]
)
def test_scales_end_at_round_amounts(amount: int, end: int) -> None:
    """The next one that a person would choose."""
    assert ceiling(amount) == end


def test_plots_of_nothing_and_of_one_thing_are_drawn() -> None:
    """Neither zeros nor a single instant divide by zero."""
    ET.fromstring(bars([Bar("a", 0, "0")], "x"))
    ET.fromstring(columns([Bar("a", 0, "0")], "x", str, ["fresh"]))
    ET.fromstring(line([Dot(5, 0)], [Dot(5, 0)], "x", str))


def test_the_longest_name_leaves_room_for_its_bar() -> None:
    """It is shortened at its beginning, and whole when it is pointed at."""
    name = "a" * 100 + ".orders"
    text = bars([Bar(name, 1, "1")], "x")

    assert f"<title>{name}</title>" in text
    assert "aaa.orders</text>" in text
    assert f">{name}</text>" not in text


def test_a_page_is_replaced_whole(tmp_path: Path) -> None:
    """The file is there with all of it, others may read it, and nothing else is left."""
    path = tmp_path / "page.html"
    path.write_text("old")
    write_page(path, "new ü")

    assert path.read_text("utf-8") == "new ü"
    assert path.stat().st_mode & 0o777 == 0o644
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("place", ["", "missing/page.html"])
def test_a_page_that_cannot_be_written_is_refused_at_once(tmp_path: Path, place: str) -> None:
    """A folder, or a file in one that is not there."""
    with pytest.raises(BadRequest, match="cannot be written"):
        check_page(tmp_path / place)


def test_a_catalog_that_is_not_there_is_named() -> None:
    """With those that are."""
    with pytest.raises(CatalogNotFound, match="'nope': you may use a, b"):
        chosen(["a", "b"], InventoryOptions(only=("nope",)))


def test_where_the_inventory_goes_must_be_clear() -> None:
    """The only catalog is; of two, one has to be named."""
    assert chosen(["a"], InventoryOptions()) == (["a"], "a")
    assert chosen(["a", "b"], InventoryOptions(catalog="b")) == (["a", "b"], "b")
    assert chosen(["a", "b"], InventoryOptions(catalog="b", only=("a",))) == (("a",), "b")
    with pytest.raises(BadSetting, match="2 catalogs"):
        chosen(["a", "b"], InventoryOptions())


@pytest.mark.parametrize("id", ["a\nb", "x" * 201])
def test_an_id_of_a_run_can_be_printed(id: str) -> None:
    """Else nobody could name it again."""
    with pytest.raises(BadRequest, match="id of a run"):
        check_run(id)
