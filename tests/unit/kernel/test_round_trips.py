"""What using a realm costs: reads are counted, cold and warm."""

import pytest

from headgate.errors import RealmNotActive
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel
from headgate.kernel.system import REALM_POINTERS
from headgate.testing.kernels import POINTER, Rig, Thing, putting


@pytest.mark.parametrize("pointers", [1, 2, 7])
async def test_cold_heads_are_fetched_together(rig: Rig, realm: RealmHandle, pointers: int) -> None:
    """One read of pointers, one fetch for the realm, one for all heads; then none at all."""
    names = REALM_POINTERS[:pointers]
    for name in names:
        await realm.commit(name, putting(b"a"))
    cold = (await rig.open()).realm(realm.id)
    rig.backend.reset()
    heads = await cold.heads(*names)
    first = dict(rig.backend.calls)
    rig.backend.reset()
    await cold.heads(*names)

    assert [head.head.seq for head in heads] == [1] * pointers
    assert first == {"read_pointers": 1, "fetch": 2}
    assert rig.backend.calls == {"read_pointers": 1}


async def test_an_object_of_a_realm_costs_one_look_at_the_realm(
    rig: Rig, realm: RealmHandle
) -> None:
    """The pointer `realms` is read each time; the object itself comes from the cache."""
    await realm.write({7: Thing(text="kept")})
    rig.backend.reset()

    assert (await realm.get(7, Thing)).text == "kept"
    assert rig.backend.calls == {"read_pointers": 1}
    assert rig.backend.rows["read_pointers"] == 1


async def test_an_object_of_a_head_asks_no_pointer(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """Who has a head may read what belongs to it, also after its realm was switched off."""
    id = await realm.commit(POINTER, lambda draft: draft.stage(Thing(text="kept")))
    [head] = await realm.heads(POINTER)
    await kernel.realms.deactivate("acme")
    rig.backend.reset()

    assert (await head.get(id, Thing)).text == "kept"
    assert rig.backend.calls == {}
    with pytest.raises(RealmNotActive):
        await realm.get(id, Thing)
