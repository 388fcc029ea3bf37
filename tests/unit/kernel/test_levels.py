"""Format levels: a store is written at what all its nodes understand."""

from collections.abc import AsyncIterator

import pytest

from headgate.errors import NewerFormat, WrongType
from headgate.ids import IdGenerator
from headgate.kernel.cache import Cache
from headgate.kernel.leases import NODE_LEASE_TYPE, NodeLeases
from headgate.kernel.levels import (
    FORMAT_LEVEL_TYPE,
    LEVEL_ROW,
    FormatLevel,
    check_level,
    raise_level,
)
from headgate.kernel.objects import Foreign, ObjectTypes, single
from headgate.kernel.store import Store, Versioned
from headgate.kernel.system import SYSTEM_REALM
from headgate.limits import LEASE_MS
from headgate.testing.kernels import Rig, entropy


class Program:
    """A program that understands formats up to a level, as a process with a lease."""

    def __init__(self, rig: Rig, level: int, seed: int) -> None:
        types = ObjectTypes([NODE_LEASE_TYPE, FORMAT_LEVEL_TYPE])
        self.level = level
        self.store = Store(rig.backend, types, Cache(0))
        self.entropy = entropy(seed)
        self.leases = NodeLeases(
            self.store,
            rig.clock,
            IdGenerator(rig.clock),
            holder=f"host:{seed}",
            level=level,
            entropy=self.entropy,
        )

    async def start(self) -> None:
        await check_level(self.store, self.level)
        await self.leases.acquire()
        await raise_level(self.store, self.leases, self.level, self.entropy)

    async def in_force(self) -> int | None:
        row = (await self.store.read_versioned(SYSTEM_REALM, [LEVEL_ROW])).get(LEVEL_ROW)
        return row.value.level if row and isinstance(row.value, FormatLevel) else None


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A database."""
    async with Rig() as rig:
        yield rig


async def test_a_new_store_has_the_level_of_its_first_program(rig: Rig) -> None:
    """Nobody else is there to ask."""
    program = Program(rig, 3, 1)
    before = await check_level(program.store, 3)
    await program.start()

    assert before is None
    assert await program.in_force() == 3


async def test_a_program_that_does_not_understand_the_level_is_refused(rig: Rig) -> None:
    """It says which level the store has and what to do; it writes nothing."""
    await Program(rig, 3, 1).start()
    rig.backend.reset()
    with pytest.raises(NewerFormat, match=r"level 3, this program understands 2\. Upgrade"):
        await Program(rig, 2, 2).start()

    assert rig.backend.rows_written == 0


async def test_the_level_stays_while_an_older_program_runs(rig: Rig) -> None:
    """A newer one writes what the older one can read."""
    older, newer = Program(rig, 1, 1), Program(rig, 2, 2)
    await older.start()
    await newer.start()

    assert await newer.in_force() == 1


async def test_a_new_store_gets_what_all_programs_understand(rig: Rig) -> None:
    """Two start at once on a fresh store: the older one counts."""
    older, newer = Program(rig, 1, 1), Program(rig, 2, 2)
    await older.leases.acquire()
    await newer.start()

    assert await newer.in_force() == 1


@pytest.mark.parametrize("crashed", [False, True])
async def test_the_level_is_raised_once_all_live_programs_understand(
    rig: Rig, crashed: bool
) -> None:
    """The older one has gone, in order or by a crash whose lease has run out."""
    older = Program(rig, 1, 1)
    await older.start()
    if crashed:
        rig.clock.advance(LEASE_MS + 1)
    else:
        await older.leases.release()
        rig.clock.advance(2)
    newer = Program(rig, 2, 2)
    await newer.start()

    assert await newer.in_force() == 2
    with pytest.raises(NewerFormat):
        await older.start()


async def test_a_level_in_force_is_not_written_again(rig: Rig) -> None:
    """Programs of one level do not even look at each other."""
    await Program(rig, 2, 1).start()
    second = Program(rig, 2, 2)
    await second.leases.acquire()
    rig.backend.reset()
    await raise_level(second.store, second.leases, 2, second.entropy)

    assert rig.backend.calls == {"fetch": 1}


async def test_a_lost_race_to_raise_it_is_fine(rig: Rig) -> None:
    """Somebody else did it."""
    await Program(rig, 1, 1).start()
    rig.clock.advance(LEASE_MS + 1)
    first, second = Program(rig, 2, 2), Program(rig, 2, 3)
    await second.leases.acquire()
    rig.faults.crash_at("before_update", first.start)
    await raise_level(second.store, second.leases, 2, second.entropy)

    assert await second.in_force() == 2


async def test_a_row_that_is_no_level_is_named(rig: Rig) -> None:
    """A store that was tampered with is not opened."""
    program = Program(rig, 1, 1)
    encoded = program.store.types.encode(SYSTEM_REALM, LEVEL_ROW, Foreign("other", b"\x80"))
    await rig.memory.insert(single(SYSTEM_REALM, encoded, 9))
    with pytest.raises(WrongType):
        await check_level(program.store, 1)


async def test_the_row_in_force_is_answered(rig: Rig) -> None:
    """Whoever checks gets the row, to write it conditionally."""
    program = Program(rig, 1, 1)
    await program.start()
    row = await check_level(program.store, 5)

    assert isinstance(row, Versioned)
    assert row.value == FormatLevel(1)
