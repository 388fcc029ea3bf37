"""Schemas in requests and answers: one name, in which a separator joins the levels."""

from headgate.catalog.openings import Opened
from headgate.http.gravitino.service import Gravitino
from headgate.http.request import Request
from headgate.model.names import Levels
from headgate.model.wire_names import UNIT_SEPARATOR, levels_of


def separator_of(service: Gravitino, opened: Opened) -> str:
    """What joins the levels in this catalog; where nothing is nested it is in no name."""
    return service.lake.options.separator if opened.catalog.nested else UNIT_SEPARATOR


def schema_of(service: Gravitino, opened: Opened, request: Request) -> Levels:
    """The schema in the path of a request."""
    return levels_of(request.params["schema"], separator_of(service, opened))


def split_name(service: Gravitino, opened: Opened, name: str) -> Levels:
    """The levels of a schema by its name in a body."""
    return tuple(name.split(separator_of(service, opened)))


def joined_name(service: Gravitino, opened: Opened, levels: Levels) -> str:
    """The name of a schema in an answer."""
    return separator_of(service, opened).join(levels)
