"""What Gravitino's clients ask the server about itself, and which versions it speaks."""

import msgspec
import pytest

from headgate import __version__
from headgate.errors import BackendUnavailable
from headgate.http.gravitino.problems import GRAVITINO
from headgate.http.gravitino.routes import ROOT_ROUTES, ROUTES
from headgate.http.gravitino.server_info import SHOWN_ADMINS, SHOWN_TOKEN_PATH
from headgate.http.router import Router, Surface, Unmatched
from tests.unit.http.gravitino.control import ADMIN, Control


async def test_the_version_is_one_that_clients_accept(control: Control) -> None:
    """A client refuses a server whose version is below its own; no part may be null."""
    version = (await control.done("GET", "/api/version"))["version"]

    assert version == {
        "version": "1.3.1",
        "compileDate": "unknown",
        "gitCommit": f"headgate-{__version__}",
    }


@pytest.mark.parametrize("accept", ["", "*/*", "application/json", "text/html, */*;q=0.8"])
@pytest.mark.parametrize("version", ["", "application/vnd.gravitino.v1+json", "v2"])
async def test_versions_that_are_spoken_are_served(
    control: Control, accept: str, version: str
) -> None:
    """So is a client that names none."""
    named = version.replace("v2", "application/vnd.gravitino.v2+json")
    header = ", ".join(filter(None, (accept, named)))

    assert (await control.get("/api/version", headers={"accept": header})).status == 200


@pytest.mark.parametrize("path", ["/api/version", "/api/metalakes", "/api/authn/me"])
async def test_another_version_is_refused_everywhere(control: Control, path: str) -> None:
    """In words that its client can read."""
    header = {"accept": "application/vnd.gravitino.v3+json"}
    answer = await control.get(path, headers=header)

    assert answer.error == (406, 1006, "UnsupportedOperationException")


async def test_everybody_is_told_who_it_is(control: Control) -> None:
    """By its name."""
    assert await control.done("GET", "/api/authn/me", user="ann") == {
        "code": 0,
        "principal": "ann",
        "serviceAdmin": False,
    }
    assert (await control.done("GET", "/api/authn/me"))["principal"] == "anonymous"


async def test_the_configuration_is_a_flat_map(control: Control) -> None:
    """It has no code, and lies at the root."""
    assert (await control.get("/configs")).json == control.service.configs


async def test_service_admins_are_named_to_nobody_else(guarded: Control) -> None:
    """A console finds its own user among them, and learns of no other."""
    shown = [
        (await guarded.get("/configs", user=user)).json[SHOWN_ADMINS] for user in ("", "ann", ADMIN)
    ]
    told = [
        (await guarded.done("GET", "/api/authn/me", user=user))["serviceAdmin"]
        for user in ("ann", ADMIN)
    ]

    assert shown == ["", "", ADMIN]
    assert told == [False, True]


@pytest.mark.parametrize("url", ["", "https://lake.example.com/"])
async def test_clients_are_told_where_to_get_tokens(control: Control, url: str) -> None:
    """Where this server issues them: at the address that it has for others."""
    shown = {SHOWN_TOKEN_PATH: "/iceberg/v1/oauth/tokens"}
    control.use(msgspec.structs.replace(control.service, configs=shown, public_url=url))
    told = (await control.get("/configs", headers={"host": "here:8181"})).json

    where = url.rstrip("/") or "http://here:8181"
    assert told == shown | {"gravitino.authenticator.oauth.serverUri": where}


@pytest.mark.parametrize("path", ["/api/health", "/api/health/ready", "/api/health/live"])
async def test_a_healthy_server_is_up(control: Control, path: str) -> None:
    """With what was checked."""
    health = await control.done("GET", path)

    assert health["status"] == "UP"
    assert {check["status"] for check in health["checks"]} == {"UP"}


async def test_a_server_without_its_database_lives_and_is_not_ready(control: Control) -> None:
    """The probe says what is wrong."""

    async def fail() -> object:
        raise BackendUnavailable("the database is away")

    control.use(msgspec.structs.replace(control.service, check=fail))
    health = await control.get("/api/health")

    assert (health.status, health.json["status"]) == (503, "DOWN")
    down = [check for check in health.json["checks"] if check["status"] == "DOWN"]
    assert [check["details"]["problem"] for check in down] == ["the database is away"]
    assert (await control.get("/api/health/live")).status == 200


async def test_a_client_may_say_goodbye(control: Control) -> None:
    """Python's does so by a method of its own, and takes an error badly."""
    assert (await control.send("CLOSE", "/")).status == 204


def test_what_nobody_answers_is_unsupported_in_this_dialect() -> None:
    """Not absent: a client would take that for the object it asked about."""
    router = Router(
        [Surface("/api", ROUTES, None, GRAVITINO), Surface("", ROOT_ROUTES, None, GRAVITINO)]
    )
    for method, path in (("GET", "/api/metalakes/m/nothing"), ("POST", "/api/version")):
        match = router.match(method, path)

        assert isinstance(match, Unmatched)
        assert match.dialect is GRAVITINO
    assert GRAVITINO.unknown_path[:2] == (404, "UnsupportedOperationException")
    assert (GRAVITINO.unknown_path.code, GRAVITINO.unknown_method.code) == (1006, 1006)


def test_paths_may_end_with_a_slash() -> None:
    """Java's client writes some so."""
    router = Router([Surface("/api", ROUTES, None, GRAVITINO)])

    for route in ROUTES:
        path = f"/api{route.template}".replace("{", "x").replace("}", "x")
        assert not isinstance(router.match(route.method, f"{path}/"), Unmatched), path


def test_every_operation_names_its_rule_unless_anybody_may_ask() -> None:
    """The page of rights is made from these."""
    free = {"getVersion", "whoAmI", "gravitinoHealth", "gravitinoLive", "gravitinoReady"}

    assert {route.operation for route in ROUTES if route.rule is None} == free
