"""The life of a job's row: what each event makes of it."""

import msgspec
import pytest

from headgate.purge.deleter import Progress
from headgate.purge.job_states import State
from headgate.purge.jobs import (
    ERROR_CHARS_MAX,
    JobRow,
    JobTerms,
    Tally,
    alive,
    beaten,
    cancelled,
    claimed,
    pause_ms,
    postponed,
    redriven,
    released,
    stage_ended,
    succeeded,
)
from headgate.purge.ledger import LEDGER_BYTES_MAX, LEDGER_MAX, Failed, LeftFiles, ledger_of
from headgate.purge.steps import LEAVES, ROOTS

TERMS = JobTerms(max_attempts=4, backoff_base_ms=100, backoff_max_ms=300)
STUCK = Failed("/w/x", "it is stuck")


def running(**fields: object) -> JobRow:
    return msgspec.structs.replace(claimed(None, "host:1", 1_000), **fields)


def test_a_claim_begins_an_attempt() -> None:
    """The first one says when the job was begun with, later ones do not."""
    first = claimed(None, "host:1", 1_000)
    again = claimed(released(postponed(first, "why", 2_000, TERMS, 0), 3_000), "host:2", 4_000)

    assert (first.state, first.attempts, first.owner) == (State.RUNNING, 1, "host:1")
    assert (again.started_ms, again.claimed_ms, again.owner) == (1_000, 4_000, "host:2")


def test_going_on_for_a_worker_that_is_gone_is_no_new_attempt() -> None:
    """Servers that are killed again and again do not use up the attempts of their jobs."""
    row = running()
    for _ in range(10):
        row = claimed(row, "host:2", 2_000)

    assert row.attempts == 1


def test_who_only_finds_what_was_known_gets_no_further() -> None:
    """Files that were missing before are counted anew by each worker; a stage that is done is
    something new."""
    row = claimed(running(deleted=5, missing=2), "host:2", 2_000)
    assert row.takeovers == 0
    for missing in (0, 1, 2):
        row = claimed(msgspec.structs.replace(row, missing=missing), "host:3", 3_000)
    assert (row.takeovers, row.taken_from) == (3, "host:3")

    row = claimed(msgspec.structs.replace(row, stages_done=LEAVES), "host:4", 4_000)
    assert row.takeovers == 0


@pytest.mark.parametrize(("chance", "share"), [(0.0, 1.0), (0.5, 0.75), (1 - 2**-53, 0.5)])
def test_pauses_double_up_to_a_limit_and_are_left_to_chance(chance: float, share: float) -> None:
    """Jobs that failed together are not tried again together."""
    rows = [
        postponed(running(attempts=attempts), "why", 0, TERMS, chance) for attempts in (1, 2, 3)
    ]

    assert [row.state for row in rows] == [State.PENDING] * 3
    assert [row.next_attempt_ms for row in rows] == pytest.approx(
        [ms * share for ms in (200, 300, 300)], abs=1
    )


@pytest.mark.parametrize("chance", [0.0, 0.25, 0.5, 0.999, 1 - 2**-53])
@pytest.mark.parametrize("attempts", [0, 1, 2, 5, 20, 100_000])
@pytest.mark.parametrize(("base", "most"), [(1, 1), (1, 3), (7, 7), (30_000, 3_600_000)])
def test_no_pause_is_longer_than_the_maximum_nor_shorter_than_its_half(
    base: int, most: int, attempts: int, chance: float
) -> None:
    """Chance stays inside of min(max, base * 2 ** attempts), however often a job failed."""
    terms = JobTerms(backoff_base_ms=base, backoff_max_ms=most)
    whole = min(most, base * 2**attempts)
    assert whole / 2 <= pause_ms(attempts, terms, chance) <= whole <= most


def test_too_many_attempts_end_in_the_dead_letters() -> None:
    """With the reason and the ledger, which may not be endless."""
    row = running(attempts=4, failed=1, ledger=(STUCK,))
    dead = postponed(row, "why" * ERROR_CHARS_MAX, 5, TERMS, 0)

    assert (dead.state, dead.next_attempt_ms, dead.ledger) == (State.DEAD_LETTER, 0, (STUCK,))
    assert len(dead.error) == ERROR_CHARS_MAX
    assert dead.error.startswith("why")


