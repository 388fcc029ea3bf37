"""A pipeline in a process of its own that is killed, right after its first append if nothing else
is said."""

import signal
import subprocess
import sys

from headgate.testing.headgate_server import HeadgateServer, environment
from headgate.testing.spark_session import JAVA_OPTIONS

OF_NO_CATALOG = {"export", "import"}
"""Pipelines that work on a whole metalake."""
CHILD_SECONDS_MAX = 240.0
PROGRAM = """
import os, signal, sys
from headgate.cli.pipeline import pipeline
from headgate.pipelines.appends import OnceTable
append = OnceTable.append
def killed(*arguments):
    append(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
OnceTable.append = killed
pipeline.main(sys.argv[1:])
"""


def run_killed(server: HeadgateServer, *arguments: str, program: str = PROGRAM) -> None:
    """Run a pipeline with these arguments; it must not live to see its end."""
    spark = {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": JAVA_OPTIONS}
    conf = [part for name, text in spark.items() for part in ("--conf", f"{name}={text}")]
    where = () if arguments[0] in OF_NO_CATALOG else ("--catalog", "main")
    options = ("--server", server.url, *where, "--master", "local[1]", *conf)
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments, *options],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=CHILD_SECONDS_MAX,
    )
    assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr
