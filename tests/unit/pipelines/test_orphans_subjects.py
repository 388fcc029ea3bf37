"""What tables, views and purges lead to, and what is said of those that cannot be read."""

import json
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from headgate.errors import BadMetadata, Forbidden, HeadgateError, NotFound, ViewNotFound
from headgate.pipelines.names import TableName
from headgate.pipelines.orphans_checking import WENT, Seen
from headgate.pipelines.orphans_places import Owner
from headgate.pipelines.orphans_subjects import AnyFiles, Files, State, Subject, Walker
from headgate.pipelines.server import LoadedTable, Server
from headgate.storage.options import StorageOptions
from tests.unit.pipelines.orphans_lake import SPELLINGS, Lake, Step, references

TABLE = TableName("main", ("shop",), "t")
VIEW = TableName("main", ("shop",), "v")
STEPS = [
    Step(3, 0, is_kept=True, has_statistics=True),
    Step(1, 1, is_kept=True, has_statistics=False),
]


@pytest.fixture(name="lake")
def _lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path)
    lake.add("t", 2, STEPS, SPELLINGS[1])
    return lake


class Answers:
    """A server with one answer."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def path(self, *names: Any) -> str:
        return str(names)

    def get(self, path: str) -> Any:
        if isinstance(self._answer, HeadgateError):
            raise self._answer
        return self._answer

    def load(self, table: TableName) -> LoadedTable:
        return cast("LoadedTable", self.get(str(table)))


def walked(server: Any, subject: Subject) -> list[Files | State]:
    return list(Walker(cast("Server", server), AnyFiles(StorageOptions())).walk(subject))


def state_of(lake: Lake, subject: Subject) -> State:
    return references(cast("Server", lake), [subject])[1][subject.identity]


def changed(lake: Lake, **properties: str) -> None:
    """The table has other properties."""
    metadata = json.loads(lake.tables[TABLE].metadata) | {"properties": properties}
    lake.tables[TABLE] = msgspec.structs.replace(
        lake.tables[TABLE], metadata=json.dumps(metadata).encode()
    )


def test_a_table_that_did_not_change_tells_nothing_else(lake: Lake) -> None:
    """At a second look that is so of nearly all."""
    location = lake.tables[TABLE].metadata_location

    assert walked(lake, Subject("table", TABLE, location)) == [State(location, is_same=True)]


def test_a_table_that_is_gone_has_no_state(lake: Lake) -> None:
    """It was dropped after it was listed."""
    assert walked(lake, Subject("table", VIEW)) == []
    assert walked(Answers(ViewNotFound("it is gone")), Subject("view", VIEW)) == []


def test_all_places_of_a_table_are_its_own(lake: Lake) -> None:
    """Also those that its properties add."""
    changed(lake, **{"write.data.path": "s3://b/data", "write.metadata.path": "s3://b/meta"})

    told = walked(lake, Subject("table", TABLE))

    last = told[-1]
    assert isinstance(last, State)
    assert last.places == (str(lake.folder / "t"), "s3://b/data", "s3://b/meta")
    hints = {path for one in told if isinstance(one, Files) for path in one.paths if "hint" in path}
    assert hints == {f"{lake.folder}/t/metadata/version-hint.text", "s3://b/meta/version-hint.text"}


def test_where_garbage_is_not_collected_nothing_is_an_orphan(lake: Lake) -> None:
    """And all that the table refers to, perhaps in the place of another one, is still needed."""
    changed(lake, **{"gc.enabled": "false"})
    lake.write(lake.folder / "t" / "data" / "orphan")
    lake.write(lake.folder / "elsewhere" / "orphan")

    assert lake.orphans() == {str(lake.folder / "elsewhere" / "orphan")}
    assert "gc.enabled" in state_of(lake, Subject("table", TABLE)).kept


@pytest.mark.parametrize("name", ["snap-1.avro", "manifest"])
@pytest.mark.parametrize("damage", ["gone", "cut", "rubbish"])
def test_a_table_that_cannot_be_read_keeps_what_may_be_its_own(
    lake: Lake, name: str, damage: str
) -> None:
    """All in its place and all in nobody's, where it may have files too. What is in doubt is no
    orphan, and the reason is told; other tables have theirs."""
    lake.add("other", 2, STEPS, SPELLINGS[0])
    orphan = lake.write(lake.folder / "other" / "data" / "orphan")
    lake.write(lake.folder / "t" / "data" / "orphan")
    lake.write(lake.folder / "elsewhere" / "orphan")
    file = next(lake.folder.glob(f"t/{name}*"))
    data = file.read_bytes()
    file.unlink()
    if damage != "gone":
        file.write_bytes(data[: len(data) // 2] if damage == "cut" else b"rubbish")

    found, state = lake.orphans(), state_of(lake, Subject("table", TABLE))

    assert found == {orphan}
    assert state.is_in_doubt
    assert file.name in state.kept
    assert "cannot be read" in state.kept


def test_a_table_that_cannot_be_loaded_ends_it_all(lake: Lake) -> None:
    """Nobody knows where its files lie, so any file could be one."""
    subject = Subject("table", TABLE)

    with pytest.raises(BadMetadata, match=r"main\.shop\.t cannot be loaded: its file is gone"):
        walked(Answers(NotFound("its file is gone")), subject)
    with pytest.raises(Forbidden):
        walked(Answers(Forbidden("no")), subject)


def test_a_view_has_its_metadata_and_its_place() -> None:
    """It has no other files."""
    answer = {"metadata-location": "s3://b/v/1.json", "metadata": {"location": "s3://b/v"}}

    told = walked(Answers(answer), Subject("view", VIEW))
    again = walked(Answers(answer), Subject("view", VIEW, "s3://b/v/1.json"))

    assert told == [Files(["s3://b/v/1.json"]), State("s3://b/v/1.json", ("s3://b/v",))]
    assert again == [State("s3://b/v/1.json", is_same=True)]


def test_a_purge_keeps_its_places_and_what_its_table_refers_to(lake: Lake) -> None:
    """Its files are the purger's business, and the table may come back."""
    location = lake.tables[TABLE].metadata_location
    Path(location).write_bytes(lake.tables[TABLE].metadata)
    subject = Subject("purge", TABLE, location, ("s3://b/taken",))

    keys, states = references(cast("Server", None), [subject])

    state = states[subject.identity]
    assert state.places == ("s3://b/taken", str(lake.folder / "t"))
    assert state.kept == "its purge is not over"
    assert {f"file://{path}" for path in lake.referred} <= keys


