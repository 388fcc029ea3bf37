"""Jobs as operators see them: rates, estimates, and what can still be done."""

import msgspec
import pytest

from headgate.catalog.purging import LiveJob, PurgeJob
from headgate.model.names import Identifier
from headgate.purge.job_states import State
from headgate.purge.job_views import JobSummary, LedgerLine, summary, view
from headgate.purge.jobs import JobRow
from headgate.purge.ledger import Failed

JOB = PurgeJob(
    Identifier(("shop", "europe"), "orders"),
    "s3://b/w/orders/metadata/3.json",
    object=5,
    owner=6,
    table_id=7,
    created_ms=1_000,
    created_by="ann",
    request="r-1",
)
LIVE = LiveJob("17", "lake", 18, "main", 1 << 62, JOB, ())
RUNNING = JobRow(
    State.RUNNING,
    attempts=2,
    owner="host:1",
    started_ms=2_000,
    claimed_ms=10_000,
    claimed_deleted=100,
    updated_ms=20_000,
    deleted=600,
    missing=40,
    expected=1_640,
    bytes=5_000,
)


def graced(*, begun: bool = False) -> LiveJob:
    return LIVE._replace(job=msgspec.structs.replace(JOB, not_before_ms=9_000, begun=begun))


def test_a_job_without_a_row_was_never_tried() -> None:
    """It is pending; what nobody knows yet is null."""
    seen = view(LIVE, None)

    assert (seen.id, seen.state, seen.attempts) == (str(1 << 62), "PENDING", 0)
    assert (seen.metalake, seen.catalog, seen.table) == (
        "lake",
        "main",
        ("shop", "europe", "orders"),
    )
    assert (seen.dropped_by, seen.request, seen.created_ms) == ("ann", "r-1", 1_000)
    assert seen.metadata_location == JOB.metadata_location
    assert seen.places == JOB.reserved
    assert seen.started_ms is seen.updated_ms is seen.next_attempt_ms is seen.grace_end_ms is None
    assert (seen.files_per_second, seen.estimated_end_ms, seen.ledger) == (0.0, None, ())


def test_the_rate_is_that_of_the_last_attempt() -> None:
    """Pauses between attempts, and what earlier ones did, do not count."""
    seen = view(LIVE, RUNNING)

    assert seen.files_per_second == 50.0
    assert seen.files_done == 640
    assert seen.estimated_end_ms == 20_000 + 20_000


def test_a_job_that_ended_has_the_rate_of_all_of_it() -> None:
    """The history does not say when the last attempt began."""
    seen = view(LIVE, JobRow(State.SUCCEEDED, deleted=300, elapsed_ms=2_000, updated_ms=5_000))

    assert (seen.files_per_second, seen.estimated_end_ms) == (150.0, None)


@pytest.mark.parametrize(
    "row",
    [
        JobRow(State.RUNNING, claimed_ms=5, updated_ms=5, expected=10),
        JobRow(State.RUNNING, claimed_ms=5, updated_ms=9, expected=10),
        JobRow(State.PENDING, claimed_ms=5, updated_ms=9, expected=10, deleted=3),
        JobRow(State.DEAD_LETTER, claimed_ms=5, updated_ms=9, expected=10, deleted=3),
    ],
)
def test_nobody_guesses_an_end_where_nothing_moves(row: JobRow) -> None:
    """Before the first file, and while nobody works on it."""
    assert view(LIVE, row).estimated_end_ms is None


@pytest.mark.parametrize(
    ("state", "has_ended"),
    [
        (State.PENDING, False),
        (State.RUNNING, False),
        (State.SUCCEEDED, True),
        (State.DEAD_LETTER, True),
        (State.CANCELLED, True),
    ],
)
def test_who_waits_for_a_job_knows_when_to_stop(state: State, has_ended: bool) -> None:
    """One that failed too often goes on only if somebody says so."""
    assert view(LIVE, JobRow(state)).has_ended is has_ended


def test_a_table_can_come_back_before_anything_of_it_is_deleted() -> None:
    """With a grace period, and as long as no worker has begun."""
    assert view(graced(), None).can_undrop
    assert view(graced(), None).grace_end_ms == 9_000
    assert not view(graced(begun=True), None).can_undrop
    assert not view(LIVE, None).can_undrop
    assert not view(graced(), JobRow(State.CANCELLED)).can_undrop


def test_a_list_has_all_but_the_ledger() -> None:
    """Which may be long."""
    whole = view(LIVE, JobRow(State.DEAD_LETTER, failed=1, ledger=(Failed("s3://b/x", "denied"),)))
    short = summary(whole)

    assert whole.ledger == (LedgerLine("s3://b/x", "denied"),)
    assert type(short) is JobSummary
    assert all(getattr(short, name) == getattr(whole, name) for name in short.__struct_fields__)
