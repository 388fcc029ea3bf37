"""What is done for a table, and why: decided by its policy and its health alone."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.pipelines.upkeep_decisions import Decision, decide, duration, mapping, text, timestamp
from headgate.pipelines.upkeep_health import Files, Health, Manifests
from headgate.pipelines.upkeep_policy import PREFIX, Level, Policy, Step, policy_of

MB = 1 << 20
WELL = Health(
    data_files=10,
    data_bytes=10 << 30,
    records=1_000,
    delete_files=0,
    snapshots=3,
    oldest_snapshot_age_ms=1_000,
    branches_and_tags=1,
    metadata_files=4,
    gc_enabled=True,
    older_than_ms=1_700_000_000_000,
    expiring_snapshots=0,
    expiring_refs=0,
    changed_records=0,
)


def policy(**said: str) -> Policy:
    """A policy of a table's own properties; `__` stands for a dot and `_` for a dash."""
    names = {name.replace("__", ".").replace("_", "-"): text for name, text in said.items()}
    return policy_of([Level("table t", {PREFIX + name: text for name, text in names.items()})])


def health(**changes: object) -> Health:
    return msgspec.structs.replace(WELL, **changes)


def decisions(health: Health, *steps: Step, of: Policy | None = None) -> list[Decision]:
    return decide(of or policy(), health, frozenset(steps or Step))


def due(health: Health, *steps: Step, of: Policy | None = None) -> list[Decision]:
    return [one for one in decisions(health, *steps, of=of) if one.is_due]


def test_a_table_that_is_well_is_left_as_it_is() -> None:
    """Each step says why nothing is done."""
    found = decisions(WELL)

    assert [one.step for one in found] == list(Step)
    assert not any(one.is_due for one in found)
    assert all(one.reason for one in found)


def test_small_files_are_merged_and_counted() -> None:
    """The reason says how many files are how small, and what becomes of them."""
    files = Files(
        small_files=1_250,
        mergeable_files=1_204,
        mergeable_bytes=4 << 30,
        mergeable_partitions=3,
        merged_files=33,
    )
    of = policy(compact__target_file_size_bytes=str(128 * MB))

    [decision] = due(health(data_files=1_300, files=files), of=of)

    assert decision.reason == (
        "1,204 of 1,300 data files are smaller than 100.7 MB; they fit into 33"
    )
    assert decision.call
    assert decision.call.procedure == "rewrite_data_files"
    assert decision.call.arguments == {
        "options": mapping(
            {
                "target-file-size-bytes": 128 * MB,
                "min-file-size-bytes": 96 * MB,
                "min-input-files": 5,
                "delete-file-threshold": 5,
                "delete-ratio-threshold": 0.3,
                "remove-dangling-deletes": "true",
            }
        )
    }


@pytest.mark.parametrize(
    ("is_sorted", "wanted"), [(True, "true"), (True, "false"), (False, "true")]
)
def test_a_table_with_a_sort_order_keeps_it(is_sorted: bool, wanted: str) -> None:
    """Unless its policy says that merging is enough."""
    [decision] = due(
        health(files=Files(worn_files=1), is_sorted=is_sorted), of=policy(compact__sort=wanted)
    )

    assert decision.call
    assert decision.call.arguments.get("strategy") == (
        "'sort'" if is_sorted and wanted == "true" else None
    )


def test_a_large_compaction_is_committed_in_parts() -> None:
    """So that one that is killed has not worked for nothing."""
    files = Files(mergeable_files=9, mergeable_bytes=10 << 30, merged_files=1)

    [decision] = due(health(files=files))

    assert decision.call
    assert "'partial-progress.enabled', 'true'" in decision.call.arguments["options"]


def test_small_files_that_are_too_few_stay() -> None:
    """Merging two files is not worth a commit."""
    [decision] = decisions(health(files=Files(small_files=4)), Step.COMPACT)

    assert not decision.is_due
    assert decision.reason.startswith(
        "4 of 10 data files are smaller than 402.7 MB; they are too few"
    )


def test_worn_files_are_rewritten_without_their_deletes() -> None:
    """The reason names the limits that they have reached."""
    [decision] = due(health(files=Files(worn_files=2)))

    assert decision.call
    assert decision.call.procedure == "rewrite_data_files"
    assert decision.reason == (
        "2 of 10 data files have 5 delete files or more, or 30% of their rows deleted"
    )


@pytest.mark.parametrize(
    ("superfluous", "all", "is_due"),
    [(5, 10, True), (5, 5, True), (4, 4, False), (5, 11, False), (0, 0, False)],
)
def test_superfluous_delete_files_go_when_they_are_many(
    superfluous: int, all: int, is_due: bool
) -> None:
    """As many as the policy asks for, and half of all at least."""
    files = Files(position_delete_files=all, superfluous_delete_files=superfluous)

    found = due(health(files=files), Step.COMPACT)

    assert [one.call.procedure for one in found if one.call] == (
        ["rewrite_position_delete_files"] if is_due else []
    )


@pytest.mark.parametrize(
    ("shared", "splits", "is_due"), [(300, True, True), (299, True, False), (900, False, False)]
)
def test_deletes_that_data_files_share_are_split_when_they_are_many(
    shared: int, splits: bool, is_due: bool
) -> None:
    """After that it can be told which data files are worn; a table may want it otherwise."""
    files = Files(position_delete_files=1, shared_deleted_records=shared)

    found = due(health(files=files, splits_deletes=splits), Step.COMPACT)

    assert [one.call.procedure for one in found if one.call] == (
        ["rewrite_position_delete_files"] if is_due else []
    )


