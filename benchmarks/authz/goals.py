"""What authorization is to reach."""

from benchmarks.report import NONE, Goal, at_least, at_most

GOALS = (
    Goal("reads_per_authorization_warm", "", "database reads of a warm loadTable", "1", at_most(1)),
    Goal(
        "reads_per_authorization_cold", "", "of one whose rights are new here", "<= 3", at_most(3)
    ),
    Goal("reads_cold_many_grants", "", "the same, of a caller with very many grants"),
    Goal("reads_cold_process", "", "of a new process's first, which finds the table too"),
    Goal("reads_cold_process_off", "", "the same, authorization off"),
    Goal("reads_of_next_caller", "", "of another caller's first, later"),
    Goal("load_table_on_off", "x", "loadTable, on against off", ">= 0.9", at_least(0.9)),
    Goal("load_table_rps_on", "/s", "20 kB, 32 connections, one process, SQLite"),
    Goal("load_table_rps_off", "/s", "the same, authorization off"),
    Goal("load_table_anew_on_off", "x", "the same, no answer given twice"),
    Goal("load_table_anew_rps_on", "/s", "on"),
    Goal("load_table_anew_rps_off", "/s", "off"),
    Goal("list_on_off", "x", "long list, users of all kinds, anew", ">= 0.8", at_least(0.8)),
    Goal("list_rps_on", "/s", "on"),
    Goal("list_rps_off", "/s", "off"),
    Goal("list_schema_on_off", "x", "users with a right on the schema"),
    Goal("list_tables_on_off", "x", "users with a right on each table"),
    Goal("list_denied_on_off", "x", "users with one table denied"),
    Goal("list_standing_on_off", "x", "answers that stand from before"),
    Goal("list_standing_rps_on", "/s", "on"),
    Goal("list_standing_rps_off", "/s", "off"),
    Goal("rates_failed", "", "wrong answers to all these", *NONE),
    Goal("check_us_1k_policies", "us", "one check in process, 1,000 grants"),
    Goal("check_us_100k_policies", "us", "the same, 100,000 grants"),
    Goal("check_growth", "x", "100,000 against 1,000", "<= 1.2", at_most(1.2)),
    Goal("pycasbin_us", "us", "pycasbin's, 1,000 policies"),
    Goal("pycasbin_ratio", "x", "pycasbin's time against ours", ">= 1,000", at_least(1_000)),
    Goal("revoke_to_refused_requests", "", "allowed on node 2 after the revoke on 1", *NONE),
    Goal("requests_after_revokes", "", "of so many that were sent then"),
    Goal("grant_to_allowed_requests", "", "refused after the grant", *NONE),
    Goal("revoke_failed", "", "other answers", *NONE),
    Goal("disk_sync_ms", "ms", "fsync of 4 kB on this disk"),
)
