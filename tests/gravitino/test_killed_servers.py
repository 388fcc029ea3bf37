"""A server that is killed while it makes and drops metalakes leaves none that is half there."""

import itertools
import threading
from pathlib import Path

import httpx

from headgate.testing.headgate_server import HeadgateServer

MAKERS = 4
ROUNDS = 2
MADE_BEFORE_THE_END = 12


class Maker(threading.Thread):
    """Makes metalakes until the server is gone, and drops every other one."""

    def __init__(self, url: str, name: str, made: list[str], dropped: list[str]) -> None:
        super().__init__()
        self.last = ""
        """The one that nobody knows the fate of."""
        self._url = url
        self._named = name
        self._made = made
        self._dropped = dropped

    def run(self) -> None:
        with httpx.Client(base_url=self._url) as client:
            for number in itertools.count():
                self.last = f"{self._named}_{number}"
                try:
                    made = client.post("/api/metalakes", json={"name": self.last})
                    assert made.status_code == 200, made.text
                    if number % 2:
                        client.delete(f"/api/metalakes/{self.last}?force=true").raise_for_status()
                        self._dropped.append(self.last)
                    else:
                        self._made.append(self.last)
                except httpx.TransportError:
                    return


def test_what_was_made_is_there_and_what_was_dropped_is_not(tmp_path: Path) -> None:
    """What the kill cut off is whole or nowhere, and its name can be used."""
    made: list[str] = []
    dropped: list[str] = []
    cut: list[str] = []
    server = HeadgateServer(tmp_path)
    for round in range(ROUNDS):
        server.start()
        makers = [Maker(server.url, f"r{round}m{n}", made, dropped) for n in range(MAKERS)]
        before = len(made)
        for maker in makers:
            maker.start()
        while len(made) < before + MADE_BEFORE_THE_END:
            makers[0].join(0.01)
        server.kill()
        for maker in makers:
            maker.join()
        cut += [maker.last for maker in makers]
    with server, httpx.Client(base_url=server.url) as client:
        listed = client.get("/api/metalakes").json()["metalakes"]
        names = {one["name"] for one in listed}

        assert set(made) <= names
        assert names <= {*made, *cut, "default"}
        assert not names & set(dropped)
        for name in names:
            loaded = client.get(f"/api/metalakes/{name}").json()["metalake"]
            assert loaded["properties"]["in-use"] == "true"
        for name in set(cut) - names:
            assert client.post("/api/metalakes", json={"name": name}).status_code == 200
