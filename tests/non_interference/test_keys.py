"""Keys that an attacker is handed for its own tables open nothing else, staged tables included."""

from typing import Any

import pytest

from headgate.storage.sigv4 import Keys
from tests.non_interference.stores import BucketStore, Store
from tests.non_interference.tenants import CANARY, OWNERS, Tenant, Tenants
from tests.unit.catalog.lakes import new_table

pytestmark = pytest.mark.parametrize("store", ["s3"], indirect=True)


def keys_in(answer: dict[str, Any]) -> list[Keys]:
    """All keys that an answer hands out."""
    configs = [one["config"] for one in answer["storage-credentials"]]
    names = ("s3.access-key-id", "s3.secret-access-key", "s3.session-token")
    return [Keys(*(config[name] for name in names)) for config in configs]


async def handed(tenants: Tenants, attacker: Tenant, *, staged: bool) -> list[Keys]:
    """The keys of a new table of an attacker."""
    answer = await tenants.site.send(
        0,
        "POST",
        f"{attacker.url}/tables",
        new_table("own", stage_create=staged),
        user=str(attacker.user),
        x_iceberg_access_delegation="vended-credentials",
    )
    assert answer.status_code == 200, answer.text
    return keys_in(answer.json())


@pytest.mark.parametrize("staged", [True, False])
async def test_keys_of_a_table_open_nothing_of_the_victim(
    tenants: Tenants, store: Store, *, staged: bool
) -> None:
    """The store itself refuses to read, write, delete and list there."""
    assert isinstance(store, BucketStore)
    victims = [
        tenants.loose,
        tenants.ledger["metadata-location"],
        f"{tenants.ledger['metadata']['location']}/data/{CANARY}.parquet",
    ]
    for attacker in OWNERS:
        keys = await handed(tenants, attacker, staged=staged)
        assert keys
        refused = {
            status for one in keys for file in victims for status in store.statuses(one, file)
        }
        assert refused == {403}
