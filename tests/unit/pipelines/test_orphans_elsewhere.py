"""Orphans that tables of other catalogs need: the server is asked, and what it names is kept."""

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import OutcomeUnknown, StorageUnavailable
from headgate.limits import BODY_BYTES_MAX, FILE_LOCATION_BYTES_MAX
from headgate.pipelines import orphans_elsewhere as subject
from headgate.pipelines.orphans_elsewhere import TRIES_MAX, Elsewhere, in_questions
from headgate.pipelines.orphans_finding import schema

PATH = "/management/v1/metalakes/default/catalogs/main/references"


class FakeServer:
    """Knows what other catalogs need when it was asked often enough."""

    def __init__(self, needed: Collection[str] = (), metalake: str = "default") -> None:
        self.metalake = metalake
        self.needed = set(needed)
        self.late = 0
        """How often it does not know yet."""
        self.is_down = False
        self.asked: list[tuple[str, list[str]]] = []

    def post(self, path: str, body: Any) -> Any:
        paths: list[str] = body["paths"]
        self.asked.append((path, list(paths)))
        if self.is_down:
            raise StorageUnavailable("it is down")
        if self.late:
            self.late -= 1
            return {"referred": [], "is-known": False}
        return {"referred": [one for one in paths if one in self.needed], "is-known": True}

    @property
    def questions(self) -> list[list[str]]:
        """The paths of each."""
        return [paths for _, paths in self.asked]


def asking(server: FakeServer, catalog: str = "main") -> Elsewhere:
    return Elsewhere(server, catalog)  # type: ignore[arg-type]


def orphans(*paths: str) -> pa.Table:
    """Each has a byte more than the one before; keys are not paths."""
    rows = [
        {"key": f"key of {path}", "path": path, "size": size, "place": "/w", "table": ""}
        for size, path in enumerate(paths)
    ]
    return pa.Table.from_pylist(rows, schema=schema())


def body_bytes(paths: Sequence[str]) -> int:
    """How much is sent for a question."""
    return len(msgspec.json.encode({"paths": paths}))


def test_what_others_need_is_no_orphan() -> None:
    """The rest is as it was, in its order; what was kept is counted over all parts."""
    server = FakeServer({"/w/b", "/w/d", "/w/x", "/elsewhere"})
    elsewhere = asking(server)
    part = orphans("/w/a", "/w/b", "/w/c", "/w/d")

    left = elsewhere.without(part)
    assert left == part.take([0, 2])
    assert elsewhere.kept == 2
    assert elsewhere.without(orphans("/w/x", "/w/y"))["path"].to_pylist() == ["/w/y"]
    assert elsewhere.kept == 3
    assert server.asked == [(PATH, ["/w/a", "/w/b", "/w/c", "/w/d"]), (PATH, ["/w/x", "/w/y"])]


def test_where_nobody_needs_anything_all_are_orphans() -> None:
    """Of nothing at all nobody is asked."""
    server = FakeServer()
    elsewhere, part = asking(server), orphans("/w/a", "/w/b")

    assert elsewhere.without(part) == part
    assert elsewhere.without(orphans()) == orphans()
    assert elsewhere.kept == 0
    assert server.questions == [["/w/a", "/w/b"]]


def test_a_server_is_asked_until_it_knows() -> None:
    """The same each time, which it goes on with; until then nothing counts as not needed."""
    server = FakeServer({"/w/b"})
    elsewhere = asking(server)
    server.late = 2

    assert elsewhere.without(orphans("/w/a", "/w/b"))["path"].to_pylist() == ["/w/a"]
    assert server.questions == [["/w/a", "/w/b"]] * 3
    assert elsewhere.kept == 1


def test_all_catalogs_are_looked_at_before_the_first_orphan_is() -> None:
    """That takes longest, and is waited for; no file is asked about."""
    server = FakeServer({"/w/b"})
    elsewhere = asking(server)
    server.late = 1
    elsewhere.learn()

    assert server.asked == [(PATH, [])] * 2
    assert elsewhere.kept == 0


def test_what_is_not_known_is_not_taken_for_an_orphan() -> None:
    """A server that cannot tell ends the search."""
    server = FakeServer({"/w/b"})
    server.is_down = True

    with pytest.raises(StorageUnavailable):
        asking(server).without(orphans("/w/a", "/w/b"))


def test_many_orphans_are_asked_about_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is needed of any part is taken away."""
    monkeypatch.setattr(subject, "REFERENCES_ASKED_MAX", 2)
    server = FakeServer({"/w/a", "/w/d", "/w/e"})
    elsewhere = asking(server)
    left = elsewhere.without(orphans("/w/a", "/w/b", "/w/c", "/w/d", "/w/e"))

    assert left["path"].to_pylist() == ["/w/b", "/w/c"]
    assert elsewhere.kept == 3
    assert server.questions == [["/w/a", "/w/b"], ["/w/c", "/w/d"], ["/w/e"]]


def test_names_are_quoted() -> None:
    """Of metalakes and of catalogs, whatever is in them."""
    server = FakeServer(metalake="a/b")
    asking(server, "c d?é").learn()

    [(path, _)] = server.asked
    assert path == "/management/v1/metalakes/a%2Fb/catalogs/c%20d%3F%C3%A9/references"


@given(
    st.lists(st.text("aé😀/", min_size=1, max_size=8), max_size=30),
    st.integers(1, 6),
    st.integers(1, 40),
)
def test_questions_are_as_long_as_they_may_be(
    paths: list[str], count_max: int, bytes_max: int
) -> None:
    """All paths come once and in order; one that is too long alone is asked about alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subject, "REFERENCES_ASKED_MAX", count_max)
        patch.setattr(subject, "REFERENCES_ASKED_BYTES_MAX", bytes_max)
        questions = list(in_questions(paths))

    def fits(some: Sequence[str]) -> bool:
        return len(some) <= count_max and sum(len(one.encode()) for one in some) <= bytes_max

    assert [path for some in questions for path in some] == paths
    assert all(fits(some) or len(some) == 1 for some in questions)
    assert not any(fits([*some, more[0]]) for some, more in pairwise(questions))


@pytest.mark.parametrize("letter", ["a", '"', "é", "€", "😀"])
def test_a_server_takes_every_question(letter: str) -> None:
    """However its letters are written in JSON, and however long paths are."""
    for length in (1, 200, FILE_LOCATION_BYTES_MAX // len(letter.encode())):
        questions = list(in_questions([f"/{letter * length}"] * 11_000))

        assert max(map(body_bytes, questions)) < BODY_BYTES_MAX
        assert len(questions) > 1


class CutServer(FakeServer):
    """Does not answer the first questions, as it restarts."""

    def __init__(self, cut: int) -> None:
        super().__init__(["/w/a"])
        self.cut = cut

    def post(self, path: str, body: Any) -> Any:
        if self.cut:
            self.cut -= 1
            raise OutcomeUnknown("it did not answer")
        return super().post(path, body)


def test_a_question_that_was_lost_is_asked_again() -> None:
    """It changes nothing; but a server that never answers is given up."""
    left = asking(CutServer(TRIES_MAX - 1)).without(orphans("/w/a", "/w/b"))
    assert left["path"].to_pylist() == ["/w/b"]

    with pytest.raises(OutcomeUnknown):
        asking(CutServer(TRIES_MAX)).without(orphans("/w/a"))
