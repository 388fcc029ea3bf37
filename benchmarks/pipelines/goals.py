"""What pipelines are to reach."""

from benchmarks.report import NONE, Goal, at_least, at_most

GOALS = (
    Goal("spark_purge_files_per_second", "/s", "500,000 files, purger `spark`, from the drop on"),
    Goal("iceberg_action_files_per_second", "/s", "the same, Iceberg's deleteReachableFiles"),
    Goal("spark_purge_ratio", "x", "ours against Iceberg's", ">= 1", at_least(1)),
    Goal("purged_files_left", "", "files that a purge of ours has left", *NONE),
    Goal("orphans_seconds_500k", "s", "orphans among 500,000 files, dry run"),
    Goal("iceberg_orphans_seconds_500k", "s", "the same, Iceberg's remove_orphan_files"),
    Goal("orphans_ratio", "x", "ours against Iceberg's", "<= 1", at_most(1)),
    Goal("orphans_missed", "", "planted orphans that ours has not told", *NONE),
    Goal("sweep_rows_per_second_sqlite", "/s", "10^6 rows, half of them dead, SQLite"),
    Goal("sweep_rows_per_second_postgresql", "/s", "the same, PostgreSQL"),
    Goal("sweep_rows_left", "", "dead rows that were left", *NONE),
    Goal("export_entities_per_second", "/s", "a metalake of 100,000 tables, to files"),
    Goal("import_entities_per_second", "/s", "the same, into another server"),
    Goal("import_differs", "", "exports that differ before and after", *NONE),
    Goal("disk_sync_ms", "ms", "fsync of 4 kB on this disk"),
)
