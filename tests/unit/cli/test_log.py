"""Which realm `headgate log` shows."""

import pytest

from headgate.cli.log import Viewer, Wanted
from headgate.errors import RealmNotFound
from headgate.kernel.system import SYSTEM_REALM
from headgate.settings.loading import load
from headgate.wiring import open_kernel


def viewer(realm: str | None) -> Viewer:
    return Viewer(Wanted(realm, None, None, None), json=True)


async def test_a_realm_is_meant_by_its_name_or_id() -> None:
    """As in all other commands."""
    async with open_kernel(load(flags={"backend": "memory:"})) as kernel:
        realm = await kernel.realms.create("demo")

        assert await viewer("demo")._realm_id(kernel) == realm.id
        assert await viewer(realm.id)._realm_id(kernel) == realm.id


async def test_all_realms_and_the_system_have_no_name_to_look_up() -> None:
    """Without --realm all are shown; the system's own has a name that no other can have."""
    async with open_kernel(load(flags={"backend": "memory:"})) as kernel:
        assert await viewer(None)._realm_id(kernel) is None
        assert await viewer(SYSTEM_REALM)._realm_id(kernel) == SYSTEM_REALM
        with pytest.raises(RealmNotFound):
            await viewer("nobody")._realm_id(kernel)
