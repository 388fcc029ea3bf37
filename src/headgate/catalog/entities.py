"""What the kernel stores for a catalog: entries of the name index, and the objects they name."""

from enum import IntEnum

import msgspec

from headgate.catalog.identity_entities import IDENTITY_TYPES
from headgate.kernel.objects import ObjectType, Stored


class Kind(IntEnum):
    """What an entry of the name index is. Stored: numbers are never given anew."""

    CATALOG = 1
    NAMESPACE = 2
    TABLE = 3
    VIEW = 4
    FUNCTION = 5
    USER = 6
    GROUP = 7
    ROLE = 8


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The value of a name: which entity it is, and the object that holds its present state."""

    kind: Kind
    id: int
    """Survives renaming and every change; never given to another entity."""
    object: int
    """The immutable object of the present state; another one after each change."""
    owner: int = 0
    """The user or group that owns it; 0 if nobody does."""


class MetalakeEntity(Stored, frozen=True):
    """A metalake, besides what its realm says of it. Kept under `root`, in a mark its id."""

    comment: str = ""
    properties: dict[str, str] = {}
    owner: int = 0
    created_ms: int = 0
    created_by: str = ""
    changed_ms: int = 0
    changed_by: str = ""


class UserEntity(Stored, frozen=True):
    """A user of a metalake."""

    enabled: bool = True
    external_id: str = ""
    created_ms: int = 0
    created_by: str = ""


class GroupEntity(Stored, frozen=True):
    """A group of a metalake: who is in it says whoever vouches for the caller."""

    external_id: str = ""
    created_ms: int = 0
    created_by: str = ""


class RoleEntity(Stored, frozen=True):
    """A role; what it may do is under `grants`."""

    properties: dict[str, str] = {}
    created_ms: int = 0
    created_by: str = ""
    changed_ms: int = 0
    changed_by: str = ""


class CatalogEntity(Stored, frozen=True):
    """A catalog: where its tables lie and how it behaves."""

    id: int
    name: str
    warehouse: str
    properties: dict[str, str]
    comment: str = ""
    nested: bool = True
    allowed_locations: tuple[str, ...] = ()
    created_ms: int = 0
    created_by: str = ""
    type: str = "relational"
    provider: str = "lakehouse-iceberg"
    in_use: bool = True
    changed_ms: int = 0
    changed_by: str = ""

    @property
    def locations(self) -> tuple[str, ...]:
        """Where its files may lie; there are none where only metadata is kept."""
        return tuple(filter(None, (self.warehouse, *self.allowed_locations)))


class NamespaceEntity(Stored, frozen=True):
    """A namespace: its properties."""

    properties: dict[str, str]
    created_ms: int = 0
    created_by: str = ""
    comment: str = ""
    changed_ms: int = 0
    changed_by: str = ""


class TableEntity(Stored, frozen=True):
    """The present state of a table: which metadata file it is, and if small also its content."""

    uuid: str
    location: str
    metadata_location: str
    metadata: bytes = b""
    """The content of the metadata file, empty if it is too large to be kept twice."""
    reserved: tuple[str, ...] = ()
    """The locations no other table or view may use: its current ones, and those it had before."""
    created_ms: int = 0
    created_by: str = ""
    changed_ms: int = 0
    changed_by: str = ""


class ViewEntity(TableEntity, frozen=True):
    """The present state of a view; the same facts as a table's."""


class FunctionEntity(Stored, frozen=True):
    """A function, as the Iceberg REST specification describes it."""

    metadata: bytes
    metadata_location: str = ""


class ReportEntity(Stored, frozen=True):
    """A metrics report about a table, as a client sent it."""

    table: int
    received_ms: int
    principal: str
    report: bytes


CATALOG_TYPES = (
    ObjectType("metalake", MetalakeEntity),
    ObjectType("user", UserEntity),
    ObjectType("group", GroupEntity),
    ObjectType("role", RoleEntity),
    ObjectType("catalog", CatalogEntity),
    ObjectType("namespace", NamespaceEntity),
    ObjectType("table", TableEntity),
    ObjectType("view", ViewEntity),
    ObjectType("function", FunctionEntity),
    ObjectType("report", ReportEntity),
    *IDENTITY_TYPES,
)

_decoder = msgspec.msgpack.Decoder(Entry)
_encoder = msgspec.msgpack.Encoder()


def decode_entry(value: bytes) -> Entry:
    """The entry in these bytes of an index."""
    return _decoder.decode(value)


def encode_entry(entry: Entry) -> bytes:
    """The bytes of this entry in an index."""
    return _encoder.encode(entry)
