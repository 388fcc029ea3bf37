"""The documents that are served, of all routes there are."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest

from headgate.http.iceberg.routes import ROUTES as ICEBERG_ROUTES
from headgate.http.management.routes import ROUTES as MANAGEMENT_ROUTES
from headgate.http.openapi import openapi_document
from headgate.http.problems import ICEBERG, PLAIN
from headgate.http.router import Surface
from headgate.limits import BODY_BYTES_MAX, FORM_BYTES_MAX, SHORT_BODY_BYTES_MAX

ICEBERG_DOCUMENT: Any = openapi_document(
    Surface("/iceberg", ICEBERG_ROUTES, None, ICEBERG), title="T", version="1"
)
MANAGEMENT_DOCUMENT: Any = openapi_document(
    Surface("", MANAGEMENT_ROUTES, None, PLAIN), title="T", version="1"
)


def operations(document: Any) -> Iterator[tuple[str, Any]]:
    for path in document["paths"].values():
        yield from path.items()


def operation(name: str) -> Any:
    [found] = [one for _, one in operations(ICEBERG_DOCUMENT) if one["operationId"] == name]
    return found


def parameters(name: str) -> dict[str, Any]:
    return {one["name"]: one["schema"] for one in operation(name)["parameters"]}


def schema(response: Any) -> Any:
    [content] = response["content"].values()
    return content["schema"]


@pytest.mark.parametrize("document", [ICEBERG_DOCUMENT, MANAGEMENT_DOCUMENT])
def test_every_operation_says_what_it_does_and_what_it_answers(document: Any) -> None:
    """A short summary, and a type for every answer that has a body."""
    found = list(operations(document))

    assert found
    assert [one["operationId"] for _, one in found if not one["summary"]] == []
    assert [one for _, one in found if one["summary"].endswith(".")] == []
    silent = [
        (one["operationId"], status)
        for method, one in found
        for status, response in one["responses"].items()
        if method != "head" and status not in {"204", "304"} and "content" not in response
    ]
    assert silent == []


def test_all_operations_of_the_specification_are_there() -> None:
    """Thirty-three of a catalog, besides its configuration and tokens."""
    assert len(list(operations(ICEBERG_DOCUMENT))) == 35


def test_an_idempotency_key_is_a_uuid() -> None:
    """Generated clients then send one, of whatever changes something."""
    written = [route.operation for route in ICEBERG_ROUTES if route.writes]

    assert len(written) == 15
    for name in written:
        assert parameters(name)["Idempotency-Key"] == {"type": "string", "format": "uuid"}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("loadTable", {"referenced-by", "snapshots", "If-None-Match"}),
        ("loadView", {"referenced-by"}),
        ("loadCredentials", {"referenced-by", "planId"}),
        ("dropNamespace", {"cascade"}),
    ],
)
def test_parameters_of_the_specification_are_named(name: str, wanted: set[str]) -> None:
    """Also those that change nothing here, or are refused."""
    assert wanted <= set(parameters(name))


def test_tokens_are_asked_for_and_refused_as_oauth2_does() -> None:
    """A form, and errors of its own; what is no request at all is answered as elsewhere."""
    get_token = operation("getToken")
    form = get_token["requestBody"]["content"]["application/x-www-form-urlencoded"]["schema"]
    name = form["$ref"].rpartition("/")[2]
    of_400 = [
        one["$ref"].rpartition("/")[2] for one in schema(get_token["responses"]["400"])["anyOf"]
    ]

    assert "grant_type" in ICEBERG_DOCUMENT["components"]["schemas"][name]["required"]
    assert of_400 == ["OAuthError", "ErrorAnswer"]
    assert schema(get_token["responses"]["401"])["$ref"].endswith("/OAuthError")


def test_probes_answer_with_a_health_whatever_it_is() -> None:
    """They are never refused for lack of room, so nothing else has these statuses."""
    for path in ("/health", "/health/ready"):
        responses = MANAGEMENT_DOCUMENT["paths"][path]["get"]["responses"]
        assert responses["503"]["description"] == HTTPStatus(503).phrase
        assert schema(responses["503"]) == schema(responses["200"])
        assert "429" not in responses
    assert "503" not in MANAGEMENT_DOCUMENT["paths"]["/health/live"]["get"]["responses"]


def test_only_what_carries_metadata_may_be_long() -> None:
    """All other bodies are short, so that none holds up the loop."""
    long = {route.operation for route in ICEBERG_ROUTES if route.body_bytes_max == BODY_BYTES_MAX}
    others = {route.body_bytes_max for route in (*ICEBERG_ROUTES, *MANAGEMENT_ROUTES)}

    assert long == {"updateTable", "commitTransaction", "createTable", "createView", "replaceView"}
    assert others == {FORM_BYTES_MAX, SHORT_BODY_BYTES_MAX, BODY_BYTES_MAX}
