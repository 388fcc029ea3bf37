"""A node's clock against others: what is refused, what is followed, and when it ends."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from headgate.errors import BackendUnavailable, ClockRefused, CommitTimedOut, NoNodeId
from headgate.ids import time_ms
from headgate.kernel.commit import CommitOptions
from headgate.kernel.forwarding import ForwardingBackend
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel
from headgate.limits import (
    CLOCK_BEHIND_MS_MAX,
    CLOCK_STEP_SECONDS_HELD,
    LEASE_CHECK_SECONDS,
    LEASE_MS,
    LEASE_RENEW_MS,
)
from headgate.testing.kernels import POINTER, Rig, SteppedClock, entries, open_kernel_on, putting
from headgate.testing.kernels import turns as _turns

CHECK_MS = round(LEASE_CHECK_SECONDS * 1000)
HELD_MS = round(CLOCK_STEP_SECONDS_HELD * 1000)
HOUR_MS = 3_600_000
MONTH_MS = 30 * 24 * HOUR_MS
SHORTLY = CommitOptions(timeout_seconds=0.2)


class DatabaseWithClock(ForwardingBackend):
    """A database on another machine: its clock is not ours."""

    def __init__(self, rig: Rig, clock: SteppedClock) -> None:
        super().__init__(rig.backend)
        self._clock = clock
        self.answers = True
        self.takes_ms = 0
        self.node = clock

    async def clock_ms(self) -> int:
        if not self.answers:
            raise BackendUnavailable("the database does not answer")
        self.node.advance(self.takes_ms)
        return self._clock.wall_ms()


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A database; its clock is right."""
    async with Rig() as rig:
        yield rig


async def looks(*clocks: SteppedClock, ms: int = CHECK_MS) -> None:
    """Let time pass for all, with the looks that are due."""
    for clock in clocks:
        clock.advance(ms)
    await _turns(60)


async def writable(realm: RealmHandle, key: bytes) -> bool:
    """Whether a commit is taken now; what it writes is under this key."""
    try:
        await realm.commit(POINTER, putting(key))
    except CommitTimedOut as error:
        assert "clock" in error.why  # noqa: PT017  its words are what is looked at
        return False
    return True


async def test_a_jump_of_a_month_for_four_seconds_stamps_nothing(rig: Rig) -> None:
    """Commits are refused with the reason, reads go on, and afterwards all is as before."""
    await rig.open(commit=SHORTLY)
    realm = await rig.realm()
    await realm.commit(POINTER, putting(b"before"))
    rig.clock.jump(MONTH_MS)

    assert not await writable(realm, b"meanwhile")
    assert await entries(realm) == {b"before": b""}
    rig.clock.advance(4_000)
    rig.clock.jump(-MONTH_MS)
    assert await writable(realm, b"after")
    assert set(await entries(realm)) == {b"before", b"after"}
    async for pointers in rig.backend.scan_pointers():
        assert all(time_ms(one.value) <= rig.clock.wall_ms() for one in pointers if one.value)
    await rig.open()  # a node that starts now is not behind the newest commit


async def test_a_commit_waits_for_a_short_jump_to_end(rig: Rig) -> None:
    """What is over within the time that a commit may take is not even noticed."""
    await rig.open()
    realm = await rig.realm()
    rig.clock.jump(MONTH_MS)
    commit = asyncio.create_task(realm.commit(POINTER, putting(b"key")))
    await _turns(20)
    assert not commit.done()
    rig.clock.jump(-MONTH_MS)
    await commit

    assert await entries(realm) == {b"key": b""}


