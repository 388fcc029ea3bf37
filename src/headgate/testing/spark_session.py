"""A small local Spark with Iceberg in it: one for a whole run, as its start is what costs."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from headgate.testing.maven import spark_runtime

CATALOG_CLASS = "org.apache.iceberg.spark.SparkCatalog"
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # half the time of a short run


@contextmanager
def spark_session(folder: Path) -> Iterator[SparkSession]:
    """Start Spark on two cores, with its own files in `folder`; catalogs are added later."""
    os.environ["PYSPARK_PYTHON"] = sys.executable  # else workers take python3 of the PATH
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    settings: dict[str, bool | float | int | str | None] = {
        "spark.jars": str(spark_runtime()),
        "spark.sql.extensions": EXTENSIONS,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"{JAVA_OPTIONS} -Djava.io.tmpdir={folder}",
        "spark.local.dir": str(folder),
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("headgate")
    session = builder.config(map=settings).getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def add_catalog(session: SparkSession, name: str, url: str, warehouse: str, **options: str) -> None:
    """Let `session` know a REST catalog by a name it has not had; `_` in options stands for `-`."""
    prefix = f"spark.sql.catalog.{name}"
    session.conf.set(prefix, CATALOG_CLASS)
    chosen = {"type": "rest", "uri": url, "warehouse": warehouse, "cache-enabled": "false"}
    chosen |= {option.replace("_", "-"): text for option, text in options.items()}
    for option, text in chosen.items():
        session.conf.set(f"{prefix}.{option}", text)
