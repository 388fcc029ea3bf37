"""Server processes from start to stop."""

import os
import signal
import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.http.conftest import DemoServer, eventually

HURRIED = "requests were still under way"


def pids_answering(server: DemoServer) -> set[int]:
    """The processes behind twenty connections."""
    with server.client(headers={"connection": "close"}) as client:
        return {client.get("/iceberg/v1/echo/a").json()["pid"] for _ in range(20)}


def total(server: DemoServer, sample: str) -> float:
    with server.client() as client:
        for line in client.get("/metrics").text.splitlines():
            if line.startswith(f"{sample} "):
                return float(line.split(" ")[1])
    return 0.0


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1][:3]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("processes", [1, 2])
def test_what_is_under_way_is_finished_before_the_server_stops(
    tmp_path: Path, number: signal.Signals, processes: int
) -> None:
    """New connections are refused meanwhile; what was opened is closed; the exit code is 0."""
    with DemoServer(tmp_path / "log", f"--processes={processes}") as server:
        assert eventually(lambda: len(pids_answering(server)) == processes)
        answers: list[int] = []

        def ask() -> None:
            with server.client() as client:
                answers.append(client.get("/iceberg/v1/slow/0.9").status_code)

        asking = threading.Thread(target=ask)
        asking.start()
        time.sleep(0.3)
        server.signal(number)
        time.sleep(0.2)
        with pytest.raises(httpx.ConnectError), server.client() as late:
            late.get("/health")
        asking.join()

        assert server.wait() == 0
        assert answers == [204]
        assert server.rest_of_output() == "closed\n" * processes
        assert HURRIED not in server.log.read_text()


def test_a_server_that_is_still_opening_stops_at_once(tmp_path: Path) -> None:
    """A database that does not answer is no reason to stay."""
    with DemoServer(tmp_path / "log", DEMO_OPENS_SLOWLY="1") as server:
        server.signal(signal.SIGTERM)

        assert server.wait() == 0
        assert server.rest_of_output() == ""
        assert server.log.read_text() == ""


def test_a_kept_connection_does_not_hold_up_the_stop(tmp_path: Path) -> None:
    """Clients keep connections for minutes."""
    with DemoServer(tmp_path / "log") as server, server.client() as client:
        client.get("/health")
        server.signal(signal.SIGTERM)

        assert server.wait() == 0
        assert HURRIED not in server.log.read_text()


@pytest.mark.parametrize("processes", [1, 2])
def test_a_port_in_use_is_said_in_one_line(tmp_path: Path, processes: int) -> None:
    """Also when the other one is a server of several processes that share a port."""
    with DemoServer(tmp_path / "first", f"--processes={processes}") as first:
        port = first.url.rpartition(":")[2]
        with DemoServer(tmp_path / "log", f"--port={port}", f"--processes={processes}") as second:
            assert second.wait() == 2
            assert second.log.read_text() == (
                f"port {port} on 127.0.0.1 cannot be used: another program listens there. "
                "Stop it, or choose another with --port; --port 0 takes any that is free\n"
            )


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1"])
def test_a_host_that_is_not_ours_is_said_in_one_line(tmp_path: Path, host: str) -> None:
    """Names that nobody knows, and addresses of others."""
    with DemoServer(tmp_path / "log", f"--host={host}") as server:
        assert server.wait() == 2
        assert f"host '{host}' cannot be used: it is no address of" in server.log.read_text()


@pytest.mark.parametrize("processes", [1, 2])
def test_what_cannot_be_opened_ends_the_program_with_the_reason(
    tmp_path: Path, processes: int
) -> None:
    """Nothing is announced, and there is no endless restarting."""
    arguments = (f"--processes={processes}",)
    with DemoServer(tmp_path / "log", *arguments, DEMO_CANNOT_OPEN="1") as server:
        assert server.url == ""
        assert server.wait() == 2
        assert server.log.read_text() == "the demo cannot open: it was told so. Do not tell\n"


def test_several_processes_share_the_work_and_their_numbers(tmp_path: Path) -> None:
    """Whoever answers adds up what all have counted."""
    sample = (
        'headgate_http_requests_total{method="GET",route="/iceberg/v1/echo/{name}",status="200"}'
    )
    with DemoServer(tmp_path / "log", "--processes=2") as server:
        assert eventually(lambda: len(pids_answering(server)) == 2)
        time.sleep(1.2)
        before = total(server, sample)
        pids_answering(server)

        assert eventually(lambda: total(server, sample) == before + 20)
        assert total(server, "headgate_processes") == 2


def test_a_process_that_dies_is_replaced(tmp_path: Path) -> None:
    """That is logged, and what it counted stays counted."""
    sample = (
        'headgate_http_requests_total{method="GET",route="/iceberg/v1/echo/{name}",status="200"}'
    )
    with DemoServer(tmp_path / "log", "--processes=2") as server:
        assert eventually(lambda: len(pids_answering(server)) == 2)
        time.sleep(1.2)
        before = total(server, sample)
        victim = min(pids_answering(server))
        os.kill(victim, signal.SIGKILL)

        assert eventually(lambda: len(pids_answering(server) - {victim}) == 2)
        assert total(server, sample) > before
        assert eventually(lambda: total(server, "headgate_processes") == 2)
        assert f"server process {victim} was killed by SIGKILL" in server.log.read_text()
        server.signal(signal.SIGTERM)
        assert server.wait() == 0


def test_processes_do_not_outlive_their_parent(tmp_path: Path) -> None:
    """A parent that is killed cannot stop them: they notice."""
    with DemoServer(tmp_path / "log", "--processes=2") as server:
        assert eventually(lambda: len(pids_answering(server)) == 2)
        pids = pids_answering(server)
        server.signal(signal.SIGKILL)

        assert eventually(lambda: not any(runs(pid) for pid in pids))


def test_the_server_is_small(tmp_path: Path) -> None:
    """The bound is that of the whole of Headgate; this is the part that HTTP takes."""
    with DemoServer(tmp_path / "log") as server:
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))

        assert int(resident.split()[1]) / 1000 < 100
