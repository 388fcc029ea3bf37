"""An import that is killed in the middle, on each database."""

import json
from pathlib import Path
from typing import Any

import httpx

from headgate.catalog.guards import GRANTS
from headgate.catalog.rights import GRANTED
from headgate.kernel.draft import Draft
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import LOADED_FROM, RealmState
from headgate.kernel.records import EMPTY, PointerKey
from headgate.portage.folder import load_manifest
from headgate.testing.child import Child
from headgate.testing.headgate_server import environment
from tests.portage.conftest import Site
from tests.unit.catalog.lakes import METALAKE, new_table

TABLES = ("orders", "customers")
RIGHTS, AT_ONCE = 20_000, 10_000
PATIENCE_SECONDS = 60.0


def test_an_import_that_was_killed_is_gone_on_with(site: Site, tmp_path: Path) -> None:
    """In the end all is there, once, byte for byte, and every table loads as before."""
    with site.server as server:
        tables = make_tables(server.iceberg_url)
    site.look(give_rights, writable=True)
    site.run("realm", "export", METALAKE, str(tmp_path / "1"))
    site.vanish(METALAKE)

    kill_import(site, tmp_path / "1")
    assert "LOADING" in site.run("realm", "list")
    site.run("realm", "import", str(tmp_path / "1"))
    site.run("realm", "export", METALAKE, str(tmp_path / "2"))

    before, after = load_manifest(tmp_path / "1"), load_manifest(tmp_path / "2")
    assert (after.facts, after.files, after.realm) == (before.facts, before.files, before.realm)
    with site.server as server:
        assert {name: load_table(server.iceberg_url, name) for name in TABLES} == tables


def test_an_import_that_was_killed_is_cleared_away(site: Site, tmp_path: Path) -> None:
    """Nothing is left of it, and its name is free."""
    site.run("realm", "create", METALAKE)
    site.look(give_rights, writable=True)
    site.run("realm", "export", METALAKE, str(tmp_path / "1"))
    site.vanish(METALAKE)
    kill_import(site, tmp_path / "1")

    site.run("realm", "import", str(tmp_path / "1"), "--abort")

    assert json.loads(site.run("realm", "list", "--json")) == []
    again = site.run("realm", "import", str(tmp_path / "1"), "--abort", code=1)
    assert "does not exist" in again


def kill_import(site: Site, folder: Path) -> None:
    """Begin an import, and kill it with some rows there and some not."""
    log = folder.parent / "import.log"
    child = Child(site.command("realm", "import", str(folder)), log, environment())
    try:
        child.wait_until(lambda: site.look(is_under_way) or None, PATIENCE_SECONDS)
    finally:
        child.kill()
    realm = site.look(the_realm)
    assert realm.state is RealmState.LOADING
    assert LOADED_FROM in realm.properties


async def the_realm(kernel: Kernel) -> Any:
    return await kernel.realms.get(METALAKE)


async def is_under_way(kernel: Kernel) -> bool:
    """Whether some rights are there."""
    for realm in await kernel.realms.list():
        [value] = await kernel.pointers.read([PointerKey(realm.id, GRANTS)])
        return value not in {None, EMPTY}
    return False


async def give_rights(kernel: Kernel) -> None:
    """So many that an import takes a while."""
    realm = kernel.realm((await kernel.realms.get(METALAKE)).id)
    for start in range(0, RIGHTS, AT_ONCE):

        def attempt(draft: Draft, start: int = start) -> None:
            for number in range(start, start + AT_ONCE):
                draft.index(GRANTED).put(number.to_bytes(24, "big"), b"12345678")

        await realm.commit(GRANTS, attempt)


def make_tables(url: str) -> dict[str, Any]:
    """Some tables, each as it is answered."""
    httpx.post(f"{url}/v1/main/namespaces", json={"namespace": ["shop"]}).raise_for_status()
    for name in TABLES:
        path = f"{url}/v1/main/namespaces/shop/tables"
        httpx.post(path, json=new_table(name)).raise_for_status()
    return {name: load_table(url, name) for name in TABLES}


def load_table(url: str, name: str) -> Any:
    answer = httpx.get(f"{url}/v1/main/namespaces/shop/tables/{name}")
    answer.raise_for_status()
    return answer.json()
