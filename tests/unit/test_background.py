"""What settings say of the work in the background."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from headgate.background import _lookups, job_terms, maintenance_terms, spark_files
from headgate.errors import BadSetting
from headgate.maintenance.service import Terms
from headgate.purge.jobs import JobTerms
from headgate.purge.surveyor import Surveyor
from headgate.settings.loading import load


def test_jobs_are_worked_on_as_their_settings_say() -> None:
    """Each has a setting, also by the names that others give it."""
    assert job_terms(load()) == JobTerms()
    sets = [
        "purger.async.worker-threads=1",
        "purger.async.delete-threads-per-job=2",
        "purger.async.poll-interval-ms=300",
        "purger.async.batch-size=4",
        "purger.jdbc-async.lease-timeout-ms=5000",
        "gravitino.iceberg-rest.purger.async.max-attempts=6",
        "purger.async.backoff-base-ms=7",
        "purger.async.backoff-max-ms=8",
        "purger.async.completed-retention-hours=9",
    ]

    assert job_terms(load(sets=sets)) == JobTerms(1, 2, 300, 4, 5_000, 6, 7, 8, 9)


async def test_lookups_of_one_principal_leave_processes_to_others() -> None:
    """Those of purges and of enquiries have their own, and tenants take turns for both."""
    async with AsyncExitStack() as stack:
        lookups = _lookups(stack, lambda _roots: None, 2)
        pools = [one._pool for one in lookups if isinstance(one, Surveyor)]

    assert [pool._options.workers for pool in pools] == [2, 1]
    assert all(pool._options.is_shared for pool in pools)


def test_a_first_pause_that_is_longer_than_the_longest_is_refused() -> None:
    """Before a server starts."""
    sets = ["purger.async.backoff-base-ms=10", "purger.async.backoff-max-ms=9"]
    with pytest.raises(BadSetting) as caught:
        job_terms(load(sets=sets))

    assert str(caught.value) == (
        "purger.async.backoff-base-ms cannot be 10: purger.async.backoff-max-ms is 9, and that is "
        "the longest pause. Let the first be the smaller one"
    )


@pytest.mark.parametrize(
    ("others", "why"),
    [
        (["purger=synchronous"], "with the purger 'synchronous' a drop waits"),
        (["backend=memory:"], "no other process sees what is in memory:"),
    ],
)
def test_purges_that_nobody_else_could_do_are_not_left_to_others(
    others: list[str], why: str
) -> None:
    """A server without workers needs other processes, and a purger that does not wait."""
    sets = ["purger.async.worker-threads=0"]
    assert job_terms(load(sets=sets)).worker_threads == 0

    with pytest.raises(BadSetting, match=f"worker-threads cannot be 0: {why}"):
        job_terms(load(sets=[*sets, *others]))


def test_the_store_is_swept_as_its_settings_say() -> None:
    """A day apart, and three hours after something was lost, if nothing is said."""
    sets = ["maintenance.grace-seconds=600", "maintenance.interval-seconds=7"]

    assert maintenance_terms(load()) == Terms(10_800_000, 86_400_000)
    assert maintenance_terms(load(sets=sets)) == Terms(600_000, 7_000)


@pytest.mark.parametrize(
    ("sets", "why"),
    [
        (
            ["maintenance.grace-seconds=172801", "log.retention-days=2"],
            r"commits are kept for 2 days \(log.retention-days\)\. Let it be 172800 or less",
        ),
        (
            ["maintenance.grace-seconds=600", "commit.timeout-seconds=300"],
            r"commits may take 300 s \(commit.timeout-seconds\)\. Let it be 660 or more",
        ),
    ],
)
def test_a_grace_that_contradicts_other_times_is_refused(sets: list[str], why: str) -> None:
    """Commits under way must be young, and what was current when it began must be kept."""
    with pytest.raises(BadSetting, match=f"maintenance.grace-seconds cannot be .*: {why}"):
        maintenance_terms(load(sets=sets))


def test_where_all_commits_are_kept_any_grace_is_good() -> None:
    """A retention of 0 is for ever."""
    sets = ["maintenance.grace-seconds=31536000", "log.retention-days=0"]

    assert maintenance_terms(load(sets=sets)).grace_ms == 31_536_000_000


@pytest.mark.parametrize(
    ("where", "is_here"),
    [
        ("purger.spark.master=local[2]", True),
        ("purger.spark.master=spark://host:7077", False),
        ("purger.spark.remote=sc://host", False),
    ],
)
def test_spark_on_other_machines_gets_keys_and_no_file(
    tmp_path: Path, where: str, is_here: bool
) -> None:
    """Those that are in the file when it is asked; here it reads the file itself."""
    file = tmp_path / "keys"
    text = "[default]\naws_access_key_id = {}\naws_secret_access_key = secret\n"
    file.write_text(text.format("first"))
    files_below = spark_files(load(sets=[where, f"s3.credentials-file={file}"]))
    file.write_text(text.format("second"))

    s3 = files_below(("s3://b",)).options.s3
    assert s3 is not None
    assert (s3.access_key_id, s3.credentials_file) == (
        ("", str(file)) if is_here else ("second", "")
    )
