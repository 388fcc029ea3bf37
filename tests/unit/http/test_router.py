"""Raw paths find their routes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.http.problems import ICEBERG, PLAIN
from headgate.http.request import Request, Response
from headgate.http.router import Match, Route, Router, Surface, Unmatched

TEMPLATES = [
    "GET /v1/config",
    "POST /v1/oauth/tokens",
    "GET /v1/{prefix}/namespaces",
    "POST /v1/{prefix}/namespaces",
    "GET /v1/{prefix}/namespaces/{namespace}",
    "HEAD /v1/{prefix}/namespaces/{namespace}",
    "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "POST /v1/{prefix}/tables/rename",
]


async def handler(services: object, request: Request) -> Response:
    return Response(200)


def routes(lines: list[str]) -> list[Route]:
    pairs = [line.split(" ") for line in lines]
    return [Route(method, template, handler, template) for method, template in pairs]


ROUTER = Router(
    [
        Surface("", routes(["GET /health", "GET /health/live", "GET /"]), None, PLAIN),
        Surface("/iceberg", routes(TEMPLATES), None, ICEBERG),
    ]
)


def found(method: str, path: str) -> tuple[str, dict[str, str]]:
    match = ROUTER.match(method, path)
    assert isinstance(match, Match)
    return match.route.template, match.params


def test_parameters_stay_encoded() -> None:
    """An encoded slash belongs to the name, and so does an encoded anything."""
    path = "/iceberg/v1/m.c/namespaces/a%1Fb%2Fc/tables/t%20+%C3%A4"

    assert found("GET", path) == (
        "/v1/{prefix}/namespaces/{namespace}/tables/{table}",
        {"prefix": "m.c", "namespace": "a%1Fb%2Fc", "table": "t%20+%C3%A4"},
    )


def test_one_slash_at_the_end_is_ignored() -> None:
    """Some clients join paths carelessly; two slashes are too careless."""
    assert found("GET", "/iceberg/v1/config/")[0] == "/v1/config"
    assert found("GET", "/")[0] == "/"
    assert isinstance(ROUTER.match("GET", "/iceberg/v1/config//"), Unmatched)


def test_plain_segments_win_and_are_given_up_when_they_lead_nowhere() -> None:
    """A catalog may be named as a part of another path is."""
    assert found("GET", "/iceberg/v1/config")[0] == "/v1/config"
    assert found("GET", "/iceberg/v1/oauth/namespaces") == (
        "/v1/{prefix}/namespaces",
        {"prefix": "oauth"},
    )


@pytest.mark.parametrize(
    "path",
    ["", "/iceberg", "/iceberg/v1", "/iceberg/v1//namespaces", "//health", "/iceberg/v1/a/b/c/d/e"],
)
def test_a_path_that_nobody_knows_has_no_methods(path: str) -> None:
    """Empty segments name nothing."""
    match = ROUTER.match("GET", path)

    assert isinstance(match, Unmatched)
    assert match.allowed == ()


def test_a_known_path_with_another_method_says_which_there_are() -> None:
    """The answer can then name them."""
    assert ROUTER.match("DELETE", "/iceberg/v1/c/namespaces") == Unmatched(("GET", "POST"), ICEBERG)


def test_head_is_answered_by_get_unless_it_has_a_route_of_its_own() -> None:
    """HEAD means GET without its body."""
    head = ROUTER.match("HEAD", "/iceberg/v1/c/namespaces/a")

    assert isinstance(head, Match)
    assert head.route.method == "HEAD"
    assert found("HEAD", "/health")[0] == "/health"


def test_an_unknown_path_is_answered_in_the_dialect_it_lies_under() -> None:
    """An Iceberg client gets an Iceberg error, also for a path that does not exist."""
    unknown = [ROUTER.match("GET", path) for path in ("/iceberg/v2/x", "/icebergs", "/x")]

    assert [match.dialect for match in unknown if isinstance(match, Unmatched)] == [
        ICEBERG,
        PLAIN,
        PLAIN,
    ]


def test_two_routes_for_the_same_path_and_method_are_a_mistake() -> None:
    """Names of parameters do not tell paths apart."""
    with pytest.raises(AssertionError, match="two routes"):
        Router([Surface("", routes(["GET /a/{b}", "GET /a/{c}"]), None, PLAIN)])


@given(st.lists(st.text("ab%2F.+{}", min_size=1), min_size=2, max_size=2))
def test_any_segments_come_back_as_they_were(names: list[str]) -> None:
    """What is not a slash is part of a name."""
    namespace, table = names

    path = f"/iceberg/v1/p/namespaces/{namespace}/tables/{table}"
    assert found("GET", path)[1] == {"prefix": "p", "namespace": namespace, "table": table}