def test_old_snapshots_expire_by_what_the_policy_says() -> None:
    """The procedure is told the line that was drawn, and how many to keep."""
    of = policy(expire__min_snapshots_to_keep="4")

    [decision] = due(health(snapshots=40, expiring_snapshots=30, expiring_refs=2), of=of)

    assert decision.reason.startswith(
        "30 of 40 snapshots are older than 5 days, 2 branches or tags are"
    )
    assert decision.call
    assert decision.call.procedure == "expire_snapshots"
    assert decision.call.arguments == {
        "older_than": "TIMESTAMP '2023-11-14T22:13:20.000+00:00'",
        "retain_last": "4",
        "stream_results": "true",
    }


def test_no_snapshot_expires_where_files_may_belong_to_others() -> None:
    """gc.enabled=false is respected, and said."""
    [decision] = decisions(health(gc_enabled=False, expiring_snapshots=30), Step.EXPIRE)

    assert not decision.is_due
    assert "gc.enabled is false" in decision.reason


@pytest.mark.parametrize(
    ("count", "bytes", "is_due"),
    [
        (50, 50, True),
        (49, 49, False),
        (50, 25 * 8 * MB, True),
        (50, 25 * 8 * MB + 1, False),
        (1_000, 1_000 * 8 * MB, False),
    ],
)
def test_manifests_are_merged_when_half_as_many_will_do(
    count: int, bytes: int, is_due: bool
) -> None:
    """Enough of them, and small; the same for data and for deletes."""
    manifests = Manifests(count, bytes)

    for kind in ("data_manifests", "delete_manifests"):
        found = due(health(**{kind: manifests}), Step.MANIFESTS)

        assert [one.call.procedure for one in found if one.call] == (
            ["rewrite_manifests"] if is_due else []
        )


def test_manifests_of_few_files_need_no_look() -> None:
    """Where nobody looked, the reason says why."""
    [decision] = decisions(WELL, Step.MANIFESTS)

    assert decision.reason == "fewer files than 50"


@pytest.mark.parametrize(
    ("records", "changed", "is_due"),
    [(1_000, None, True), (1_000, 100, True), (1_000, 99, False), (0, None, False)],
)
def test_statistics_are_renewed_when_enough_rows_changed(
    records: int, changed: int | None, is_due: bool
) -> None:
    """A tenth of them, or all if there are none; never of a table without rows."""
    of = policy(statistics__enabled="true")

    found = due(health(records=records, changed_records=changed), Step.STATISTICS, of=of)

    assert bool(found) is is_due


def test_statistics_are_of_the_columns_that_are_named() -> None:
    """Names come as texts, whatever characters they have."""
    of = policy(statistics__enabled="true", statistics__columns="id, o'neil")

    [decision] = due(health(changed_records=None), Step.STATISTICS, of=of)

    assert decision.call
    assert decision.call.arguments == {"columns": "array('id', 'o\\'neil')"}


@pytest.mark.parametrize("step", Step)
def test_a_step_that_is_switched_off_says_who_did(step: Step) -> None:
    """Whatever the table's health is."""
    ill = health(
        files=Files(mergeable_files=9, worn_files=1, superfluous_delete_files=9),
        expiring_snapshots=3,
        data_manifests=Manifests(100, 100),
        changed_records=None,
    )
    off = policy_of([Level("table t", {}), Level("schema s", {f"{PREFIX}{step}.enabled": "false"})])

    [decision] = decisions(ill, step, of=off)

    assert not decision.is_due
    assert decision.reason == f"{PREFIX}{step}.enabled is false (by schema s)"


counts = st.integers(0, 10_000)


@given(
    st.builds(Files, *[counts] * 10),
    st.builds(Manifests, counts, counts, st.integers(1, 10_000)),
    counts,
    st.none() | counts,
    st.booleans(),
    st.sets(st.sampled_from(Step)),
)
def test_decisions_come_in_order_and_never_where_they_are_not_wanted(
    files: Files,
    manifests: Manifests,
    expiring: int,
    changed: int | None,
    gc_enabled: bool,
    wanted: set[Step],
) -> None:
    """Compaction, expiry, manifests, statistics: of these only what was asked for."""
    ill = health(
        files=files,
        data_manifests=manifests,
        expiring_snapshots=expiring,
        changed_records=changed,
        gc_enabled=gc_enabled,
    )
    found = decide(policy(statistics__enabled="true"), ill, frozenset(wanted))
    order = list(Step)
    procedures = [one.call.procedure for one in found if one.call]

    assert [one.step for one in found] == sorted((one.step for one in found), key=order.index)
    assert {one.step for one in found} == wanted
    assert all(one.reason for one in found)
    assert gc_enabled or "expire_snapshots" not in procedures


def test_ages_are_told_in_a_unit_that_suits_them() -> None:
    """Nobody counts five days in milliseconds."""
    day = 24 * 3_600_000

    assert [duration(ms) for ms in (5 * day, 36 * 3_600_000, 90_000, 5_000, 1)] == [
        "5 days",
        "36 hours",
        "90 seconds",
        "5 seconds",
        "1 ms",
    ]


def test_values_are_safe_in_sql() -> None:
    """Quotes and backslashes stay what they are."""
    assert text("o'n\\e") == "'o\\'n\\\\e'"
    assert mapping({"a": 1, "b": "x'"}) == "map('a', '1', 'b', 'x\\'')"
    assert timestamp(0) == "TIMESTAMP '1970-01-01T00:00:00.000+00:00'"
