"""What executors do for exports and imports, without Spark."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import Corrupt, OutcomeUnknown
from headgate.http.management.realm_messages import ExportRows, RowsRequest
from headgate.pipelines.portage_tasks import (
    TRIES,
    Share,
    again,
    check_files,
    count_pieces,
    send_files,
    shares,
    write_pieces,
)
from headgate.portage import folder as folders
from headgate.portage.parquet import decoded
from headgate.portage.rows import Carried, Row, facts_of

ROWS = [Row("root", "names", b"%d" % n, b"\xff", (Carried(n, "table", b"\0"),)) for n in range(7)]


class FakeServer:
    """Has a piece `a` of two pages and a piece `b` of one; takes rows."""

    def __init__(self) -> None:
        self.pages: Mapping[str, ExportRows] = {
            "a": ExportRows(ROWS[:3], "a2"),
            "a2": ExportRows(ROWS[3:5], None),
            "b": ExportRows(ROWS[5:], None),
        }
        self.taken: list[Row] = []
        self.lost_answers = 0

    def get(self, path: str, piece: str) -> Any:
        assert path == "/management/v1/metalakes/17/export/rows"
        return msgspec.json.decode(msgspec.json.encode(self.pages[piece]))

    def post(self, path: str, body: object) -> Any:
        assert path == "/management/v1/imports/17/rows"
        self.taken += msgspec.json.decode(msgspec.json.encode(body), type=RowsRequest).rows
        if self.lost_answers:
            self.lost_answers -= 1
            raise OutcomeUnknown("the server did not answer")
        return {}


@given(st.lists(st.text(max_size=2), min_size=1, max_size=40), st.integers(1, 50))
def test_parts_are_shared_out_evenly_and_in_order(parts: list[str], tasks: int) -> None:
    """Each once, and no task has two more than another."""
    divided = shares(parts, tasks)

    assert [part for share in divided for part in share.parts] == parts
    assert [share.number for share in divided] == list(range(min(tasks, len(parts))))
    sizes = {len(share.parts) for share in divided}
    assert max(sizes) - min(sizes) <= 1


def test_pieces_become_files(tmp_path: Path) -> None:
    """All rows in order; a task that runs twice writes the same file."""
    share = Share(3, ["a", "b"])
    done = write_pieces(FakeServer(), "17", tmp_path, share)  # type: ignore[arg-type]

    assert write_pieces(FakeServer(), "17", tmp_path, share) == done  # type: ignore[arg-type]
    [file] = done.files
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    assert file.name.startswith("rows-03000-")
    assert list(decoded(folders.load(tmp_path, file), file.name)) == ROWS
    assert done.facts == facts_of(ROWS)
    counted = count_pieces(FakeServer(), "17", share)  # type: ignore[arg-type]
    assert counted.facts == done.facts


@pytest.fixture(name="written")
def _written(tmp_path: Path) -> Share:
    """A file of an export, as tasks are told of it."""
    done = write_pieces(FakeServer(), "17", tmp_path, Share(0, ["a", "b"]))  # type: ignore[arg-type]
    return Share(0, [msgspec.json.encode(file).decode() for file in done.files])


def test_files_are_checked_and_sent(written: Share, tmp_path: Path) -> None:
    """What is told of them is what was in them."""
    server = FakeServer()

    assert check_files(tmp_path, written).facts == facts_of(ROWS)
    assert send_files(server, "17", tmp_path, written).facts == facts_of(ROWS)  # type: ignore[arg-type]
    assert server.taken == ROWS


def test_rows_whose_answer_was_lost_are_sent_again(written: Share, tmp_path: Path) -> None:
    """They do no harm if they are there."""
    server = FakeServer()
    server.lost_answers = 2

    send_files(server, "17", tmp_path, written)  # type: ignore[arg-type]

    assert server.taken == ROWS * 3


def test_what_is_never_answered_is_given_up() -> None:
    """After some tries."""
    asked = []

    def ask() -> None:
        asked.append(1)
        raise OutcomeUnknown("the server did not answer")

    with pytest.raises(OutcomeUnknown):
        again(ask)
    assert len(asked) == TRIES


def test_a_damaged_file_is_not_sent(written: Share, tmp_path: Path) -> None:
    """Also if it was whole when it was checked."""
    [path] = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-1] + b"x")

    with pytest.raises(Corrupt, match="half-written"):
        send_files(FakeServer(), "17", tmp_path, written)  # type: ignore[arg-type]
