"""OpenAPI 3.1 documents, made from tables of routes: so they cannot disagree with the server."""

from collections.abc import Mapping
from http import HTTPStatus
from types import UnionType
from typing import Any, get_args

import msgspec

from headgate.errors import BadRequest, HeadgateError, Overloaded, Unavailable
from headgate.http.problems import Dialect
from headgate.http.router import Parameter, Route, Surface

EVERYWHERE: tuple[type[HeadgateError], ...] = (BadRequest, Overloaded, Unavailable, HeadgateError)
"""Errors that any route can answer with."""
LIMITED = (Overloaded, Unavailable)
"""Those of requests that are too many or take too long: probes have no such limits."""
NO_CONTENT = 204
Json = dict[str, Any]


def openapi_document(surface: Surface, *, title: str, version: str, description: str = "") -> Json:
    """The document of one surface."""
    schemas, components = _schemas(surface)
    paths: Json = {}
    for route in surface.routes:
        path = paths.setdefault(surface.prefix + route.template, {})
        path[route.method.lower()] = _operation(route, surface.dialect, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version, "description": description},
        "paths": paths,
        "components": {"schemas": components},
    }


def _schemas(surface: Surface) -> tuple[dict[Any, Json], Json]:
    """The schema of each type that routes name, and the components that these refer to."""
    types: list[Any] = [surface.dialect.body_type, str]
    for route in surface.routes:
        types += [route.request, route.response, *route.answers.values()]
        types += [item.type for item in route.parameters]
    unions = {type: get_args(type) for type in types if isinstance(type, UnionType)}
    single = [one for type in types for one in unions.get(type, (type,))]
    wanted = list(dict.fromkeys(type for type in single if type is not None))
    found, components = msgspec.json.schema_components(
        wanted, ref_template="#/components/schemas/{name}"
    )
    schemas: dict[Any, Json] = dict(zip(wanted, found, strict=True))
    for type, members in unions.items():  # msgspec knows none of objects without tags
        schemas[type] = {"anyOf": [schemas[member] for member in members]}
    return schemas, components


def _operation(route: Route, dialect: Dialect, schemas: Mapping[Any, Json]) -> Json:
    template = [Parameter(name, place="path", required=True) for name in route.names]
    operation: Json = {
        "operationId": route.operation,
        "summary": route.summary,
        "tags": list(route.tags),
        "parameters": [_parameter(item, schemas) for item in (*template, *route.parameters)],
        "responses": _responses(route, dialect, schemas),
    }
    if route.request is not None:
        content = {route.request_content: {"schema": schemas[route.request]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _parameter(parameter: Parameter, schemas: Mapping[Any, Json]) -> Json:
    schema = dict(schemas[parameter.type])
    if parameter.place == "path":
        schema["minLength"] = 1
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required,
        "description": parameter.description,
        "schema": schema,
    }


def _responses(route: Route, dialect: Dialect, schemas: Mapping[Any, Json]) -> Json:
    responses: Json = {}
    for status in (route.status, *route.other_statuses):
        responses[str(status)] = {"description": HTTPStatus(status).phrase}
    if route.response is not None:
        content = {route.content: {"schema": schemas[route.response]}}
        responses[str(route.status)]["content"] = content
    for status, type in route.answers.items():
        content = {"application/json": {"schema": schemas[type]}}
        responses[str(status)] = {"description": HTTPStatus(status).phrase, "content": content}
    for status, types in sorted(_error_types(route, dialect).items()):
        response = responses.setdefault(str(status), {"description": ""})
        response["description"] = ", ".join(filter(None, (response["description"], *types)))
        if route.method != "HEAD":
            error = schemas[dialect.body_type]
            own = [schemas[route.answers[status]]] if status in route.answers else []
            schema = {"anyOf": [*own, error]} if own else error
            response["content"] = {"application/json": {"schema": schema}}
    return responses


def _error_types(route: Route, dialect: Dialect) -> dict[int, list[str]]:
    """The types of errors that this route answers with, by status."""
    found: dict[int, list[str]] = {}
    for cls in (*EVERYWHERE, *route.errors):
        if route.probe and cls in LIMITED:
            continue
        problem = dialect.problem_of(cls)
        types = found.setdefault(problem.status, [])
        if problem.type not in types:
            types.append(problem.type)
    return found
