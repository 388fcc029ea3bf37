"""Another catalog of a server, whose table refers to files of the first one."""

from collections.abc import Iterable
from pathlib import Path

from headgate.pipelines.fixtures.catalog import Catalog, make_namespace
from headgate.pipelines.server import Server
from headgate.testing.headgate_server import HeadgateServer
from tests.planning.tables import MetadataTable, data_file
from tests.spark.orphaned import local

CATALOG = {"name": "other", "type": "RELATIONAL", "provider": "lakehouse-iceberg"}


class Other:
    """Another catalog, with a place of its own and a table there."""

    def __init__(self, server: HeadgateServer, metalake: str) -> None:
        seen = Server(server.url, metalake=metalake)
        seen.post(f"/api/metalakes/{metalake}/catalogs", CATALOG)
        self._catalog = Catalog(server.iceberg_url, warehouse=f"{metalake}.other")
        make_namespace(self._catalog, "a")
        self.place = Path(local(seen.catalog("other").location), "a", "t")
        self.place.mkdir(parents=True)

    def refer(self, named: Iterable[str], folder: Path | None = None) -> set[str]:
        """Let the table refer to these files. What leads to them lies in the folder, and is told
        if that is not the table's own."""
        table = MetadataTable(folder or self.place, extra={"location": str(self.place)})
        table.snapshot(1, [table.manifest([data_file(path) for path in named])])
        leading = {str(path) for path in folder.iterdir()} if folder else set()
        metadata = self.place / "00000.metadata.json"
        metadata.write_bytes(table.metadata())
        body = {"name": "t", "metadata-location": str(metadata)}
        self._catalog.ask("POST", "/namespaces/a/register", body)
        return leading

    def drop(self) -> None:
        """The table has no name any more; its files stay."""
        self._catalog.ask("DELETE", "/namespaces/a/tables/t?purgeRequested=false")
