"""What is to be done for a table, and why: by its policy and its health, and nothing else."""

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from headgate.amounts import size
from headgate.pipelines.upkeep_health import Files, Health, Manifests
from headgate.pipelines.upkeep_policy import PREFIX, Policy, Step

_UNITS = {"days": 24 * 3_600_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1_000}


class Call(msgspec.Struct, frozen=True):
    """A procedure of Iceberg, and its arguments besides the table, in Spark SQL."""

    procedure: str
    arguments: dict[str, str] = {}


class Decision(msgspec.Struct, frozen=True):
    """One thing that is to be done, or why it is not."""

    step: Step
    reason: str
    call: Call | None = None

    @property
    def is_due(self) -> bool:
        """Whether anything is to be done."""
        return self.call is not None


def decide(policy: Policy, health: Health, steps: frozenset[Step]) -> list[Decision]:
    """Every decision on these steps, in the order in which they are carried out."""
    return [one for step in Step if step in steps for one in _judged(policy, health, step)]


def _judged(policy: Policy, health: Health, step: Step) -> list[Decision]:
    if not policy.has(step):
        name = f"{PREFIX}{step}.enabled"
        place = policy.places.get(name)
        return [Decision(step, f"{name} is false ({f'by {place}' if place else 'by default'})")]
    return [one for judge in JUDGES[step] if (one := judge(policy, health))]


def _merging(policy: Policy, health: Health) -> Decision:
    """Data files: small ones are merged, worn ones are rewritten without what is deleted."""
    files = health.files or Files()
    small = size(policy.small_file_bytes)
    reasons = []
    if files.mergeable_files:
        reasons.append(
            f"{files.mergeable_files:,} of {health.data_files:,} data files are smaller than "
            f"{small}; they fit into {files.merged_files:,}"
        )
    if files.worn_files:
        reasons.append(
            f"{files.worn_files:,} of {health.data_files:,} data files have "
            f"{policy.compact_delete_files:,} delete files or more, or "
            f"{policy.compact_delete_ratio:.0%} of their rows deleted"
        )
    if reasons:
        return Decision(Step.COMPACT, "; ".join(reasons), _rewriting(policy, health, files))
    if files.small_files:
        why = "they are too few in each partition, or nearly large enough"
        there = (
            f"{files.small_files:,} of {health.data_files:,} data files are smaller than {small}"
        )
        return Decision(Step.COMPACT, f"{there}; {why}")
    return Decision(Step.COMPACT, f"data files are as they should be: {health.data_files:,}")


def _rewriting(policy: Policy, health: Health, files: Files) -> Call:
    options = {
        "target-file-size-bytes": policy.compact_target_file_size_bytes,
        "min-file-size-bytes": policy.small_file_bytes,
        "min-input-files": policy.compact_min_input_files,
        "delete-file-threshold": policy.compact_delete_files,
        "delete-ratio-threshold": policy.compact_delete_ratio,
        "remove-dangling-deletes": "true",
    }
    if files.mergeable_bytes >= policy.compact_partial_progress_bytes:
        options["partial-progress.enabled"] = "true"
    arguments = {"options": mapping(options)}
    if health.is_sorted and policy.compact_sort:
        arguments["strategy"] = text("sort")
    return Call("rewrite_data_files", arguments)


def _deletes(policy: Policy, health: Health) -> Decision | None:
    """Position deletes: superfluous ones are still listed, and those that are shared by many data
    files hide how worn these are."""
    files = health.files or Files()
    gone, all = files.superfluous_delete_files, files.position_delete_files
    shared = files.shared_deleted_records
    reasons = []
    if gone >= policy.compact_min_input_files and gone * 2 >= all:
        reasons.append(f"{gone:,} of {all:,} position delete files are superfluous")
    if health.splits_deletes and shared and shared >= health.records * policy.compact_delete_ratio:
        reasons.append(
            f"{shared:,} of {health.records:,} rows are deleted by files that many data files share"
        )
    if not reasons:
        return None
    call = Call("rewrite_position_delete_files", {"options": mapping({"rewrite-all": "true"})})
    return Decision(Step.COMPACT, "; ".join(reasons), call)


