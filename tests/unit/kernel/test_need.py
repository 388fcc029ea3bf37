"""Attempts that change many entries: what they need is fetched together."""

import pytest

from headgate.kernel.draft import Draft
from headgate.testing.kernels import INDEX, POINTER, Rig, putting_all

ENTRIES = {b"%06d" % number: b"v" * 40 for number in range(20_000)}
KEYS = list(ENTRIES)[::100]


@pytest.mark.parametrize(("told", "runs_most"), [(True, 3), (False, 2 * len(KEYS))])
async def test_pages_named_before_are_fetched_together(told: bool, runs_most: int) -> None:
    """On a cold node, an attempt that says what it needs runs once per level of the index."""
    runs = 0

    def attempt(draft: Draft) -> None:
        nonlocal runs
        runs += 1
        index = draft.index(INDEX)
        if told:
            index.need(KEYS)
        for key in KEYS:
            index.put(key, b"new")

    async with Rig() as rig:
        realm = await rig.realm()
        await realm.commit(POINTER, putting_all(ENTRIES))
        cold = await rig.open()
        await cold.realm(realm.id).commit(POINTER, attempt)
        [head] = await cold.realm(realm.id).heads(POINTER)

        assert await head.index(INDEX).get(KEYS[-1]) == b"new"
        assert runs <= runs_most
        assert told or runs > 10
