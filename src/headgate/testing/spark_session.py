"""A small local Spark with Iceberg in it: one for a whole run, as its start is what costs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.pipelines import session as sessions
from headgate.pipelines.session import SparkOptions, set_catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # half the time of a short run


@contextmanager
def spark_session(folder: Path) -> "Iterator[SparkSession]":
    """Start Spark on two cores, with its own files in `folder`; catalogs are added later."""
    conf = {
        "spark.driver.extraJavaOptions": f"{JAVA_OPTIONS} -Djava.io.tmpdir={folder}",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
    }
    # That S3 is named lets files in it be reached: a JVM gets no more jars once it runs.
    options = SparkOptions("local[2]", conf=conf, storage={"s3.region": "us-east-1"})
    with sessions.spark_session(options, "tests", iceberg=True) as session:
        yield session


def add_catalog(
    session: "SparkSession", name: str, url: str, warehouse: str, **options: str
) -> None:
    """Let `session` know a REST catalog by a name it has not had; `_` in options stands for `-`."""
    chosen = {"uri": url, "warehouse": warehouse, "cache-enabled": "false"}
    chosen |= {option.replace("_", "-"): text for option, text in options.items()}
    set_catalog(session, name, chosen)
