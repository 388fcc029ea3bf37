"""What hard deletion is to reach."""

from benchmarks.report import NONE, Goal, at_least, at_most

GOALS = (
    Goal("drop_p99_ms_small", "ms", "DELETE with purge, 10 files", "< 50", lambda ms: ms < 50),
    Goal("drop_p99_ms_500k", "ms", "the same, 500,000 files", "< 50", lambda ms: ms < 50),
    Goal("drop_ratio", "x", "500,000 against 10 files", "<= 1.5", at_most(1.5)),
    Goal("drop_p50_ms_small", "ms", "half of them, 10 files"),
    Goal("drop_p50_ms_500k", "ms", "half of them, 500,000 files"),
    Goal("drop_ms_real", "ms", "the slowest drop of a table that is purged at once"),
    Goal(
        "drop_p99_ms_concurrent",
        "ms",
        "50 at once, 50,000 files each, 32 readers",
        "< 200",
        lambda ms: ms < 200,
    ),
    Goal("drop_failed", "", "wrong answers to all these", *NONE),
    Goal("purge_files_per_second", "/s", "500,000 files in memory, from the drop to the last file"),
    Goal("iceberg_files_per_second", "/s", "the same, Iceberg's reference server"),
    Goal("rm_files_per_second", "/s", "the same, `rm -r`"),
    Goal("purge_iceberg_ratio", "x", "ours against Iceberg's", ">= 2", at_least(2)),
    Goal("purge_rm_share", "x", "ours against `rm -r`"),
    Goal(
        "serving_slowdown", "x", "loadTable during a purge against before", ">= 0.7", at_least(0.7)
    ),
    Goal("serving_rps_before", "/s", "32 connections, before"),
    Goal("serving_rps_during", "/s", "the same, during the purge"),
    Goal("serving_failed", "", "wrong answers to these", *NONE),
    Goal(
        "worker_rss_mb_500k",
        "MB",
        "most memory of a worker and its reader",
        "<= 300",
        at_most(300),
    ),
    Goal("files_left", "", "files that were not deleted in the end", *NONE),
    Goal("disk_sync_ms", "ms", "fsync of 4 kB on this disk"),
)
