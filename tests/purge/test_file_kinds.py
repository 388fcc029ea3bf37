"""Every kind of file that the format knows is deleted with its table."""

from pathlib import Path

import pytest
from pyiceberg.typedef import TableVersion

from headgate.pipelines.fixtures.catalog import Catalog
from headgate.pipelines.fixtures.table import make_table
from tests.purge.conftest import PATIENT, Servers, options
from tests.purge.kinds import DELETES, EXPECTED, Kind, enumeration
from tests.purge.lake import NAMESPACE, Lake, in_the_end
from tests.purge.listing import files_below, local_path, lying_below

NAME = "orders"
FILES = 40


@pytest.mark.parametrize("version", EXPECTED)
def test_every_kind_of_file_goes_with_its_table(
    servers: Servers, version: TableVersion, tmp_path: Path
) -> None:
    """What lies in the table's folder is what its metadata leads to, then nothing."""
    lake = Lake(servers(*options(*PATIENT)))
    folder = make(lake, version)
    kinds = kinds_of(lake, tmp_path)
    lying = files_below(folder)
    lake.drop(NAME)
    empty = in_the_end(lambda: not folder.exists())
    lake.close()

    assert set(kinds) == EXPECTED[version]
    assert {local_path(one) for some in kinds.values() for one in some} == lying
    assert empty, lying_below(folder)


def test_a_table_that_was_upgraded_loses_its_older_deletes_too(
    servers: Servers, tmp_path: Path
) -> None:
    """Version 3 writes deletion vectors, and still has the position deletes of version 2."""
    lake = Lake(servers(*options(*PATIENT)))
    folder = make(lake, 2)
    update = {
        "requirements": [],
        "updates": [{"action": "upgrade-format-version", "format-version": 3}],
    }
    lake.ask("POST", f"{lake.tables_path}/{NAME}", json=update).raise_for_status()
    kinds = kinds_of(lake, tmp_path)
    version = lake.load(NAME)["metadata"]["format-version"]
    lake.drop(NAME)
    empty = in_the_end(lambda: not folder.exists())
    lake.close()

    assert version == 3
    assert set(kinds) & set(DELETES) == {"position deletes", "equality deletes"}
    assert empty, lying_below(folder)


def make(lake: Lake, version: TableVersion) -> Path:
    """A table with files of all kinds, and the folder in which they lie."""
    catalog = Catalog(lake.server.iceberg_url, warehouse=f"{lake.metalake}.{lake.catalog}")
    made = make_table(catalog, (NAMESPACE, NAME), FILES, version=version)
    return local_path(made.location)


def kinds_of(lake: Lake, folder: Path) -> dict[Kind, set[str]]:
    location = lake.load(NAME)["metadata-location"]
    with enumeration(lambda one: local_path(one).read_bytes(), folder) as files:
        return files.kinds(location)
