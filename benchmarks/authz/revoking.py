"""Rights that are taken on one node, while another one is asked all the time.

A request that is sent after the revoke was acknowledged must be refused. Both are timed in one
process, by one clock.
"""

import http.client
import time
from contextlib import closing
from threading import Condition, Thread
from typing import Any, NamedTuple

from benchmarks.authz.nodes import ADMIN, Node, Nodes, basic
from benchmarks.authz.people import role_name
from benchmarks.authz.scale import Scale
from benchmarks.authz.store import CATALOG, GUEST, METALAKE
from benchmarks.rest.loads import NAMESPACE
from benchmarks.stores import say

CLIENTS = 4
AFTER = 5  # so often each client asks after each change, at least
QUIET_SECONDS_MAX = 30.0
ALLOWED, REFUSED = 200, 403
RIGHTS = {"privileges": [{"name": "SELECT_TABLE", "condition": "ALLOW"}]}
ROLE = f"/api/metalakes/{METALAKE}/permissions/roles/{role_name(GUEST, 1)}"
SCHEMA = f"{ROLE}/schema/{CATALOG}.{NAMESPACE}"


class Answer(NamedTuple):
    """A request: when it was about to be sent, and what came back."""

    sent: float
    status: int


class Clients:
    """Several of them load a table again and again."""

    def __init__(self, node: Node, path: str) -> None:
        self._node = node
        self._path = path
        self._news = Condition()
        self._answers: list[list[Answer]] = [[] for _ in range(CLIENTS)]
        self._is_open = True
        self._threads = [
            Thread(target=self._load, args=(answers,), daemon=True) for answers in self._answers
        ]
        for thread in self._threads:
            thread.start()

    def sent_since(self, moment: float) -> list[int]:
        """What was answered to requests sent after it, once each client has made some."""
        with self._news:
            is_enough = self._news.wait_for(
                lambda: all(len(_since(own, moment)) >= AFTER for own in self._answers),
                QUIET_SECONDS_MAX,
            )
            assert is_enough, "the clients are answered no more"
            seen = [status for own in self._answers for status in _since(own, moment)]
            for own in self._answers:
                own.clear()
        return seen

    def close(self) -> None:
        self._is_open = False
        for thread in self._threads:
            thread.join(QUIET_SECONDS_MAX)

    def _load(self, answers: list[Answer]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._node.port, timeout=30)
        while self._is_open:
            sent = time.perf_counter()
            connection.request("GET", self._path, headers={"Authorization": basic(GUEST)})
            response = connection.getresponse()
            response.read()
            with self._news:
                answers.append(Answer(sent, response.status))
                self._news.notify()
        connection.close()


def measure_revokes(scale: Scale, nodes: Nodes, path: str) -> dict[str, Any]:
    """How many were still allowed, of all requests that were sent after a revoke."""
    taken, given = list[int](), list[int]()
    with closing(Clients(nodes.second, path)) as clients:
        for _ in range(scale.revokes):
            taken += _changed(nodes.on, "revoke", clients)
            given += _changed(nodes.on, "grant", clients)
    late, early = taken.count(ALLOWED), given.count(REFUSED)
    refused, allowed = taken.count(REFUSED), given.count(ALLOWED)
    say(f"{scale.revokes} revokes: {late} of {len(taken)} requests sent later were allowed")
    return {
        "revoke_to_refused_requests": late,
        "requests_after_revokes": len(taken),
        "grant_to_allowed_requests": early,
        "revoke_failed": len(taken + given) - (late + early + refused + allowed),
    }


def _changed(node: Node, how: str, clients: Clients) -> list[int]:
    """Give or take the right to load tables; what became of requests that were sent then."""
    node.ask(ADMIN, "PUT", f"{SCHEMA}/{how}", RIGHTS)
    return clients.sent_since(time.perf_counter())


def _since(answers: list[Answer], moment: float) -> list[int]:
    return [status for sent, status in answers if sent > moment]
