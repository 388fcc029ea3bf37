"""Which snapshots expire, and how far statistics are behind."""

from hypothesis import given
from hypothesis import strategies as st

from headgate.pipelines.upkeep_snapshots import (
    Expiring,
    Expiry,
    Metadata,
    Ref,
    Snapshot,
    Statistics,
    changed_since_statistics,
    expiring,
)

NOW = 1_000


def line(*times: int, first: int = 1) -> list[Snapshot]:
    """Snapshots of these times, each the child of the one before."""
    return [
        Snapshot(first + at, time, first + at - 1 if at else None) for at, time in enumerate(times)
    ]


def table(snapshots: list[Snapshot], **refs: Ref) -> Metadata:
    current = snapshots[-1].snapshot_id if snapshots else None
    return Metadata(2, current_snapshot_id=current, snapshots=snapshots, refs=refs)


def gone(metadata: Metadata, older_than: int, keep: int = 1) -> set[int]:
    return set(expiring(metadata, Expiry(NOW, older_than, keep)).snapshots)


def test_what_is_older_than_the_line_goes() -> None:
    """A snapshot of exactly that time stays."""
    assert gone(table(line(100, 200, 300)), 200) == {1}


def test_so_many_stay_however_old_they_are() -> None:
    """The least number of snapshots counts from the newest."""
    assert gone(table(line(100, 200, 300, 400)), 900, keep=3) == {1}


def test_the_current_snapshot_stays() -> None:
    """Also if it is old, and if the branch main is not written down."""
    assert gone(table(line(100)), 900) == set()


def test_a_tag_keeps_its_snapshot_and_none_before_it() -> None:
    """The state that was given a name can be read, and no other one."""
    metadata = table(line(100, 200, 300, 950), v1=Ref(2, "tag"))

    assert gone(metadata, 900) == {1, 3}


def test_a_branch_keeps_what_it_says_itself() -> None:
    """Its own age and number win over those of the policy."""
    patient = Ref(3, "branch", max_snapshot_age_ms=10_000)
    hoarding = Ref(3, "branch", min_snapshots_to_keep=2)
    snapshots = [*line(100, 200, 300), Snapshot(4, 950, 1)]

    assert gone(table(snapshots, audit=patient), 900) == set()
    assert gone(table(snapshots, audit=hoarding), 900) == {1}


def test_the_first_that_goes_takes_all_before_it() -> None:
    """A snapshot with a time that does not fit into its line does not save itself."""
    assert gone(table(line(950, 200, 960)), 900) == {1, 2}


def test_branches_and_tags_grow_too_old_themselves() -> None:
    """By their own limit, or by that of the table; main never does."""
    own = Ref(1, "tag", max_ref_age_ms=500)
    metadata = table(line(100, 950), old=own, kept=Ref(1, "tag"), main=Ref(2, "branch"))

    assert expiring(metadata, Expiry(NOW, 900, 1)) == Expiring(frozenset(), frozenset({"old"}))

    strict = Metadata(
        2,
        current_snapshot_id=2,
        snapshots=metadata.snapshots,
        refs=metadata.refs,
        properties={"history.expire.max-ref-age-ms": "500"},
    )

    assert expiring(strict, Expiry(NOW, 900, 1)) == Expiring(
        frozenset({1}), frozenset({"old", "kept"})
    )


def test_what_no_branch_leads_to_goes_when_it_is_old() -> None:
    """Staged and rolled back snapshots have the age of all others."""
    snapshots = [*line(100, 950), Snapshot(8, 890, 1), Snapshot(9, 910, 1)]
    metadata = Metadata(2, current_snapshot_id=2, snapshots=snapshots)

    assert gone(metadata, 900) == {1, 8}


@given(
    st.lists(st.integers(0, NOW), max_size=12).map(sorted),
    st.integers(0, NOW),
    st.integers(1, 5),
    st.dictionaries(st.sampled_from("abc"), st.tuples(st.integers(1, 12), st.booleans())),
)
def test_an_expiry_leaves_nothing_for_the_next(
    times: list[int], older_than: int, keep: int, named: dict[str, tuple[int, bool]]
) -> None:
    """What stays, stays; the current snapshot and all that is named are among it."""
    snapshots = line(*times)
    ids = {one.snapshot_id for one in snapshots}
    refs = {
        name: Ref(id, "branch" if is_branch else "tag")
        for name, (id, is_branch) in named.items()
        if id in ids
    }
    metadata = table(snapshots, **refs)
    away = gone(metadata, older_than, keep)
    left = [one for one in snapshots if one.snapshot_id not in away]

    assert gone(table(left, **refs), older_than, keep) == set()
    assert not away & {ref.snapshot_id for ref in refs.values()}
    assert all(one.timestamp_ms < older_than for one in snapshots if one.snapshot_id in away)
    assert len(left) >= min(keep, len(snapshots))


def test_statistics_are_behind_by_the_rows_that_changed() -> None:
    """A rewrite changes no row, so it does not make statistics older."""
    snapshots = [
        Snapshot(1, 1, None, {"operation": "append", "added-records": "100"}),
        Snapshot(2, 2, 1, {"operation": "append", "added-records": "7", "deleted-records": "2"}),
        Snapshot(3, 3, 2, {"operation": "replace", "added-records": "107"}),
        Snapshot(4, 4, 3, {"operation": "delete", "added-position-deletes": "5"}),
    ]
    metadata = Metadata(2, current_snapshot_id=4, snapshots=snapshots, statistics=[Statistics(1)])

    assert changed_since_statistics(metadata) == 14


def test_statistics_of_another_line_are_none() -> None:
    """What was counted on a branch says nothing of the table, nor does what has expired."""
    snapshots = [*line(1, 2), Snapshot(9, 3, 1)]

    assert (
        changed_since_statistics(
            Metadata(2, current_snapshot_id=2, snapshots=snapshots, statistics=[Statistics(9)])
        )
        is None
    )
    assert changed_since_statistics(table([])) is None
