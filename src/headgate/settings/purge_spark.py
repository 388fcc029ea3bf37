"""Settings of the purger `spark`. What Spark itself is to be told is `purger.spark.conf.*`."""

from headgate.limits import PURGE_MS_MAX
from headgate.settings.setting import Setting

SPARK_MASTER = Setting(
    name="purger.spark.master",
    type=str,
    default="local[*]",
    help="Where the purger `spark` lets Spark run: `local[N]` on this machine with N tasks at a "
    "time, `spark://HOST:PORT`, `yarn` or `k8s://…`. On a cluster every machine needs Headgate, in "
    "the same place as here, and reaches the files. Settings of Spark itself are "
    "`purger.spark.conf.NAME`.",
)
SPARK_REMOTE = Setting(
    name="purger.spark.remote",
    type=str,
    default="",
    default_help="none",
    url=True,
    help="The address of a server of Spark Connect, `sc://HOST:PORT`; then there is no master.",
)
SPARK_THRESHOLD = Setting(
    name="purger.spark.threshold-files",
    type=int,
    default=100_000,
    unit="files",
    least=0,
    help="The purger `spark` hands tables with so many data files to Spark; smaller ones "
    "are purged as with `async`. 0 means all.",
)
SPARK_IDLE = Setting(
    name="purger.spark.idle-seconds",
    type=int,
    default=300,
    unit="seconds",
    least=0,
    most=PURGE_MS_MAX // 1_000,
    help="How long the purger `spark` keeps Spark running for the next large table.",
)
SPARK_KEYS = Setting(
    name="purger.spark.hand-out-keys",
    type=bool,
    default=False,
    help="Whether `headgate pipeline purge` is handed the keys of object stores by a server that "
    "does not check rights. One that does hands them to its service admins.",
)

PURGE_SPARK = (SPARK_MASTER, SPARK_REMOTE, SPARK_THRESHOLD, SPARK_IDLE, SPARK_KEYS)
