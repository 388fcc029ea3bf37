"""What is sent and answered while a metalake is moved, and where."""

import msgspec

from headgate.portage.manifest import RealmFacts
from headgate.portage.rows import Facts, Row

EXPORT = "/management/v1/metalakes/{metalake}/export"
IMPORTS = "/management/v1/imports"


class ExportOutline(msgspec.Struct, frozen=True):
    """A metalake at one instant."""

    id: str
    realm: RealmFacts
    pieces: list[str]
    """Each is to be read by itself; together they are all of it."""


class ExportRows(msgspec.Struct, frozen=True):
    """Some rows of a piece."""

    rows: list[Row]
    rest: str | None
    """The piece that is left; null if there is nothing left."""


class ImportRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be imported."""

    realm: RealmFacts
    facts: Facts


class ImportView(msgspec.Struct, frozen=True):
    """A metalake that is filled from an export, or was."""

    id: str
    name: str
    state: str


class RowsRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows of an export, in any order; those that are there do no harm."""

    rows: list[Row]


class FinishRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was read back, and the state that the metalake had."""

    content: str
    state: str
