"""A server of Spark Connect, with Iceberg's runtime in it."""

import re
from pathlib import Path

from headgate.pipelines.runtime_jar import runtime_jars
from headgate.pipelines.session import EXTENSIONS, SparkOptions
from headgate.testing.child import Child
from headgate.testing.private_server import PrivateServer, free_port
from headgate.testing.spark_session import JAVA_OPTIONS
from tests.spark.cluster import HOME, environment

START_SECONDS_MAX = 120.0
PROGRAM = "org.apache.spark.sql.connect.service.SparkConnectServer"
STARTED = re.compile(r"Spark Connect server started at")


class ConnectServer(PrivateServer):
    """On two cores of this machine; its files lie in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._child: Child | None = None
        self.port = 0

    @property
    def options(self) -> SparkOptions:
        """A session on it."""
        return SparkOptions(remote=f"sc://127.0.0.1:{self.port}")

    def start(self) -> None:
        self.port = free_port()
        conf = {
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(self.port),
            "spark.driver.extraJavaOptions": f"{JAVA_OPTIONS} -Djava.io.tmpdir={self._folder}",
            "spark.jars": ",".join(map(str, runtime_jars())),
            "spark.local.dir": str(self._folder),
            "spark.sql.extensions": EXTENSIONS,
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
        }
        command = [str(HOME / "bin" / "spark-submit"), "--master", "local[2]", "--class", PROGRAM]
        command += [word for name, text in conf.items() for word in ("--conf", f"{name}={text}")]
        # To Spark it is one of its daemons, which have their memory from elsewhere.
        told = environment(self._folder) | {"SPARK_DAEMON_MEMORY": "1g"}
        child = Child([*command, "spark-internal"], self._folder / "log", told)
        self._child = child
        child.wait_until(lambda: STARTED.search(child.said()), START_SECONDS_MAX)

    def remove(self) -> None:
        if self._child is not None:
            self._child.kill()