def test_a_purge_that_is_nearly_over_keeps_its_places() -> None:
    """Its metadata file goes last."""
    subject = Subject("purge", TABLE, "/no/such/file", ("s3://b/t",))

    last = walked(None, subject)[-1]

    assert isinstance(last, State)
    assert (last.places, last.kept) == (("s3://b/t",), "its purge is not over")


def test_a_second_look_is_at_what_may_have_changed() -> None:
    """Of purges only new ones; and what is gone by now may have a name that came too late."""
    old, new = Subject("purge", TABLE, "m1", ("p1",)), Subject("purge", TABLE, "m2", ("p2",))
    table, view = Subject("table", TABLE), Subject("view", VIEW)
    seen = Seen(
        [table, view, old],
        {
            table.identity: State("t1", ("t",)),
            view.identity: State("v1", ("v",)),
            old.identity: State("m1", ("p1",), "purge"),
        },
    )

    again = seen.again([table, old, new])
    now = {table.identity: State("t1", is_same=True), new.identity: State("m2", ("p2",), "purge")}
    owners = list(seen.owners([table, old, new], now))

    assert again == [Subject("table", TABLE, "t1"), new]
    assert owners == [
        Owner("t", str(TABLE)),
        Owner("p1", str(TABLE), "purge"),
        Owner("p2", str(TABLE), "purge"),
        Owner("v", str(VIEW), WENT),
    ]