def test_an_attempt_that_is_broken_off_does_not_count() -> None:
    """The server stops: anybody may go on at once."""
    row = released(running(attempts=3, deleted=9), 2_000)

    assert (row.state, row.attempts, row.next_attempt_ms, row.deleted) == (State.PENDING, 2, 0, 9)


def test_files_are_counted_once_over_all_attempts_and_stages() -> None:
    """Ten leaves, of which the first attempt deletes six; then four roots in two attempts."""
    first = running()
    half = beaten(first, Tally().told(Progress("data", 6, 0, 60, 10)), 2_000)
    second = claimed(postponed(half, "why", 2_000, TERMS, 0), "host:2", 3_000)
    leaves = Tally().told(Progress("data", 3, 7, 30, 10))  # one was gone before anybody came
    done = stage_ended(beaten(second, leaves, 4_000), LEAVES, leaves)
    assert (done.deleted, done.missing, done.bytes, done.expected) == (9, 1, 90, 10)
    assert done.stages_done == LEAVES

    roots = Tally().told(Progress("manifests", 2, 0, 5, 4))
    third = claimed(postponed(beaten(done, roots, 5_000), "why", 5_000, TERMS, 0), "host:3", 6_000)
    last = Tally().told(Progress("last", 2, 2, 5, 4))
    whole = succeeded(stage_ended(beaten(third, last, 7_000), ROOTS, last), 7_000)
    assert (whole.deleted, whole.missing, whole.bytes, whole.expected) == (13, 1, 100, 14)
    assert (whole.state, whole.elapsed_ms) == (State.SUCCEEDED, 6_000)


def test_files_that_others_need_are_counted_once_over_all_attempts() -> None:
    """Those of leaves stay counted when roots follow; an attempt begins to count anew."""
    kept = Progress("data", 5, 0, 9, 5, kept=2)
    first = beaten(running(), Tally().told(kept).kept_outside(1), 2_000)
    second = claimed(postponed(first, "why", 2_000, TERMS, 0), "host:2", 3_000)
    leaves = Tally().told(kept).kept_outside(1)
    done = stage_ended(beaten(second, leaves, 4_000), LEAVES, leaves)
    whole = succeeded(
        beaten(done, Tally().told(Progress("last", 1, 0, 1, 1, kept=4)), 5_000), 6_000
    )

    assert (first.kept, done.kept, whole.kept) == (3, 3, 7)


def test_files_that_are_left_are_counted_once_over_all_attempts() -> None:
    """As files that others need are; each attempt looks at the table's own places anew."""
    leaves = Progress("data", left_outside=LeftFiles(2, ("/x", "/y")))
    first = beaten(running(), Tally().told(leaves).leaving(["/z"]), 2_000)
    again = Tally().told(leaves).leaving(["/z"])
    done = stage_ended(beaten(claimed(first, "host:2", 3_000), again, 4_000), LEAVES, again)
    before = beaten(
        done, Tally().told(Progress("older", unreferenced=LeftFiles(9, ("/o",)))), 5_000
    )
    roots = Progress(
        "older", left_outside=LeftFiles(1, ("/s",)), unreferenced=LeftFiles(1, ("/t",))
    )
    whole = succeeded(beaten(done, Tally().told(roots), 6_000), 6_000)

    assert first.left_outside == done.left_outside == LeftFiles(3, ("/x", "/y", "/z"))
    assert (before.left_outside, before.unreferenced.count) == (done.left_outside, 9)
    assert whole.left_outside == LeftFiles(4, ("/x", "/y", "/z", "/s"))
    assert whole.unreferenced == LeftFiles(1, ("/t",))


def test_files_outside_of_the_table_are_counted_too() -> None:
    """The child does not know of them."""
    tally = Tally().done_outside(3, [STUCK]).told(Progress("data", 5, 0, 9, 5))
    row = beaten(running(), tally, 2_000)

    assert (row.deleted, row.expected, row.failed, row.ledger) == (7, 8, 1, (STUCK,))


