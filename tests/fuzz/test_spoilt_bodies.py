"""Bodies that are nearly right: any part of a good one is replaced by anything."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from headgate.testing.headgate_server import HeadgateServer
from tests.conftest import FULL
from tests.fuzz.lake import BODIES, made_lake

ROUNDS = 20_000 if FULL else 1_500
ANYTHING: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    -(2**63) - 1,
    1e308,
    0.5,
    "",
    "x",
    "\0",
    "\ud800",
    "é" * 600,
    "../..",
    "file:///etc/passwd",
    "a.b:c",
    [],
    {},
    [[]],
    [None],
    {"": None},
    {"type": "struct"},
    [1, "a", None],
    {"action": "add-schema"},
    "main",
    7,
    "00000000-0000-0000-0000-000000000000",
)


def test_no_spoilt_body_breaks_the_server(tmp_path: Path) -> None:
    """No answer is a 5xx, and the server still serves what it served before."""
    chance = random.Random(20261116)
    with HeadgateServer(tmp_path, "--set", "log.level=info") as server:
        made_lake(server)
        with httpx.Client(base_url=server.iceberg_url, timeout=30) as client:
            for _ in range(ROUNDS):
                path = chance.choice(list(BODIES))
                body = spoilt(BODIES[path], chance)
                answer = client.post(path, content=encoded(body))
                assert answer.status_code < 500, (path, body, answer.text)
            loaded = client.get("/v1/default.main/namespaces/ns/tables/t")
    assert loaded.status_code in {200, 404}
    assert "Traceback" not in server.said()


def spoilt(body: Any, chance: random.Random) -> Any:
    """A copy with one to three parts replaced, removed or doubled."""
    new = copy.deepcopy(body)
    for _ in range(chance.randint(1, 3)):
        places = list(_places(new))
        if not places:
            break
        holder, key = chance.choice(places)
        match chance.randrange(4):
            case 0 if isinstance(holder, dict):
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[key]))
            case 2:
                other_holder, other_key = chance.choice(places)
                holder[key] = copy.deepcopy(other_holder[other_key])
            case _:
                holder[key] = copy.deepcopy(chance.choice(ANYTHING))
    return new


def encoded(body: Any) -> bytes:
    """JSON as a careless client writes it: surrogates and all."""
    return json.dumps(body).encode("utf-8", "surrogatepass")


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        for key in list(value):
            yield value, key
            yield from _places(value[key])
    elif isinstance(value, list):
        for index in range(len(value)):
            yield value, index
            yield from _places(value[index])
