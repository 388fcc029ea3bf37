"""What the tests of tables and views share: a catalog, seen by both official clients."""

import itertools
from typing import Any, NamedTuple

from gravitino import Catalog, GravitinoClient, NameIdentifier
from gravitino.api.rel.column import Column
from gravitino.api.rel.types.types import Types
from pyiceberg.catalog.rest import RestCatalog

from headgate.testing.headgate_server import HeadgateServer

LONG, STRING, INTEGER = Types.LongType.get(), Types.StringType.get(), Types.IntegerType.get()
ID = Column.of("id", LONG, "key", False)
CITY = Column.of("city", STRING)
_numbers = itertools.count(1)


class Both(NamedTuple):
    """One catalog through both protocols, and a schema in it."""

    catalog: Any
    """Gravitino's; its client has no types."""
    iceberg: RestCatalog
    schema: str

    @property
    def tables(self) -> Any:
        return self.catalog.as_table_catalog()

    @property
    def views(self) -> Any:
        return self.catalog.as_view_catalog()

    def named(self, name: str) -> Any:
        return NameIdentifier.of(self.schema, name)

    def table(self, name: str = "t", columns: Any = (ID, CITY), **more: Any) -> Any:
        """A new table, made by Gravitino's client."""
        return self.tables.create_table(self.named(name), list(columns), **more)

    def load(self, name: str = "t") -> Any:
        return self.tables.load_table(self.named(name))

    def alter(self, *changes: Any, name: str = "t") -> Any:
        return self.tables.alter_table(self.named(name), *changes)


def new_catalog(server: HeadgateServer, client: GravitinoClient, metalake: str, user: str) -> Both:
    """A new catalog with a new schema, which this user owns."""
    name, schema = f"catalog{next(_numbers)}", "shop"
    catalog = client.create_catalog(name, Catalog.Type.RELATIONAL, "lakehouse-iceberg", "", {})
    catalog.as_schemas().create_schema(schema, "", {})
    iceberg: dict[str, Any] = {
        "uri": server.iceberg_url,
        "warehouse": f"{metalake}.{name}",
        "auth": {"type": "basic", "basic": {"username": user, "password": "x"}},
    }
    return Both(catalog, RestCatalog("headgate", **iceberg), schema)