async def test_a_step_ahead_that_nothing_contradicts_is_followed_after_a_while(rig: Rig) -> None:
    """A machine that runs alone, and whose clock was behind, goes on with the right time."""
    kernel = await rig.open(commit=SHORTLY)
    realm = await rig.realm()
    rig.clock.jump(HOUR_MS)
    assert not await writable(realm, b"early")
    for _ in range(HELD_MS // CHECK_MS + 1):
        await looks(rig.clock)
    assert await writable(realm, b"late")

    assert time_ms(kernel.ids.next()) == rig.clock.machine_ms()


async def test_a_step_back_is_refused_until_the_clock_has_caught_up(rig: Rig) -> None:
    """Ids of this process would lie ahead of all others; its lease is not renewed meanwhile."""
    kernel = await rig.open(commit=SHORTLY)
    realm = await rig.realm()
    before = await kernel._leases.live()
    rig.clock.jump(-HOUR_MS)
    assert not await writable(realm, b"early")
    await looks(rig.clock, ms=LEASE_RENEW_MS)
    assert await kernel._leases.live() == before
    rig.clock.jump(HOUR_MS - CLOCK_BEHIND_MS_MAX)
    await looks(rig.clock)

    assert await writable(realm, b"late")


async def other_node(rig: Rig, ahead_ms: int = 0) -> tuple[Kernel, SteppedClock]:
    """Another node on the same database, whose clock is ahead by this much."""
    clock = SteppedClock(rig.clock.wall_ms() + ahead_ms)
    return await rig.open(clock=clock, commit=SHORTLY), clock


async def test_a_node_that_is_ahead_of_the_others_stops_writing(rig: Rig) -> None:
    """It notices when another one renews its lease, and goes on when its clock is right."""
    await rig.open()
    realm = await rig.realm()
    wrong, clock = await other_node(rig, ahead_ms=HOUR_MS)
    await looks(rig.clock, clock, ms=LEASE_RENEW_MS)
    await looks(rig.clock, clock, ms=LEASE_RENEW_MS)
    assert not await writable(wrong.realm(realm.id), b"wrong")
    assert await writable(realm, b"right")

    with pytest.raises(NoNodeId, match="ahead of those of other nodes"):
        wrong.ids.next()


async def test_a_node_goes_on_when_the_others_are_gone(rig: Rig) -> None:
    """What a node's lease told of its clock is forgotten with the lease."""
    await rig.open()
    wrong, clock = await other_node(rig, ahead_ms=HOUR_MS)
    for _ in range(3):
        await looks(rig.clock, clock, ms=LEASE_RENEW_MS)
    with pytest.raises(NoNodeId):
        wrong.ids.next()
    for _ in range(LEASE_MS // LEASE_RENEW_MS + 2):
        await looks(clock, ms=LEASE_RENEW_MS)

    wrong.ids.next()


async def test_a_node_that_stops_does_not_look_like_one_that_is_behind(rig: Rig) -> None:
    """A lease that is given back says nothing of its holder's clock."""
    kernel = await rig.open()
    other, clock = await other_node(rig)
    for _ in range(8):
        await looks(rig.clock, clock, ms=LEASE_RENEW_MS)
    await other.close()
    for _ in range(2):
        await looks(rig.clock, ms=LEASE_RENEW_MS)

    kernel.ids.next()


async def test_a_step_that_leases_of_others_contradict_is_never_followed(rig: Rig) -> None:
    """However long it lasts; a commit is possible when it has ended."""
    kernel = await rig.open(commit=SHORTLY)
    _, clock = await other_node(rig)
    realm = await rig.realm()
    for _ in range(3):
        await looks(rig.clock, clock, ms=LEASE_RENEW_MS)
    rig.clock.jump(MONTH_MS)
    for _ in range(3 * HELD_MS // CHECK_MS):
        await looks(rig.clock, clock)

    assert not await writable(realm, b"early")
    assert rig.clock.wall_ms() < rig.clock.machine_ms() - MONTH_MS // 2
    rig.clock.jump(-MONTH_MS)
    assert await writable(realm, b"late")
    assert kernel.ids.refusal == ""


async def test_a_step_that_leases_of_others_confirm_is_followed_at_the_next_look(rig: Rig) -> None:
    """A virtual machine that was resumed: all clocks of it stood still, and one is set right."""
    kernel = await rig.open()
    _, clock = await other_node(rig)
    await looks(rig.clock, clock, ms=LEASE_RENEW_MS)
    for _ in range(HOUR_MS // LEASE_RENEW_MS):
        await looks(clock, ms=LEASE_RENEW_MS)
    rig.clock.jump(HOUR_MS)
    await looks(rig.clock)

    assert rig.clock.wall_ms() == rig.clock.machine_ms()
    await looks(rig.clock)
    kernel.ids.next()


async def test_a_step_that_commits_of_others_confirm_is_followed_at_the_next_look(rig: Rig) -> None:
    """Also where no lease was renewed in between."""
    await rig.open()
    realm = await rig.realm()
    other, _ = await other_node(rig, ahead_ms=HOUR_MS)
    await other.realm(realm.id).commit(POINTER, putting(b"key"))
    await other.close()
    rig.clock.jump(HOUR_MS)
    await looks(rig.clock)

    assert rig.clock.wall_ms() == rig.clock.machine_ms()


async def test_a_commit_of_a_still_later_time_confirms_nothing(rig: Rig) -> None:
    """It was stamped by another clock that is wrong."""
    await rig.open()
    realm = await rig.realm()
    other, _ = await other_node(rig, ahead_ms=MONTH_MS)
    await other.realm(realm.id).commit(POINTER, putting(b"key"))
    await other.close()
    rig.clock.jump(HOUR_MS)
    await looks(rig.clock)

    assert rig.clock.wall_ms() < rig.clock.machine_ms()


@pytest.mark.parametrize("ahead_ms", [CLOCK_BEHIND_MS_MAX + 1, -CLOCK_BEHIND_MS_MAX - 1])
async def test_a_clock_that_the_database_contradicts_is_refused_at_the_start(
    rig: Rig, ahead_ms: int
) -> None:
    """Ahead or behind: nothing is written, not even a lease."""
    database = DatabaseWithClock(rig, rig.clock)
    clock = SteppedClock(rig.clock.wall_ms() + ahead_ms)
    word = "ahead of" if ahead_ms > 0 else "behind"

    with pytest.raises(ClockRefused, match=f"60 s {word} that of the database"):
        await open_kernel_on(database, clock=clock).open()
    assert rig.backend.calls["insert"] == rig.backend.calls["update"] == 0


@pytest.mark.parametrize("ahead_ms", [CLOCK_BEHIND_MS_MAX, -CLOCK_BEHIND_MS_MAX])
async def test_a_clock_within_the_tolerance_is_accepted(rig: Rig, ahead_ms: int) -> None:
    """Clocks that are synchronised differ by far less."""
    database = DatabaseWithClock(rig, rig.clock)
    clock = SteppedClock(rig.clock.wall_ms() + ahead_ms)

    async with open_kernel_on(database, clock=clock) as kernel:
        kernel.ids.next()


async def test_an_answer_that_takes_long_proves_nothing(rig: Rig) -> None:
    """Only a difference that is certain counts: the database's clock was read at some time
    between."""
    database = DatabaseWithClock(rig, rig.clock)
    database.node = SteppedClock(rig.clock.wall_ms())
    database.takes_ms = 2 * CLOCK_BEHIND_MS_MAX

    async with open_kernel_on(database, clock=database.node) as kernel:
        kernel.ids.next()


async def test_a_clock_that_drifts_away_from_the_database_is_noticed(rig: Rig) -> None:
    """With the next renewal; and that it is right again within seconds."""
    clock = SteppedClock(rig.clock.wall_ms())
    async with open_kernel_on(DatabaseWithClock(rig, clock), clock=rig.clock) as kernel:
        kernel.ids.next()
        await looks(clock, ms=HOUR_MS)
        await looks(rig.clock, ms=LEASE_RENEW_MS)
        with pytest.raises(NoNodeId, match="behind that of the database"):
            kernel.ids.next()
        rig.clock.advance(HOUR_MS - LEASE_RENEW_MS)
        await looks(rig.clock, clock)

        kernel.ids.next()


async def test_the_database_decides_on_a_step(rig: Rig) -> None:
    """A right one is followed at the next look, a wrong one never."""
    clock = SteppedClock(rig.clock.wall_ms())
    async with open_kernel_on(DatabaseWithClock(rig, clock), clock=rig.clock) as kernel:
        rig.clock.jump(MONTH_MS)
        for _ in range(3 * HELD_MS // CHECK_MS):
            await looks(rig.clock, clock)
        with pytest.raises(NoNodeId, match="set ahead"):
            kernel.ids.next()
        rig.clock.jump(-MONTH_MS)
        kernel.ids.next()
        clock.advance(HOUR_MS)
        rig.clock.jump(HOUR_MS)
        await looks(rig.clock, clock)
        await looks(rig.clock, clock)

        kernel.ids.next()
        assert rig.clock.wall_ms() == clock.wall_ms()


async def test_a_small_step_is_weighed_as_well(rig: Rig) -> None:
    """Of two times within the tolerance, the one that is nearer to the database's counts."""
    clock = SteppedClock(rig.clock.wall_ms())
    async with open_kernel_on(DatabaseWithClock(rig, clock), clock=rig.clock) as kernel:
        rig.clock.jump(30_000)
        for _ in range(3 * HELD_MS // CHECK_MS):
            await looks(rig.clock, clock)

        with pytest.raises(NoNodeId):
            kernel.ids.next()


async def test_a_step_is_not_followed_while_the_database_does_not_answer(rig: Rig) -> None:
    """It may contradict the step as soon as it does."""
    database = DatabaseWithClock(rig, SteppedClock(rig.clock.wall_ms()))
    async with open_kernel_on(database, clock=rig.clock) as kernel:
        database.answers = False
        rig.clock.jump(MONTH_MS)
        for _ in range(3 * HELD_MS // CHECK_MS):
            await looks(rig.clock)

        with pytest.raises(NoNodeId, match="set ahead"):
            kernel.ids.next()


async def test_a_refusal_is_logged_once_and_so_is_its_end(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    """Operators see in the log when and why nothing was written."""
    await rig.open()
    rig.clock.jump(-HOUR_MS)
    for _ in range(3):
        await looks(rig.clock)
    rig.clock.jump(HOUR_MS)
    for _ in range(3):
        await looks(rig.clock)

    assert [record.getMessage() for record in caplog.records] == [
        "nothing is written: this machine's clock was set back while this process ran",
        "writing goes on: the clock is right again",
    ]