def _expiry(policy: Policy, health: Health) -> Decision:
    age = duration(policy.expire_max_snapshot_age_ms)
    if not health.gc_enabled:
        reason = "gc.enabled is false: its files may belong to others, so no snapshot expires"
        return Decision(Step.EXPIRE, reason)
    if not health.expiring_snapshots and not health.expiring_refs:
        return Decision(
            Step.EXPIRE,
            f"no snapshot of {health.snapshots:,} is older than {age} without being kept",
        )
    refs = f", {health.expiring_refs:,} branches or tags are" if health.expiring_refs else ""
    reason = (
        f"{health.expiring_snapshots:,} of {health.snapshots:,} snapshots are older than {age}"
        f"{refs}, and none is kept by a branch, a tag or the least number to keep"
    )
    arguments = {
        "older_than": timestamp(health.older_than_ms),
        "retain_last": str(policy.expire_min_snapshots_to_keep),
        "stream_results": "true",  # else all names of deleted files are gathered in the driver
    }
    return Decision(Step.EXPIRE, reason, Call("expire_snapshots", arguments))


def _manifests(policy: Policy, health: Health) -> Decision:
    kinds = {"data": health.data_manifests, "delete": health.delete_manifests}
    found = {kind: one for kind, one in kinds.items() if one is not None}
    due = [
        f"{one.count:,} {kind} manifests of {size(one.bytes)} fit into {one.merged:,}"
        for kind, one in found.items()
        if _is_worth_it(policy, one)
    ]
    if due:
        return Decision(Step.MANIFESTS, "; ".join(due), Call("rewrite_manifests"))
    if not found:
        return Decision(Step.MANIFESTS, f"fewer files than {policy.manifests_min_count:,}")
    counts = " and ".join(f"{one.count:,} {kind}" for kind, one in found.items())
    return Decision(Step.MANIFESTS, f"{counts} manifests are few enough, or large enough")


def _is_worth_it(policy: Policy, manifests: Manifests) -> bool:
    """Enough of them, and half as many at most will do."""
    return manifests.count >= policy.manifests_min_count and manifests.merged * 2 <= manifests.count


def _statistics(policy: Policy, health: Health) -> Decision:
    columns = policy.columns
    arguments = {"columns": f"array({', '.join(map(text, columns))})"} if columns else {}
    call = Call("compute_table_stats", arguments)
    if not health.records:
        return Decision(Step.STATISTICS, "it has no rows")
    if health.changed_records is None:
        return Decision(Step.STATISTICS, "there are no statistics of a snapshot it has", call)
    share = health.changed_records / health.records
    changed = f"{health.changed_records:,} of {health.records:,} rows changed since the last ones"
    is_due = share >= policy.statistics_changed_ratio
    return Decision(Step.STATISTICS, changed, call if is_due else None)


JUDGES: dict[Step, tuple[Callable[[Policy, Health], Decision | None], ...]] = {
    Step.COMPACT: (_merging, _deletes),
    Step.EXPIRE: (_expiry,),
    Step.MANIFESTS: (_manifests,),
    Step.STATISTICS: (_statistics,),
}


def duration(ms: int) -> str:
    """A time that a policy names, in the largest unit that there are two of."""
    for unit, length_ms in _UNITS.items():
        if ms >= 2 * length_ms:
            return f"{ms / length_ms:,.4g} {unit}"
    return f"{ms:,} ms"


def mapping(options: dict[str, object]) -> str:
    """Options in Spark SQL."""
    return f"map({', '.join(text(str(part)) for pair in options.items() for part in pair)})"


def text(value: str) -> str:
    """A text in Spark SQL, whatever characters it has."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def timestamp(ms: int) -> str:
    """An instant in Spark SQL, whatever time zone the session has."""
    instant = datetime.fromtimestamp(ms / 1000, UTC)
    return f"TIMESTAMP '{instant.isoformat(timespec='milliseconds')}'"
