"""Documents say what the routes do."""

from collections.abc import Iterator
from typing import Any

import msgspec

from headgate.errors import RequirementFailed, TableExists, TableNotFound
from headgate.http.openapi import openapi_document
from headgate.http.problems import ICEBERG
from headgate.http.request import Request, Response
from headgate.http.router import Parameter, Route, Surface


class Column(msgspec.Struct, rename="kebab"):
    column_name: str


class Table(msgspec.Struct):
    name: str
    columns: list[Column] = []


async def handler(services: object, request: Request) -> Response:
    return Response(200)


ROUTES = [
    Route(
        "POST",
        "/v1/{prefix}/tables",
        handler,
        "createTable",
        "Make a table",
        ("tables",),
        parameters=(Parameter("page", int), Parameter("x-thing", place="header", required=True)),
        request=Table,
        response=Table,
        errors=(TableExists, RequirementFailed),
    ),
    Route(
        "GET",
        "/v1/{prefix}/tables",
        handler,
        "load",
        response=list[Table],
        other_statuses=(304,),
    ),
    Route("HEAD", "/v1/{prefix}/tables", handler, "exists", status=204, errors=(TableNotFound,)),
]
DOCUMENT: Any = openapi_document(Surface("/iceberg", ROUTES, None, ICEBERG), title="T", version="1")
PATH: Any = DOCUMENT["paths"]["/iceberg/v1/{prefix}/tables"]


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def test_every_reference_leads_somewhere() -> None:
    """Types that types refer to are components, too."""
    components = {f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]}

    assert set(references(DOCUMENT)) <= components
    assert "column-name" in DOCUMENT["components"]["schemas"]["Column"]["properties"]


def test_parameters_are_those_of_the_template_and_those_named() -> None:
    """Segments are required and never empty."""
    parameters = PATH["post"]["parameters"]

    assert [(item["name"], item["in"], item["required"]) for item in parameters] == [
        ("prefix", "path", True),
        ("page", "query", False),
        ("x-thing", "header", True),
    ]
    assert parameters[0]["schema"] == {"type": "string", "minLength": 1}
    assert parameters[1]["schema"] == {"type": "integer"}


def test_bodies_are_described_by_their_types() -> None:
    """What a handler decodes is what clients are told to send."""
    schema = PATH["post"]["requestBody"]["content"]["application/json"]["schema"]

    assert schema == {"$ref": "#/components/schemas/Table"}
    assert "requestBody" not in PATH["get"]


def test_an_answer_may_be_one_of_several_objects() -> None:
    """Of types that nothing tells apart but their members."""
    route = Route("GET", "/both", handler, "both", response=Table | Column)
    document = openapi_document(Surface("", [route], None, ICEBERG), title="T", version="1")

    content = document["paths"]["/both"]["get"]["responses"]["200"]["content"]
    assert content["application/json"]["schema"] == {
        "anyOf": [{"$ref": "#/components/schemas/Table"}, {"$ref": "#/components/schemas/Column"}]
    }


def test_errors_are_grouped_by_status() -> None:
    """Those of the route, and those that every route has."""
    responses = PATH["post"]["responses"]

    assert sorted(responses) == ["200", "400", "409", "429", "500", "503"]
    assert responses["409"]["description"] == "AlreadyExistsException, CommitFailedException"
    schema = responses["409"]["content"]["application/json"]["schema"]
    assert schema == {"$ref": "#/components/schemas/ErrorAnswer"}


def test_an_answer_without_a_body_has_no_content() -> None:
    """204, 304, and all that HEAD answers."""
    assert PATH["head"]["responses"]["204"] == {"description": "No Content"}
    assert PATH["head"]["responses"]["404"] == {"description": "NoSuchTableException"}
    assert PATH["get"]["responses"]["304"] == {"description": "Not Modified"}


def test_the_document_is_json() -> None:
    """It is served as it is."""
    assert msgspec.json.decode(msgspec.json.encode(DOCUMENT)) == DOCUMENT
