"""What a server says of a catalog, and what may be listed of it."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

from headgate.errors import BadSetting, Forbidden
from headgate.pipelines.names import TableName
from headgate.pipelines.orphans_places import Owner
from headgate.pipelines.orphans_subjects import State, Subject
from headgate.pipelines.orphans_survey import (
    check_rights,
    doubt_of,
    other_catalogs,
    places_to_list,
    subjects_of,
)
from headgate.pipelines.server import LOCATION, CatalogInfo, Server

TABLE = TableName("main", ("a",), "t")
VIEW = TableName("main", ("a",), "v")
MAIN = CatalogInfo("main", "lakehouse-iceberg", {LOCATION: "file:///wh"})
SUBJECTS = [Subject("table", TABLE), Subject("view", VIEW), Subject("purge", TABLE, "m")]
STATES = {
    SUBJECTS[0].identity: State("1", ("/wh/a/t", "s3://b/data")),
    SUBJECTS[1].identity: State("2", ("/wh/a/v",)),
    SUBJECTS[2].identity: State("3", ("s3://c/gone",), "its purge is not over"),
}


def job(id: int, state: str) -> dict[str, Any]:
    table = ["a", f"t{id}"]
    return {"table": table, "state": state, "metadata-location": f"m{id}", "places": [f"p{id}"]}


class Told:
    """A server with a table and a view, and with pages of jobs."""

    metalake = "lake/1"

    def __init__(self, *rounds: list[list[dict[str, Any]]]) -> None:
        self.rounds = list(rounds)
        self.posted: list[str] = []
        self.asked: list[dict[str, str]] = []

    def tables(self, catalog: str) -> Iterator[TableName]:
        yield TABLE

    def views(self, catalog: str) -> Iterator[TableName]:
        yield VIEW

    def catalogs(self) -> list[CatalogInfo]:
        other = CatalogInfo("other", "lakehouse-iceberg", {LOCATION: "s3://other/wh"})
        return [MAIN, other, CatalogInfo("empty", "lakehouse-iceberg")]

    def get(self, path: str, **query: str) -> dict[str, Any]:
        self.asked.append(query)
        pages = self.rounds[0]
        jobs = pages.pop(0)
        if not pages:
            self.rounds.pop(0)
        return {"jobs": jobs, "next-page-token": "more" if pages else None}

    def post(self, path: str) -> None:
        self.posted.append(path)
        raise Forbidden("not yours")


def test_purges_are_read_before_the_tables_and_after_them() -> None:
    """A table becomes a purge at any time, and a purge a table. Those that are over do not count;
    one that waits for an operator does."""
    server = Told(
        [[job(1, "PENDING")], [job(2, "SUCCEEDED"), job(3, "DEAD_LETTER")]],
        [[job(3, "RUNNING"), job(4, "PENDING"), job(5, "CANCELLED")]],
    )

    found = subjects_of(cast("Server", server), "main")

    assert [(one.kind, str(one.name), one.places) for one in found] == [
        ("table", "main.a.t", ()),
        ("view", "main.a.v", ()),
        ("purge", "main.a.t1", ("p1",)),
        ("purge", "main.a.t3", ("p3",)),
        ("purge", "main.a.t4", ("p4",)),
    ]
    assert [query.get("page-token") for query in server.asked] == [None, "more", None]


def test_who_does_not_own_the_catalog_is_refused() -> None:
    """Tables and purges may be hidden from others."""
    server = Told()

    with pytest.raises(Forbidden, match="orphans of catalog a b are not looked for"):
        check_rights(cast("Server", server), "a b")
    assert server.posted == ["/api/metalakes/lake%2F1/catalogs/a%20b/testConnection"]


def test_nothing_in_places_of_other_catalogs_is_an_orphan() -> None:
    """A catalog without files has none."""
    found = other_catalogs(cast("Server", Told()), "main")

    assert found == [Owner("s3://other/wh", "catalog other", "it belongs to another catalog")]


def test_only_a_table_makes_one_doubt_whose_a_file_is() -> None:
    """What a purge deletes leads to nothing in the end, and that is as it should be."""
    table, _, purge = SUBJECTS
    states = {one.identity: STATES[one.identity].doubted("x is missing") for one in SUBJECTS}

    assert doubt_of([purge], states) == doubt_of(SUBJECTS, STATES) == ""
    assert doubt_of([purge, table], states) == "it may belong to main.a.t: x is missing"


def test_all_places_of_a_catalog_are_listed() -> None:
    """Its warehouse, and where its tables lie outside; not what a purge has there."""
    assert places_to_list(MAIN, (), SUBJECTS, STATES) == ["file:///wh", "s3://b/data"]


@pytest.mark.parametrize("below", ["/wh/a", "file:/wh", "s3a://b/data/x"])
def test_a_place_of_the_catalog_can_be_chosen(below: str) -> None:
    """However it is written; one that lies in another one is left out."""
    assert places_to_list(MAIN, (below, f"{below}/inner"), SUBJECTS, STATES) == [below]


@pytest.mark.parametrize("below", ["/", "/wh2", "s3://b", "s3://c/gone"])
def test_a_place_that_is_not_the_catalogs_is_refused(below: str) -> None:
    """Whatever lies there, it may be somebody else's."""
    with pytest.raises(BadSetting, match="nothing of catalog main lies there"):
        places_to_list(MAIN, (below,), SUBJECTS, STATES)
