"""Settings of the sweep, which deletes from the store what nothing refers to any more."""

from headgate.limits import (
    SWEEP_GRACE_SECONDS,
    SWEEP_GRACE_SECONDS_MIN,
    SWEEP_INTERVAL_SECONDS,
    SWEEP_SECONDS_MAX,
)
from headgate.settings.setting import Setting

MAINTENANCE_ENABLED = Setting(
    name="maintenance.enabled",
    type=bool,
    default=True,
    help="Whether servers, and `headgate work`, sweep the store by themselves. Without it, run "
    "`headgate maintenance run` now and then.",
)
MAINTENANCE_INTERVAL = Setting(
    name="maintenance.interval-seconds",
    type=int,
    default=SWEEP_INTERVAL_SECONDS,
    unit="seconds",
    least=1,
    most=SWEEP_SECONDS_MAX,
    help="How long after the beginning of a sweep the next one begins, on whichever server.",
)
MAINTENANCE_GRACE = Setting(
    name="maintenance.grace-seconds",
    type=int,
    default=SWEEP_GRACE_SECONDS,
    unit="seconds",
    least=SWEEP_GRACE_SECONDS_MIN,
    most=SWEEP_SECONDS_MAX,
    help="How long something is kept after the last reference to it was lost. No longer than "
    "`log.retention-days`.",
)
MAINTENANCE = (MAINTENANCE_ENABLED, MAINTENANCE_INTERVAL, MAINTENANCE_GRACE)
