"""Events: what they say, who hears of them, and how they look in the log."""

import json
import logging
from uuid import uuid4

import msgspec
import pytest

from headgate.catalog.events import (
    Event,
    EventBus,
    PurgeCompleted,
    PurgeFailed,
    PurgeStarted,
    TableDropped,
    facts_of,
    log_event,
)
from headgate.catalog.purging import LiveJob, PurgeJob
from headgate.cli.logs import JsonLines
from headgate.model.names import Identifier
from tests.unit.catalog.lakes import Node

T = Identifier(("shop", "europe"), "orders")
DROPPED = TableDropped(
    at_ms=1_000,
    metalake="default",
    catalog="main",
    table=T,
    job=7,
    principal="ann",
    request="r-1",
    purge_requested=True,
)


def broken(_event: Event) -> None:
    raise RuntimeError("no")


def test_every_listener_hears_of_an_event_with_the_name_of_the_server() -> None:
    """In the order in which they were given; who publishes need not know where it runs."""
    heard: list[tuple[int, Event]] = []
    bus = EventBus("host:1", [lambda event: heard.append((1, event))])
    bus.listeners.append(lambda event: heard.append((2, event)))
    bus.publish(DROPPED)

    assert [number for number, _ in heard] == [1, 2]
    assert {event.server for _, event in heard} == {"host:1"}
    assert heard[0][1].table == T


def test_the_name_of_another_server_stays() -> None:
    """An event that tells where it happened is told as it is."""
    heard: list[Event] = []
    started = PurgeStarted(at_ms=1, metalake="m", catalog="c", table=T, server="there:2")
    EventBus("here:1", [heard.append]).publish(started)

    assert heard == [started]


def test_a_listener_that_fails_does_not_keep_others_from_hearing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nor who publishes from going on; the log has the reason."""
    heard: list[Event] = []
    EventBus("host:1", [broken, heard.append]).publish(DROPPED)

    assert len(heard) == 1
    [record] = caplog.records
    assert (record.levelname, record.name) == ("ERROR", "headgate.events")
    assert record.getMessage() == "a listener failed at the event 'table dropped'"
    assert "RuntimeError: no" in (record.exc_text or "")


def test_a_listener_may_leave_while_it_is_told() -> None:
    """Who comes after it is told nevertheless."""
    heard: list[Event] = []
    bus = EventBus("host:1")

    def once(_event: Event) -> None:
        bus.listeners.remove(once)

    bus.listeners += [once, heard.append]
    bus.publish(DROPPED)
    bus.publish(DROPPED)

    assert len(heard) == 2


def test_events_of_a_job_say_which_table_it_is_of_and_who_dropped_it() -> None:
    """However much later they happen."""
    job = PurgeJob(T, "file:/w/m.json", created_by="ann", request="r-1")
    live = LiveJob("1", "default", 5, "main", 7, job, ("file:/w",))

    started = PurgeStarted(**facts_of(live, 1_000))
    assert TableDropped(**msgspec.structs.asdict(started), purge_requested=True) == DROPPED


def test_an_event_is_a_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """As text it is read by people, as JSON by machines."""
    caplog.set_level(logging.INFO)
    EventBus("host:1", [log_event]).publish(DROPPED)

    [record] = caplog.records
    assert record.getMessage() == (
        "table dropped: 'default.main.shop.europe.orders' job=7 principal='ann' request='r-1' "
        "server='host:1' purge_requested=True"
    )
    line = json.loads(JsonLines().format(record))
    assert {name: line[name] for name in DROPPED.fields()} == {
        "event": "table dropped",
        "at_ms": 1_000,
        "metalake": "default",
        "catalog": "main",
        "table": ["shop", "europe", "orders"],
        "job": 7,
        "principal": "ann",
        "request": "r-1",
        "purge_requested": True,
    }
    assert (line["server"], line["logger"], line["level"]) == ("host:1", "headgate.events", "info")


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (
            PurgeCompleted(
                at_ms=2, metalake="m", catalog="c", table=T, elapsed_ms=3, files=0, bytes=0
            ),
            "purge completed: 'm.c.shop.europe.orders' elapsed_ms=3 files=0 bytes=0",
        ),
        (
            PurgeFailed(at_ms=2, metalake="m", catalog="c", table=T, reason="no\n", attempts=5),
            "purge failed: 'm.c.shop.europe.orders' reason='no\\n' attempts=5",
        ),
        (
            PurgeStarted(at_ms=2, metalake="m", catalog="c", table=T),
            "purge started: 'm.c.shop.europe.orders'",
        ),
    ],
)
def test_what_is_not_known_is_not_said(event: Event, told: str) -> None:
    """A number that is nought is known; a text stays on its line and in its quotes."""
    assert str(event) == told


@pytest.mark.parametrize("purge", [False, True])
async def test_a_drop_is_told_of_with_what_was_asked_for(node: Node, purge: bool) -> None:
    """Before it is answered; who asked is known."""
    heard: list[Event] = []
    node.lake.events.listeners.append(heard.append)
    await node.table("orders")
    await node.delete(f"namespaces/a/tables/orders?purgeRequested={purge}", user="ann")

    [dropped] = heard
    assert isinstance(dropped, TableDropped)
    assert dropped.purge_requested is purge
    assert (dropped.metalake, dropped.catalog, dropped.table) == (
        "default",
        "main",
        Identifier(("a",), "orders"),
    )
    assert (dropped.principal, dropped.at_ms) == ("ann", node.lake.now_ms())
    assert bool(dropped.job) is purge


async def test_a_drop_that_is_repeated_or_refused_is_told_of_once(node: Node) -> None:
    """A second delivery drops nothing, and what is not there cannot be dropped."""
    heard: list[Event] = []
    node.lake.events.listeners.append(heard.append)
    await node.table("orders")
    key = uuid4()
    for _ in range(2):
        answer = await node.delete("namespaces/a/tables/orders", key=key)
        assert answer.status == 204
    assert (await node.delete("namespaces/a/tables/orders")).status == 404

    assert len(heard) == 1


async def test_a_listener_that_fails_does_not_keep_a_table(node: Node) -> None:
    """The drop is answered as if nobody had listened."""
    node.lake.events.listeners.append(broken)
    await node.table("orders")

    assert (await node.delete("namespaces/a/tables/orders")).status == 204
