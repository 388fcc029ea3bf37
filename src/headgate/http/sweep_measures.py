"""Numbers of the sweeps that this process made."""

from headgate.http.measures import Samples
from headgate.maintenance.service import Totals


def sweep_samples(totals: Totals) -> Samples:
    """What its sweeps did since it started."""
    return {
        "headgate_sweep_runs_total": totals.runs,
        "headgate_sweep_runs_failed_total": totals.failed,
        "headgate_sweep_rows_scanned_total": totals.rows_scanned,
        "headgate_sweep_rows_deleted_total": totals.rows_deleted,
    }
