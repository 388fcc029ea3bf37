"""`headgate doctor` finds lost databases, and users whose privileges are not checked."""

import asyncio
from pathlib import Path

import pytest

from headgate.catalog.entities import Entry, Kind
from headgate.catalog.guards import PRINCIPAL_ROLES
from headgate.catalog.naming import ROLES, ROOT, NamesDraft
from headgate.cli.banner import unchecked_access
from headgate.cli.main import run
from headgate.kernel.draft import Draft
from headgate.settings.loading import load
from headgate.wiring import open_kernel
from tests.unit.cli.doctors import Capture, failures, looked, make_store


@pytest.fixture(autouse=True)
def free_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual port may be in use on the machine that runs the tests."""
    monkeypatch.setattr("headgate.cli.options.environment", lambda: {"HEADGATE_HTTP_PORT": "0"})


@pytest.mark.parametrize("database", ["absent", "new"])
def test_a_lost_database_beside_a_full_warehouse_is_found(
    capsys: Capture, tmp_path: Path, database: str
) -> None:
    """A server would not start with it, whether the file is there or not."""

    async def make() -> None:
        async with open_kernel(load(flags={"data": str(tmp_path)})):
            pass

    if database == "new":
        asyncio.run(make())
    metadata = tmp_path / "warehouse" / "a" / "t" / "metadata"
    metadata.mkdir(parents=True)
    (metadata / "00000-x.metadata.json").touch()
    before = sorted(tmp_path.glob("headgate.db"))
    found = looked(capsys, tmp_path, healthy=False)
    accepted = looked(capsys, tmp_path, "--set", "bootstrap.accept-tables=true")

    subject = "database" if database == "absent" else "storage"
    assert failures(found) == {subject}
    assert "Restore the database from its backup" in found[subject][-1][1]
    assert failures(accepted) == set()
    assert sorted(tmp_path.glob("headgate.db")) == before


@pytest.mark.parametrize("what", ["user", "role"])
def test_users_and_roles_whose_privileges_are_not_checked_are_warned_of(
    capsys: Capture, tmp_path: Path, what: str
) -> None:
    """They were made for a server that checks them; with authorization on there is no warning."""
    make_store(tmp_path)
    before = looked(capsys, tmp_path)

    async def add_role() -> None:
        async with open_kernel(load(flags={"data": str(tmp_path)})) as kernel:
            realm = await kernel.realms.get("default")

            def attempt(draft: Draft) -> None:
                NamesDraft(draft).add(ROOT, ROLES, "r", Entry(Kind.ROLE, draft.new_id(), 0))

            await kernel.realm(realm.id).commit(PRINCIPAL_ROLES, attempt)

    if what == "user":
        assert run(["token", "secret", "create", "ann", "--data", str(tmp_path)]) == 0
        capsys.readouterr()
    else:
        asyncio.run(add_role())
    found = looked(capsys, tmp_path)
    checked = looked(capsys, tmp_path, "--set", "authorization.enabled=true")

    assert len(before["access"]) == 1
    assert "authorization.enabled=true" in found["access"][1][1]
    assert not any("users or roles exist" in text for _, text in checked["access"])
    assert "users or roles exist" in unchecked_access(load(flags={"data": str(tmp_path)}))
    assert unchecked_access(load(flags={"backend": "memory:"})) == ""
