"""Which realm `headgate log` shows."""

import pytest

from headgate.cli.log import Viewer, Wanted
from headgate.errors import RealmNotFound
from headgate.kernel.system import SYSTEM_REALM
from headgate.settings import load
from headgate.wiring import open_kernel


def viewer(realm: str | None) -> Viewer:
    return Viewer(Wanted(realm, None, None, None), json=True)


async def test_a_name_counts_before_an_id() -> None:
    """A realm named like another's id is the one that this command means, as do all others."""
    async with open_kernel(load(flags={"backend": "memory:"})) as kernel:
        first = await kernel.realms.create("demo")
        second = await kernel.realms.create(first.id)

        assert (await kernel.realms.get(first.id)).id == second.id
        assert await viewer(first.id)._realm_id(kernel) == second.id
        assert await viewer("demo")._realm_id(kernel) == first.id
        assert await viewer(second.id)._realm_id(kernel) == second.id


async def test_all_realms_and_the_system_have_no_name_to_look_up() -> None:
    """Without --realm all are shown; the system's own has a name that no other can have."""
    async with open_kernel(load(flags={"backend": "memory:"})) as kernel:
        assert await viewer(None)._realm_id(kernel) is None
        assert await viewer(SYSTEM_REALM)._realm_id(kernel) == SYSTEM_REALM
        with pytest.raises(RealmNotFound):
            await viewer("nobody")._realm_id(kernel)
