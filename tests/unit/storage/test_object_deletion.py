"""Deleting many objects at once, with a store that answers as a test says."""

from collections.abc import Sequence
from typing import Any

import obstore
import pytest
from obstore.exceptions import GenericError, NotFoundError, PermissionDeniedError

from headgate.errors import LeaseLost
from headgate.limits import DELETES_IN_FLIGHT_MAX, OBJECTS_DELETED_AT_ONCE
from headgate.storage.deletions import may_go_on
from headgate.storage.options import S3Options, StorageOptions
from headgate.storage.worker_files import OpenedFiles, WorkerFiles

HERE = "http://127.0.0.1:9"
FOLDER = "s3://bucket/t"


class Store:
    """What is asked of a bucket, and how it refuses."""

    def __init__(self) -> None:
        self.requests: list[list[str]] = []
        self.singles: list[str] = []
        self.together: Exception | None = None
        self.refusals: dict[str, Exception] = {}
        self.others: Exception | None = None
        self.there: set[str] = set()

    async def delete(self, _store: object, paths: str | Sequence[str]) -> None:
        if not isinstance(paths, str):
            self.requests.append(list(paths))
            if self.together:
                raise self.together
            return
        self.singles.append(paths)
        if error := self.refusals.get(paths, self.others):
            raise error

    async def head(self, _store: object, path: str) -> dict[str, Any]:
        if path not in self.there:
            raise NotFoundError(path)
        return {}


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    store = Store()
    monkeypatch.setattr(obstore, "delete_async", store.delete)
    monkeypatch.setattr(obstore, "head_async", store.head)
    return store


@pytest.fixture
def files() -> OpenedFiles:
    s3 = S3Options(endpoint=HERE, allow_http=True)
    return WorkerFiles(StorageOptions(s3=s3, allowed_endpoints=(HERE,)), ("s3://bucket/t",))()


def names(count: int) -> list[str]:
    return [f"{number:04}" for number in range(count)]


def test_a_thousand_objects_are_one_request(files: OpenedFiles, store: Store) -> None:
    """Of whatever folders they are: S3 takes no more at once, and knows no folders."""
    some = names(OBJECTS_DELETED_AT_ONCE)

    done = files.deletion().delete(
        {FOLDER: some, f"{FOLDER}/a b": ["1"], "s3a://bucket/t/c%20": ["2"]}, may_go_on
    )

    assert (done.deleted, done.missing, done.failed) == (len(some) + 2, [], [])
    assert [len(request) for request in store.requests] == [OBJECTS_DELETED_AT_ONCE, 2]
    assert store.requests[1] == ["t/a b/1", "t/c%20/2"]
    assert store.singles == []


def test_objects_are_asked_for_one_by_one_if_some_are_refused(
    files: OpenedFiles, store: Store
) -> None:
    """A store does not say which; what is refused and still there is told with the reason."""
    store.together = GenericError("some failed")
    denied = PermissionDeniedError("denied")
    store.refusals = {"t/0003": denied, "t/0004": denied, "t/0005": NotFoundError("gone")}
    store.there = {"t/0003"}

    done = files.deletion().delete({FOLDER: names(40)}, may_go_on)

    assert done.deleted == 39
    assert done.failed == [(f"{FOLDER}/0003", "denied")]
    assert len(store.singles) == 40


def test_a_store_that_does_not_answer_is_not_asked_a_thousand_times(
    files: OpenedFiles, store: Store
) -> None:
    """Each try takes half a minute."""
    store.together = store.others = GenericError("no answer")
    store.there = {f"t/{name}" for name in names(500)}

    done = files.deletion().delete({FOLDER: names(500)}, may_go_on)

    assert len(store.singles) == DELETES_IN_FLIGHT_MAX
    assert len(done.failed) == 500
    assert {why for _, why in done.failed} == {"no answer"}


def test_nothing_outside_of_the_roots_is_asked_for(files: OpenedFiles, store: Store) -> None:
    """Neither a sibling nor another bucket."""
    done = files.deletion().delete({"s3://bucket/t2": ["1"], "s3://other/t": ["1"]}, may_go_on)

    assert store.requests == []
    assert {location for location, _ in done.failed} == {"s3://bucket/t2/1", "s3://other/t/1"}


def test_an_end_is_heard_between_requests(files: OpenedFiles, store: Store) -> None:
    """Also while objects are asked for one by one, which takes long."""
    store.together = GenericError("some failed")
    checks: list[int] = []

    def check() -> None:
        checks.append(1)
        if len(checks) == 4:
            raise LeaseLost("over")

    with pytest.raises(LeaseLost):
        files.deletion().delete({FOLDER: names(1_000)}, check)

    assert len(store.singles) == 2 * DELETES_IN_FLIGHT_MAX
