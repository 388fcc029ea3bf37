"""The clients of all scenarios. Imported by Locust only: it changes sockets and threads."""

import itertools
import random
from pathlib import Path

from gevent import spawn_later
from gevent.event import Event
from locust import FastHttpUser, constant, events, task
from locust.env import Environment
from locust.exception import StopUser

from benchmarks.swarm.plan import read_plan

PLAN = read_plan()
HEAD_START_SECONDS = 1.0
"""Readers and writers are at work for so long before all is dropped."""
SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "id", "required": True, "type": "long"}]}
NOT_FOUND = 404

_all_there = Event()
_doomed = iter(PLAN.doomed)
_changed = iter(PLAN.changed)
_numbers = itertools.count(1)


class Client(FastHttpUser):
    """Asks again as soon as it is answered."""

    abstract = True
    wait_time = constant(0)

    def create(self, name: str, label: str) -> None:
        self.client.post(PLAN.tables, json={"name": name, "schema": SCHEMA}, name=label)

    def drop(self, name: str, label: str) -> None:
        """With its files; from then on it is gone for all."""
        self.client.delete(f"{PLAN.tables}/{name}?purgeRequested=true", name=label)
        with self.client.head(
            f"{PLAN.tables}/{name}", name="look for a dropped table", catch_response=True
        ) as answer:
            if answer.status_code == NOT_FOUND:
                answer.success()
            else:
                answer.failure(f"{name} is dropped, and a look answers {answer.status_code}")


class Reader(Client):
    """Loads tables."""

    fixed_count = PLAN.readers

    @task
    def load(self) -> None:
        self.client.get(f"{PLAN.tables}/{random.choice(PLAN.loaded)}", name="load")


class Committer(Client):
    """Commits to a table of its own."""

    fixed_count = len(PLAN.changed)

    def on_start(self) -> None:
        self.name = next(_changed)

    @task
    def commit(self) -> None:
        update = {"action": "set-properties", "updates": {"turn": str(next(_numbers))}}
        body = {"requirements": [], "updates": [update]}
        self.client.post(f"{PLAN.tables}/{self.name}", json=body, name="commit")


class Dropper(Client):
    """Drops one table, together with all others of its kind, and lets another have its name."""

    fixed_count = len(PLAN.doomed)

    @task
    def drop_all_at_once(self) -> None:
        name = next(_doomed)
        _all_there.wait()
        self.drop(name, "drop")
        self.create(name, "create again")
        raise StopUser


class Churner(Client):
    """Makes small tables, and drops them."""

    fixed_count = PLAN.churners

    @task
    def come_and_go(self) -> None:
        name = f"churned_{next(_numbers)}"
        self.create(name, "create")
        self.client.get(f"{PLAN.tables}/{name}", name="load a new table")
        self.drop(name, "drop a new table")


@events.spawning_complete.add_listener  # type: ignore[untyped-decorator]
def _let_go(**_more: object) -> None:
    spawn_later(HEAD_START_SECONDS, _go)


def _go() -> None:
    Path(PLAN.begun).touch()
    _all_there.set()


@events.quitting.add_listener  # type: ignore[untyped-decorator]
def _judge(environment: Environment, **_more: object) -> None:
    """A run in which not every table was dropped has failed, as has one with a wrong answer."""
    drops = environment.stats.get("drop", "DELETE")
    if drops.num_requests != len(PLAN.doomed):
        print(f"{drops.num_requests} of {len(PLAN.doomed)} tables were dropped")
        environment.process_exit_code = 1
