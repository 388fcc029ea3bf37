"""Work that several callers wait for: done once, whoever of them goes away."""

import asyncio

import pytest

from headgate.catalog import guards
from headgate.catalog.calls import Caller
from headgate.catalog.compiling import Compiled, compile_access
from headgate.catalog.rights_changes import changed_rights
from headgate.catalog.shared_work import SharedWork
from headgate.errors import Forbidden
from tests.unit.catalog.guarded import Guarded
from tests.unit.catalog.staff import READER, guard_of

CALLERS = 50


class Slow:
    """Work that waits to be let go; counts how often it was begun."""

    def __init__(self, outcome: str | Exception = "done") -> None:
        self.begun = 0
        self.let_go = asyncio.Event()
        self._outcome = outcome

    async def __call__(self) -> str:
        self.begun += 1
        await self.let_go.wait()
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


async def started(*tasks: "asyncio.Task[str]") -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_callers_of_one_key_share_one_piece_of_work() -> None:
    """Others have their own, and who comes after its end begins anew."""
    shared, slow, other = SharedWork[str](), Slow(), Slow("other")
    waiting = [asyncio.create_task(shared.run("a", slow)) for _ in range(CALLERS)]
    apart = asyncio.create_task(shared.run("b", other))
    await started(*waiting)
    slow.let_go.set()
    other.let_go.set()

    assert await asyncio.gather(*waiting) == ["done"] * CALLERS
    assert await apart == "other"
    assert (slow.begun, other.begun) == (1, 1)
    assert await shared.run("a", slow) == "done"
    assert slow.begun == 2


async def test_a_caller_that_is_cancelled_leaves_the_work_to_the_others() -> None:
    """Also the first, for whom it was begun."""
    shared, slow = SharedWork[str](), Slow()
    first, *others = [asyncio.create_task(shared.run("a", slow)) for _ in range(3)]
    await started(first)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    slow.let_go.set()

    assert await asyncio.gather(*others) == ["done", "done"]
    assert slow.begun == 1


async def test_each_caller_gets_an_error_of_its_own() -> None:
    """They do not share a traceback; and nothing is left behind if all callers are gone."""
    shared, slow = SharedWork[str](), Slow(Forbidden("no", why="w", fix="f"))
    waiting = [asyncio.create_task(shared.run("a", slow)) for _ in range(3)]
    await started(*waiting)
    slow.let_go.set()
    errors = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(error) for error in errors] == [Forbidden] * 3
    assert len({id(error) for error in errors}) == 3

    slow.let_go.clear()
    gone = asyncio.create_task(shared.run("a", slow))
    await started(gone)
    gone.cancel()
    slow.let_go.set()
    await asyncio.gather(gone, return_exceptions=True)
    await started()
    assert slow.begun == 2


async def test_a_burst_after_a_change_compiles_each_access_once(
    staffed: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifty requests at once, of which the first is cancelled: one compile, one look at what
    changed, and all of the others have the new rights."""
    guard = guard_of(staffed)
    realm = (await staffed.metalake()).realm
    await staffed.catalog("ann")
    await staffed.role("more", READER)
    await staffed.assign("ann", "more")
    values = await staffed.lake.kernel.pointers.read(guard.keys(realm.id))
    let_go, compiled, compared = asyncio.Event(), guard.compiled, [0]

    async def slowly(*arguments: object, **more: object) -> Compiled:
        await let_go.wait()
        return await compile_access(*arguments, **more)  # type: ignore[arg-type]

    async def counted(*arguments: object) -> object:
        compared[0] += 1
        await asyncio.sleep(0)
        return await changed_rights(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(guards, "compile_access", slowly)
    monkeypatch.setattr(guards, "changed_rights", counted)
    first, *others = [
        asyncio.create_task(guard.rights_of(Caller("ann"), realm.id, values))
        for _ in range(CALLERS)
    ]
    for _ in range(100):
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    let_go.set()

    found = await asyncio.gather(*others)
    assert {len(one.assigned) for one in found} == {2}
    assert (guard.compiled - compiled, compared) == (1, [1])
