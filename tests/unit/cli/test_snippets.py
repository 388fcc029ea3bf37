"""What clients are told to write: it can be copied, and says who asks where that is needed."""

import ast

import pytest

from headgate.catalog.calls import CatalogName
from headgate.cli.access import access_in_words, access_warnings
from headgate.cli.snippets import snippets
from headgate.settings.loading import load

MAIN = CatalogName("lab", "main")
CLIENTS = ("pyiceberg", "Spark", "DuckDB", "Polars", "Gravitino")
OIDC = ("authentication.oidc.issuers=i=https://i/k", "authentication.oidc.audience=a")


def told(methods: str) -> dict[str, str]:
    """What is said of each client, by its name."""
    found: dict[str, str] = {}
    name = ""
    for line in snippets("http://h:1", MAIN, methods.split(",")).splitlines():
        name = line[:12].strip() or name
        is_hint = line.endswith(".") and not line[:12].strip()
        found[name] = found.get(name, "") + ("" if is_hint else line[12:] + "\n")
    return found


@pytest.mark.parametrize(
    ("methods", "proofs"),
    [
        ("simple", ("iceberg", "uri=", "AUTHORIZATION_TYPE none", "", "metalake_name")),
        ("basic,token", ("credential=", "credential=", "CLIENT_SECRET", "credential=", "Basic")),
        ("token", ("credential=", "credential=", "SECRET headgate", "credential=", "OAuth2Token")),
        ("oidc", ("token=", "token=", "TOKEN 'TOKEN'", "token=", "OAuth2TokenProvider")),
        ("basic", ("password", "auth.basic.password", "add token", "password", "BasicAuth")),
    ],
)
def test_each_client_is_told_how_to_say_who_it_is(methods: str, proofs: tuple[str, ...]) -> None:
    """By a way that the server takes; what is Python can be run as it is."""
    found = told(methods)

    assert tuple(found) == CLIENTS
    for client, proof in zip(CLIENTS, proofs, strict=True):
        assert proof in found[client], client
    for client in ("pyiceberg", "Polars", "Gravitino"):
        assert ast.parse(found[client]).body
    is_open = methods == "simple"
    assert ("USER" in str(found) or "TOKEN" in str(found)) != is_open


@pytest.mark.parametrize(
    ("sets", "words", "warnings"),
    [
        ((), "everybody is believed, rights are not checked", 0),
        (("authorization.enabled=true",), "everybody is believed, rights are checked", 2),
        (
            (
                "authentication.methods=basic,token",
                "authorization.enabled=true",
                "authorization.service-admins=ann",
            ),
            "passwords and tokens, rights are checked",
            0,
        ),
        (
            ("authentication.methods=oidc", *OIDC),
            "tokens of identity providers, rights are not checked",
            0,
        ),
    ],
)
def test_who_is_believed_is_said_in_a_line(
    sets: tuple[str, ...], words: str, warnings: int
) -> None:
    """And what may not be meant is warned of."""
    settings = load(sets=list(sets))

    assert access_in_words(settings) == words
    assert len(list(access_warnings(settings))) == warnings


def test_where_names_have_to_be_proven_only_anonymous_is_warned_of() -> None:
    """A password or a token is checked, whatever else is on."""
    methods = "authentication.methods=simple,basic,token"
    admins = "authorization.service-admins=ann"
    [warning] = access_warnings(load(sets=[methods, "authorization.enabled=true", admins]))

    assert "may call itself anonymous" in warning
