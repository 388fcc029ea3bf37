"""The virtual machine of Spark: it is launched, and it ends, whenever that has to be."""

import os
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO

from headgate.pipelines.bounds import SPARK_END_SECONDS
from headgate.pipelines.signals import undivided

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark import SparkConf

_launched: list["subprocess.Popen[bytes]"] = []
"""By this process; the last one may still run."""


def launch_machine(conf: "SparkConf", output: BinaryIO | None) -> "JavaGateway":
    """Start one and connect to it; what it says goes there.

    It is known from its first instant on, long before it can be connected to, and it has a process
    group of its own: at first it is a script, with another machine that finds out how to start it.
    """
    from pyspark import java_gateway

    def popen(*arguments: Any, **options: Any) -> "subprocess.Popen[bytes]":  # noqa: ANN401
        with undivided():
            process = subprocess.Popen(*arguments, **options)  # noqa: S603  PySpark's own
            _launched[:] = [process]
        return process

    own: dict[str, Any] = {"process_group": 0}
    if output is not None:
        own |= {"stdout": output, "stderr": output}
    before = java_gateway.Popen  # type: ignore[attr-defined]
    setattr(java_gateway, "Popen", popen)  # noqa: B010  it tells nobody what it started
    try:
        return java_gateway.launch_gateway(conf, own)  # type: ignore[no-untyped-call]
    finally:
        setattr(java_gateway, "Popen", before)  # noqa: B010  the same


def end_machine(seconds: float = SPARK_END_SECONDS) -> None:
    """End it, whatever it does; at first it is asked to, so that a cluster hears of it."""
    for process in _launched:
        _send(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        _send(process, signal.SIGKILL)  # also what is left of its group
        process.wait()


def _send(process: "subprocess.Popen[bytes]", number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # macOS says so of a group that has ended
        os.killpg(process.pid, number)