def test_files_that_are_deleted_once_more_are_counted_once() -> None:
    """Object stores do not tell that a file was gone, nor is it asked of files outside."""
    first = beaten(running(), Tally().done_outside(3, [STUCK]).told(Progress("data", 4)), 2_000)
    second = claimed(postponed(first, "why", 2_000, TERMS, 0), "host:2", 3_000)
    again = beaten(second, Tally().done_outside(3, []), 4_000)
    whole = beaten(second, Tally().done_outside(3, []).told(Progress("data", 5)), 4_000)

    assert [(row.deleted, row.missing) for row in (first, again, whole)] == [(6, 0), (6, 0), (8, 0)]


def test_roots_that_nothing_leads_to_any_more_are_counted() -> None:
    """Of manifests whose lists are gone the next attempt finds nothing."""
    leaves = stage_ended(
        beaten(running(), Tally().told(Progress("data", 5)), 2_000), LEAVES, Tally()
    )
    first = beaten(leaves, Tally().told(Progress("manifests", 3)), 2_000)
    second = claimed(postponed(first, "why", 2_000, TERMS, 0), "host:2", 3_000)
    again = beaten(second, Tally().told(Progress("older", 2)), 4_000)

    assert (again.deleted, again.missing) == (10, 0)


def test_old_failures_stay_on_the_ledger_until_the_stage_has_ended() -> None:
    """A worker that dies in between loses none of them; a stage that ends well leaves none."""
    old, new = Failed("/w/old", "stuck"), Failed("/w/new", "stuck")
    start = running(failed=1, ledger=(old,))
    going = beaten(start, Tally().told(Progress("data", failed=[new])), 2_000)
    assert going.ledger == (new, old)

    failed = Tally().told(Progress("data", failed=[new]))
    ended = stage_ended(going, LEAVES, failed)
    assert (ended.ledger, ended.failed, ended.stages_done) == ((new,), 1, "")
    clean = stage_ended(going, LEAVES, Tally())
    assert (clean.ledger, clean.failed, clean.stages_done) == ((), 0, LEAVES)


def test_a_ledger_has_room_for_some_failures_and_counts_all() -> None:
    """Each file is on it once."""
    many = [Failed(f"/w/{number}", "stuck") for number in range(3 * LEDGER_MAX)]
    tally = Tally().told(Progress("data", failed=many)).told(Progress("data", failed=many[:1]))
    long = [Failed(f"/{number}/" + "é" * 10_000, "stuck") for number in range(20)]

    assert tally.failed == 3 * LEDGER_MAX + 1
    assert tally.ledger == tuple(many[:LEDGER_MAX])
    assert sum(len(one.path.encode()) for one in ledger_of(long)) <= LEDGER_BYTES_MAX
    assert len(ledger_of([STUCK, STUCK])) == 1


def test_a_clock_that_goes_back_takes_no_time() -> None:
    """Another machine began with the job, and its clock was ahead."""
    assert alive(running(), 500).elapsed_ms == 0
    assert succeeded(running(), 500).elapsed_ms == 0


def test_who_has_a_cancelled_job_stays_its_owner() -> None:
    """Until he notices; a job that nobody works on has none."""
    assert cancelled(running(), "ann", 5_000).owner == "host:1"
    waiting = cancelled(postponed(running(), "why", 2_000, TERMS, 0), "ann", 5_000)
    fresh = cancelled(None, "ann", 5_000)

    assert (waiting.owner, fresh.owner) == ("", "")
    assert (fresh.state, fresh.error) == (State.CANCELLED, "cancelled by ann")


def test_a_job_that_is_redriven_has_all_its_attempts_again() -> None:
    """What it could not delete is still known."""
    dead = postponed(running(attempts=4, ledger=(STUCK,)), "why", 5, TERMS, 0)
    row = redriven(dead, 6)

    assert (row.state, row.attempts, row.next_attempt_ms) == (State.PENDING, 0, 0)
    assert (row.error, row.ledger) == ("why", (STUCK,))
